"""Correlations against scipy, influences against their definition, intervals by simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isoscope.compute.stats.estimates import (
    difference,
    mid_ranks,
    pearson,
    pearson_influences,
    spearman,
    spearman_influences,
)
from isoscope.errors import DataError, UsageError

PAIRS = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=4, max_size=40)


def correlated(rng: np.random.Generator, n: int, r: float) -> tuple[np.ndarray, np.ndarray]:
    x, noise = rng.standard_normal((2, n))
    return x, r * x + math.sqrt(1 - r * r) * noise


@given(PAIRS)
def test_values_are_scipys(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, float).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert pearson(x, y).value is None
        return
    assert pearson(x, y).value == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-13)
    assert spearman(x, y).value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-13)


def test_mid_ranks_are_scipys_mean_ranks() -> None:
    values = np.array([3.0, 1, 3, 2, 3, 1])
    assert mid_ranks(values) == pytest.approx((stats.rankdata(values) - 0.5) / 6, abs=1e-15)


def test_pearsons_influence_is_what_leaving_a_pair_out_does() -> None:
    rng = np.random.default_rng(0)
    x, y = correlated(rng, 30, 0.6)
    y = 1e4 + 7 * y
    r, influences = pearson_influences(x, y)
    without = [np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(30)]
    assert influences == pytest.approx(29 * (r - np.array(without)), abs=1e-9)


def weighted_spearman(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Spearman's ρ of a distribution, from its definition by mid-distribution functions."""

    def distribution(v: np.ndarray) -> np.ndarray:
        below = (v[None] < v[:, None]) + 0.5 * (v[None] == v[:, None])
        return below @ weights

    f, g = distribution(x), distribution(y)
    f, g = f - weights @ f, g - weights @ g
    return float(weights @ (f * g) / math.sqrt((weights @ f**2) * (weights @ g**2)))


@pytest.mark.parametrize("ties", [False, True])
def test_spearmans_influence_is_the_derivative_of_its_definition(ties: bool) -> None:
    x, y = correlated(np.random.default_rng(1), 25, 0.5)
    if ties:
        x, y = np.round(x), np.round(2 * y)
    _, influences = spearman_influences(x, y)
    step, even = 1e-5, np.full(25, 1 / 25)
    for i in range(25):
        towards = np.eye(25)[i] - even
        slope = (
            weighted_spearman(x, y, even + step * towards)
            - weighted_spearman(x, y, even - step * towards)
        ) / (2 * step)
        assert influences[i] == pytest.approx(slope, abs=1e-7)


def test_a_score_that_one_pair_alone_moves_has_an_interval() -> None:
    x = np.array([0.0, 0, 0, 0, 0, 1])
    found = pearson(x, np.array([0.0, 1, 2, 1, 0, 5]))
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert -1 < found.low < found.value < found.high < 1


def spearman_of_normals(r: float) -> float:
    return 6 / math.pi * math.asin(r / 2)


def spearman_of_levels(r: float, edges: np.ndarray) -> float:
    """Spearman's ρ of a normal X cut at the edges and a normal Y, from bivariate probabilities."""
    turned = -r / math.sqrt(2)  # E[1{X ≤ t} Φ(Y)] = P(X ≤ t, Y' ≤ Y) for an independent Y'
    joint = stats.multivariate_normal(cov=[[1, turned], [turned, 1]])
    below = np.concatenate([[0], [joint.cdf([t, 0]) for t in edges], [0.5]])
    shares = np.diff(np.concatenate([[0], stats.norm.cdf(edges), [1]]))
    ranks = np.cumsum(shares) - shares / 2
    covariance = float(ranks @ np.diff(below)) - 0.25
    return covariance / math.sqrt((float(shares @ ranks**2) - 0.25) / 12)


EDGES = np.array([-1.2, -0.3, 0.4, 1.5])


def normal(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return correlated(rng, n, 0.6)


def student(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = correlated(rng, n, 0.6)
    stretch = np.sqrt(5 / rng.chisquare(5, n))
    return x * stretch, y * stretch


def levels(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = correlated(rng, n, 0.6)
    return np.searchsorted(EDGES, x).astype(float), np.exp(2 * y)


@pytest.mark.parametrize(
    ("correlation", "draw", "truth"),
    [
        (pearson, normal, 0.6),
        (pearson, student, 0.6),
        (spearman, normal, spearman_of_normals(0.6)),
        (spearman, levels, spearman_of_levels(0.6, EDGES)),
    ],
)
def test_intervals_cover(correlation, draw, truth) -> None:  # type: ignore[no-untyped-def]
    """800 intervals of 95 %: four standard deviations of the share are 3.1 points."""
    rng = np.random.default_rng(2)
    found = [correlation(*draw(rng, 120)) for _ in range(800)]
    assert np.mean([one.low <= truth <= one.high for one in found]) == pytest.approx(
        0.95, abs=0.031
    )


@pytest.mark.parametrize("correlation", [pearson, spearman])
def test_paired_differences_cover_and_are_narrower_than_unpaired(correlation) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(3)
    truth = 0.5 - 0.6
    if correlation is spearman:
        truth = spearman_of_normals(0.5) - spearman_of_normals(0.6)
    hits, narrower = [], []
    for _ in range(800):
        human, first, second = rng.standard_normal((3, 120))
        before = 0.6 * human + 0.8 * first
        after = 0.5 * human + 0.5 * first + math.sqrt(0.5) * second
        a, b = correlation(human, after), correlation(human, before)
        one = difference(a, b)
        hits.append(one.low <= truth <= one.high)
        narrower.append(one.high - one.low < math.hypot(a.high - a.low, b.high - b.low))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.031)
    assert np.mean(narrower) > 0.99


@pytest.mark.parametrize("correlation", [pearson, spearman])
def test_widths_are_those_of_a_bootstrap(correlation) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(4)
    x, y = student(rng, 400)
    z = y + rng.standard_normal(400)
    before, after = correlation(x, y), correlation(x, z)
    single, paired = [], []
    for _ in range(1500):
        chosen = rng.integers(0, 400, 400)
        one, other = (
            correlation(x[chosen], y[chosen]).value,
            correlation(x[chosen], z[chosen]).value,
        )
        single.append(one)
        paired.append(other - one)
    for found, drawn in ((before, single), (difference(after, before), paired)):
        width = np.diff(np.quantile(drawn, [0.025, 0.975]))[0]
        # 1,500 draws know the quantiles to about 4 %, and the two differ beyond first order.
        assert found.high - found.low == pytest.approx(width, rel=0.15)


def test_variances_of_seeds_add_to_that_of_the_items() -> None:
    x, y = correlated(np.random.default_rng(8), 50, 0.3)
    before, after = pearson(x, y), pearson(x, y + x**2)
    plain = difference(after, before)
    noisy = difference(replace(after, seed_variance=0.01), replace(before, seed_variance=0.02))
    reach = stats.t.ppf(0.975, 48)
    assert noisy.value == plain.value
    assert ((noisy.high - noisy.low) / 2 / reach) ** 2 == pytest.approx(  # type: ignore[operator]
        ((plain.high - plain.low) / 2 / reach) ** 2 + 0.03  # type: ignore[operator]
    )
    assert noisy.p_value > plain.p_value  # type: ignore[operator]


def test_the_same_scores_differ_by_nothing() -> None:
    x, y = correlated(np.random.default_rng(5), 50, 0.3)
    found = difference(spearman(x, y), spearman(x, y))
    assert (found.value, found.low, found.high, found.n) == (0, None, None, 50)


def test_a_level_of_a_half_is_narrower() -> None:
    x, y = correlated(np.random.default_rng(6), 50, 0.3)
    wide, narrow = pearson(x, y), pearson(x, y, level=0.5)
    assert wide.low < narrow.low < wide.value < narrow.high < wide.high  # type: ignore[operator]


def test_scale_does_not_matter() -> None:
    x, y = correlated(np.random.default_rng(7), 50, 0.3)
    plain = pearson(x, y)
    assert pearson(x * 1e300, y * 1e-300).value == pytest.approx(plain.value, rel=1e-12)
    assert pearson(x * 1e300, -y).low == pytest.approx(-plain.high, rel=1e-12)  # type: ignore[operator]


@pytest.mark.parametrize("correlation", [pearson, spearman])
def test_what_has_no_value_or_no_interval_says_why(correlation) -> None:  # type: ignore[no-untyped-def]
    constant = correlation(np.full(5, 0.1) + 1e-17 * np.arange(5), np.arange(5))
    assert (constant.value, constant.low) == (None, None)
    assert "all scores are the same" in constant.note
    assert "fewer than two" in correlation([1], [2]).note
    assert correlation([], []).value is None
    few = correlation([1, 2, 3], [1, 3, 2])
    assert few.value == pytest.approx(0.5)
    assert few.low is None
    perfect = correlation(np.arange(9), np.arange(9))
    assert perfect.value == pytest.approx(1)
    assert perfect.low is None
    assert "perfect" in perfect.note
    assert difference(constant, constant).value is None
    assert "the two do not differ in any item" in difference(perfect, perfect).note


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(UsageError, match="one length"):
        pearson([1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="level"):
        pearson([1, 2], [1, 2], level=95)
    with pytest.raises(DataError, match="NaN"):
        spearman([1, 2, math.nan], [1, 2, 3])
    with pytest.raises(UsageError, match="same items"):
        difference(pearson([1, 2, 3], [1, 2, 4]), pearson([1, 2], [2, 1]))


def test_ranks_that_do_not_change_prove_nothing() -> None:
    x, y = correlated(np.random.default_rng(0), 12, 0.6)
    found = difference(spearman(np.exp(x), y), spearman(x, y))
    assert found.value == 0
    assert found.low is None
    assert "the two do not differ" in found.note
