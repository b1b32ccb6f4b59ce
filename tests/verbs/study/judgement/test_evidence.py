"""How certain a comparison is, against scipy and against what must never be certain."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isoscope.compute.stats.significance import difference, holm, sample_of
from isoscope.results.result import Row
from isoscope.verbs.study.judgement.evidence import NOTHING, evidence, welch

NUMBERS = st.floats(-1e3, 1e3)


def row(value: float, subject: str = "A", measure: str = "x", **fields: Any) -> Row:
    extra = {k: fields.pop(k) for k in list(fields) if k not in ("low", "high", "n", "log10")}
    return Row(subject, "", "none", measure, value, extra=extra, **fields)


def jackknifed(values: np.ndarray, **fields: Any) -> Row:
    """Return a mean with its values without each item."""
    without = [float(np.delete(values, k).mean()) for k in range(len(values))]
    return row(float(values.mean()), replicates=without, **{"blocks": "b", **fields})


def test_the_jackknife_of_a_mean_is_students_test() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 10)
    found = evidence(jackknifed(values), 0.1)
    assert found.above == pytest.approx(
        stats.ttest_1samp(values, 0.1, alternative="greater").pvalue
    )
    assert found.below == pytest.approx(stats.ttest_1samp(values, 0.1, alternative="less").pvalue)
    ends = stats.ttest_1samp(values, 0.1).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low - 0.1, ends.high - 0.1))


def test_figures_of_the_same_blocks_are_compared_pair_by_pair() -> None:
    rng = np.random.default_rng(1)
    shared = rng.normal(0, 5, 10)
    one, other = shared + rng.normal(0.5, 0.3, 10), shared + rng.normal(0, 0.3, 10)
    found = evidence(jackknifed(one), jackknifed(other))
    assert found.above == pytest.approx(stats.ttest_rel(one, other, alternative="greater").pvalue)
    assert found.above < 0.01
    apart = evidence(jackknifed(one), jackknifed(other, subject="B", blocks="of other data"))
    assert apart.above > 0.2  # what they share does not cancel
    welchs = stats.ttest_ind(one, other, equal_var=False, alternative="greater").pvalue
    assert apart.above == pytest.approx(welchs)


def test_means_over_runs_are_compared_as_welch_does() -> None:
    one, other = [1.0, 1.2, 1.1, 1.4], [0.9, 0.7, 1.0]
    rows = [
        row(float(np.mean(runs)), name, n=len(runs), sd=float(np.std(runs, ddof=1)))
        for name, runs in (("A", one), ("B", other))
    ]
    expected = stats.ttest_ind(one, other, equal_var=False)
    found = evidence(*rows)
    assert 2 * found.above == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    single = evidence(rows[0], 1.0)
    assert single.above == pytest.approx(stats.ttest_1samp(one, 1.0, alternative="greater").pvalue)


def test_runs_without_a_value_do_not_count() -> None:
    runs = [1.0, 1.2, None, 1.1]
    known = [1.0, 1.2, 1.1]
    mean = row(float(np.mean(known)), n=4, sd=float(np.std(known, ddof=1)), runs=runs)
    expected = stats.ttest_1samp(known, 1.0, alternative="greater").pvalue
    assert evidence(mean, 1.0).above == pytest.approx(expected)


def test_an_interval_decides_at_its_ends() -> None:
    figure = row(0.5, low=0.4, high=0.7)
    assert evidence(figure, 0.4).above == pytest.approx(0.025)
    assert evidence(figure, 0.7).below == pytest.approx(0.025)
    assert evidence(figure, 0.45).above > 0.025 > evidence(figure, 0.35).above


def student_row(first: np.ndarray, second: np.ndarray) -> Row:
    """Return the difference of two means over runs as trainings keep it."""
    found = difference(sample_of(first.tolist()), sample_of(second.tolist()))
    return row(found.value, low=found.low, high=found.high, degrees_of_freedom=found.freedom)


def test_an_interval_of_a_few_runs_has_students_tails() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(-8, 0.5, 3), rng.normal(0, 0.5, 3)
    gap = student_row(first, second)
    for number in (-4.0, -7.5, 0.0):
        for side, name in (("greater", "above"), ("less", "below")):
            expected = stats.ttest_ind(first - number, second, alternative=side).pvalue
            assert getattr(evidence(gap, number), name) == pytest.approx(expected)
    normal = replace(gap, extra={})
    assert evidence(normal, -4.0).below < evidence(gap, -4.0).below / 5


def test_three_seeds_are_wrong_no_more_often_than_the_level_allows() -> None:
    """Eight true claims at their boundary, each of three runs against three, corrected by Holm."""
    rng = np.random.default_rng(5)
    draws, claims = 600, 8
    wrong = {True: 0, False: 0}
    for _ in range(draws):
        rows = [student_row(rng.normal(-6, 1, 3), rng.normal(0, 1, 3)) for _ in range(claims)]
        for with_freedom in wrong:
            kept = rows if with_freedom else [replace(one, extra={}) for one in rows]
            found = [evidence(one, -6.0) for one in kept]
            p = holm([min(1.0, 2 * min(one.above, one.below)) for one in found])
            wrong[with_freedom] += min(p) <= 0.05
    # Of 600 draws at 5 %, more than 45 are wrong with a chance below 0.5 %.
    assert wrong[True] <= 45
    # As a normal interval, which it is not, it is wrong twice as often.
    assert wrong[False] > 60


def test_the_error_of_a_mean_over_seeds_is_added_to_that_of_the_data() -> None:
    rng = np.random.default_rng(6)
    texts, seeds = rng.normal(0.3, 0.1, 10), rng.normal(0.3, 0.2, 5)
    plain = jackknifed(texts)
    both = replace(plain, extra={**plain.extra, "seed_values": seeds.tolist()})
    errors = stats.sem(texts), stats.sem(seeds)
    error, freedom = math.hypot(*errors), welch(errors, (9, 4))
    expected = stats.t.sf((texts.mean() - 0.2) / error, freedom)
    assert evidence(both, 0.2).above == pytest.approx(expected)
    assert evidence(plain, 0.2).above < expected
    # Beside a figure of the same blocks, which has no seeds, and one of other data.
    other = row(0.1, replicates=[0.1 + k / 1e4 for k in range(10)], blocks="b")
    pairs = np.subtract(both.extra["replicates"], other.extra["replicates"])
    own = math.sqrt(0.9 * 10 * np.var(pairs))
    assert evidence(both, other).above == pytest.approx(
        stats.t.sf(
            (texts.mean() - 0.1) / math.hypot(own, errors[1]), welch((own, errors[1]), (9, 4))
        )
    )
    apart = evidence(both, row(0.1, "B", low=0.09, high=0.11))
    assert apart.above > evidence(plain, row(0.1, "B", low=0.09, high=0.11)).above


def test_seeds_of_a_figure_with_a_logarithm_are_logarithms() -> None:
    replicates = [-3.0 + k / 100 for k in range(10)]
    seeds = [-3.5, -3.0, -2.5]
    fields = {"log10": -3.0, "replicates": replicates, "blocks": "b"}
    expected = evidence(row(1e-3, seed_values=seeds, **fields), 1e-4)
    assert expected.above > 5 * evidence(row(1e-3, **fields), 1e-4).above
    # What a measure that takes the mean itself keeps counts as much.
    named = {f"seed_{k}_log10": value for k, value in enumerate(seeds)}
    assert evidence(row(1e-3, **named, **fields), 1e-4) == expected
    # One cluster is the same for every seed.
    single = row(1e-3, seed_0_log10=-3.0, **fields)
    assert evidence(single, 1e-4) == evidence(row(1e-3, **fields), 1e-4)


def test_errors_of_one_model_add_up_and_those_of_two_do_as_squares() -> None:
    one = row(1.0, low=0.0, high=2.0)
    same, other = row(0.0, low=-1.0, high=1.0), row(0.0, "B", low=-1.0, high=1.0)
    reach = stats.norm.ppf(0.975)
    assert evidence(one, same).above == pytest.approx(stats.norm.sf(reach / 2))
    assert evidence(one, other).above == pytest.approx(stats.norm.sf(reach / math.sqrt(2)))


def test_a_difference_of_the_same_items_counts_before_two_intervals() -> None:
    one, other = row(0.70, low=0.6, high=0.8), row(0.65, low=0.55, high=0.75)
    gap = row(0.05, low=0.04, high=0.06)
    assert evidence(one, other, gap).above < 1e-6
    assert evidence(one, other).above > 0.05


@pytest.mark.parametrize(
    "figure",
    [
        row(0.9),
        row(0.9, replicates=[0.9] * 10, blocks="b"),
        row(0.9, replicates=[0.9 + k * 1e-17 for k in range(10)], blocks="b"),
        row(0.9, replicates=[0.9, math.nan, 0.8], blocks="b"),
        row(0.9, replicates=[0.9], blocks="b"),
        row(0.9, sd=0.0, n=5),
        row(0.9, sd=None, n=1),
        row(0.9, low=0.9, high=0.9),
        row(0.9, low=0.95, high=1.0),
        row(0.9, low=None, high=1.0),
        row(0.9, p=math.nan),
    ],
)
def test_no_spread_is_no_certainty(figure: Row) -> None:
    for number in (0.0, 0.5, 0.9):
        assert evidence(figure, number) == NOTHING
    assert evidence(figure, row(0.1, "B", low=0.0, high=0.2)) == NOTHING


def test_what_differs_by_rounding_is_equal() -> None:
    replicates = [0.3 + k / 100 for k in range(10)]
    one = row(0.3, replicates=replicates, blocks="b")
    other = row(
        0.3 + 1e-16, replicates=[x + 1e-16 * k for k, x in enumerate(replicates)], blocks="b"
    )
    assert evidence(one, other) == NOTHING
    exact = evidence(row(1.0 - 1e-12, exact=True), 1.0)
    assert (exact.above, exact.below, exact.low) == (1.0, 1.0, 0.0)


def test_what_is_exact_has_no_error() -> None:
    found = evidence(row(0.7, exact=True), 0.5)
    assert (found.above, found.below, found.how) == (0.0, 1.0, "exact")
    assert evidence(row(0.3, exact=True), row(0.7, exact=True)).below == 0.0
    mixed = evidence(row(0.7, exact=True), row(0.5, "B", low=0.4, high=0.6))
    assert mixed.above == pytest.approx(stats.norm.sf(0.2 / 0.1 * stats.norm.ppf(0.975)))
    tiny = [row(0.0, log10=power, exact=True) for power in (-400.0, -390.0)]
    assert evidence(tiny[1], tiny[0]).above == 0.0  # both are 0 as doubles
    assert evidence(tiny[0], 1e-300).below == 0.0


def test_a_test_of_its_own_counts_against_zero_only() -> None:
    falls = row(-0.44, measure="correlation(a, b)", p=0.4)
    found = evidence(falls, 0.0)
    assert (found.above, found.below) == (0.8, 0.2)
    assert evidence(falls, -0.5) == NOTHING


def test_replicates_of_logarithms_stay_on_their_scale() -> None:
    logs = [-3.0 + k / 100 for k in range(10)]
    one = row(1e-3, log10=-3.0, replicates=logs, blocks="b")
    found = evidence(one, 1e-4)
    assert found.low is not None
    assert found.low == pytest.approx(1.0, abs=0.3)  # a power of ten
    # Where the other side has no logarithm, the replicates are turned back.
    plain = row(0.5, replicates=[0.5 + k / 100 for k in range(10)], blocks="b")
    mixed = evidence(one, plain)
    pairs = [10**a - b for a, b in zip(logs, plain.extra["replicates"], strict=True)]
    error = math.sqrt(0.9 * 10 * np.var(pairs))
    assert mixed.below == pytest.approx(stats.t.cdf((1e-3 - 0.5) / error, 9))
    assert evidence(one, 0.0).above < 0.05  # above zero on the plain scale


def test_an_interval_that_reaches_zero_has_no_logarithm() -> None:
    assert evidence(row(1e-3, log10=-3.0, low=0.0, high=0.1), 1e-4) == NOTHING


def test_correlations_are_compared_on_fishers_scale() -> None:
    n, r = 12, 0.9
    reach = stats.t.ppf(0.975, n - 2) / math.sqrt(n - 3)
    ends = [math.tanh(math.atanh(r) + side * reach) for side in (-1, 1)]
    figure = row(r, measure="correlation(a, b)", low=ends[0], high=ends[1], n=n)
    expected = stats.t.sf(math.atanh(r) * math.sqrt(n - 3), n - 2)
    assert evidence(figure, 0.0).above == pytest.approx(expected)
    score = row(r, measure="sts-b/spearman", low=ends[0], high=ends[1], n=n)
    assert evidence(score, 0.0).above < expected / 10  # the plain scale would be too certain


def test_a_figure_at_its_edge_takes_the_error_of_the_other_side() -> None:
    perfect = row(1.0, low=0.9, high=1.0)
    assert evidence(perfect, 1.02).below == pytest.approx(
        stats.norm.cdf(-0.02 / 0.1 * stats.norm.ppf(0.975))
    )


@given(value=NUMBERS, reach=st.floats(0.01, 100), number=NUMBERS)
def test_both_directions_share_the_probability(value: float, reach: float, number: float) -> None:
    found = evidence(row(value, low=value - reach, high=value + reach), number)
    assert found.above + found.below == pytest.approx(1.0)
    assert found.low is not None and found.high is not None  # noqa: PT018
    assert (found.low > 0) == (found.above < 0.025) or found.low == pytest.approx(0, abs=1e-9)


@given(
    st.lists(st.tuples(st.floats(0.1, 10), st.integers(1, 30)), min_size=2, max_size=2),
)
def test_degrees_of_freedom_lie_between_the_smaller_and_the_sum(
    parts: list[tuple[float, int]],
) -> None:
    errors, freedoms = zip(*parts, strict=True)
    assert min(freedoms) - 1e-9 <= welch(errors, freedoms) <= sum(freedoms) + 1e-9


@given(value=NUMBERS, other=NUMBERS, reach=st.floats(0.01, 100))
def test_sides_may_be_swapped(value: float, other: float, reach: float) -> None:
    one = row(value, low=value - reach, high=value + 2 * reach)
    two = row(other, "B", low=other - 3 * reach, high=other + reach)
    forth, back = evidence(one, two), evidence(two, one)
    if value != other:
        assert forth.above == pytest.approx(back.below)


@given(st.integers(1, 200), st.data())
def test_a_share_is_compared_by_the_binomial_distribution(trials: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, trials))
    number = data.draw(st.floats(0.01, 0.99))
    found = evidence(row(count / trials, trials=trials), number)
    for side, p in (("greater", found.above), ("less", found.below)):
        expected = stats.binomtest(count, trials, number, alternative=side)
        assert p == pytest.approx(expected.pvalue, abs=1e-9)
    ends = stats.binomtest(count, trials, number).proportion_ci(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low - number, ends.high - number))


def test_a_share_that_is_none_is_not_weighed() -> None:
    assert evidence(row(0.333, trials=10), 0.5) == NOTHING
    assert evidence(row(0.3, trials=10), 0.0) == NOTHING
