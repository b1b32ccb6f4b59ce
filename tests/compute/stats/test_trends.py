"""Trends along alike neighbours and correlations of few points, against brute force."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from isoscope.compute.stats.trends import (
    ALL_SIGNS,
    depth_correlations,
    flipped_p,
    permuted_p,
    rise_p,
    sign_patterns,
    together_p,
    trend,
)

CURVES = st.lists(st.integers(-6, 6).map(float), min_size=3, max_size=7)


def brute_force(values: list[float]) -> float:
    """Put together every curve whose steps have other signs, and count."""
    steps = np.diff(values)
    layers = range(len(values))

    def rho(curve: np.ndarray) -> float:
        found = stats.spearmanr(layers, curve).statistic if np.ptp(curve) > 0 else 0.0
        return abs(float(found))

    others = [
        rho(np.concatenate([[0.0], np.cumsum(np.multiply(signs, steps))]))
        for signs in product((-1, 1), repeat=len(steps))
    ]
    return float(np.mean([other >= rho(np.asarray(values)) - 1e-9 for other in others]))


@settings(max_examples=30, deadline=None)
@given(CURVES)
def test_a_trend_is_compared_with_all_signs_of_its_steps(values: list[float]) -> None:
    found = trend(values)
    assert found is not None
    assert found.p == pytest.approx(brute_force(values))
    assert rise_p(values) == found.p


@given(st.lists(st.integers(-4, 4).map(float), min_size=3, max_size=12))
def test_the_figure_is_spearmans(values: list[float]) -> None:
    found = trend(values)
    assert found is not None
    if np.ptp(values) > 0:
        expected = stats.spearmanr(range(len(values)), values).statistic
        assert found.rho == pytest.approx(expected, abs=1e-12)
    else:
        assert (found.rho, found.p) == (0.0, 1.0)


@given(CURVES)
def test_turning_a_curve_over_turns_the_figure_and_keeps_the_p_value(values: list[float]) -> None:
    one, other = trend(values), trend([-value for value in values])
    assert one is not None
    assert other is not None
    assert other.rho == pytest.approx(-one.rho, abs=1e-12)
    assert other.p == one.p


@pytest.mark.parametrize("points", [4, 7, 12])
def test_no_p_value_is_below_two_of_all_patterns(points: int) -> None:
    found = trend(list(range(points)))
    assert found is not None
    assert (found.rho, found.p) == (pytest.approx(1.0), 2 / 2 ** (points - 1))


def test_layers_that_are_alike_are_no_trend() -> None:
    # Smooth by chance: a permutation of layers would find a trend here.
    walk = np.cumsum([1, 1, -1, 1, 1, -1, 1, 1, -1, 1, -1, 1])
    assert stats.spearmanr(range(12), walk).pvalue < 0.01
    assert (rise_p(walk.tolist()) or 0) > 0.1


def test_too_short_or_undefined_curves_have_no_test() -> None:
    assert trend([1.0, 2.0]) is None
    assert rise_p([]) is None
    assert trend([1.0, math.nan, 2.0, 3.0]) is None
    assert together_p([1, 2, 3], [1, 2, 3]) is None
    assert together_p([1, 1, 1, 1], [1, 2, 3, 4]) is None


def test_long_curves_are_sampled_with_what_was_observed() -> None:
    found = trend(list(range(25)))
    assert found is not None
    assert 0 < found.p < 0.001
    assert trend(list(range(25)), seed=1) == found
    signs, exact = sign_patterns(ALL_SIGNS, 0)
    assert exact
    assert len(np.unique(signs, axis=0)) == 2**ALL_SIGNS
    assert not sign_patterns(ALL_SIGNS + 1, 0)[1]


def test_curves_with_and_without_ties_in_one_table() -> None:
    curves = np.array([[0.0, 1, 2, 3], [0, 1, 1, 3], [0.0, 0, 0, 0], [0, 0.1 + 0.2, 0.3, -1]])
    found = depth_correlations(curves)
    tied = [[0, 1, 1, 3], [0, 1, 1, -1]]
    expected = [stats.spearmanr(range(4), curve).statistic for curve in tied]
    assert found == pytest.approx([1.0, expected[0], 0.0, expected[1]])


def test_sums_with_random_signs() -> None:
    parts = np.array([1.0, 2.0, 4.0])
    assert flipped_p(parts) == 2 / 8
    assert flipped_p(np.array([1.0, -1.0])) == 1.0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=6))
def test_correlations_are_compared_with_all_orders(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, float).T
    if x.std() == 0 or y.std() == 0:
        return
    observed = abs(np.corrcoef(x, y)[0, 1])
    others = [abs(np.corrcoef(x, y[list(order)])[0, 1]) for order in permutations(range(len(x)))]
    expected = np.mean([other >= observed - 1e-9 for other in others])
    assert permuted_p(x, y) == pytest.approx(float(expected))


def test_many_points_are_permuted_at_random() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(12)
    y = 0.5 * x + rng.standard_normal(12)
    expected = stats.permutation_test(
        (x,), lambda a: abs(np.corrcoef(a, y)[0, 1]), permutation_type="pairings",
        n_resamples=4_999, alternative="greater", rng=1,
    ).pvalue  # fmt: skip
    assert permuted_p(x, y) == pytest.approx(expected, abs=0.03)


def test_two_walks_do_not_go_together_because_both_rise() -> None:
    rng = np.random.default_rng(3)
    x = np.linspace(0, 1, 20) + 0.1 * rng.standard_normal(20)
    y = np.linspace(0, 1, 20) + 0.1 * rng.standard_normal(20)
    assert permuted_p(x, y) < 0.001  # they rise, that is all
    assert (together_p(x.tolist(), y.tolist()) or 0) > 0.05
    assert (together_p(x.tolist(), (x + 0.01 * y).tolist()) or 1) < 0.01
