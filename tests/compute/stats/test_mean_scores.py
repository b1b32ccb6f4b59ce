"""Means against numpy, Wilson's interval against scipy, and intervals by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from isoscope.compute.stats.estimates import difference, mean_score
from isoscope.errors import DataError, UsageError


@pytest.mark.parametrize(("right", "n"), [(0, 20), (20, 20), (1, 30), (170, 200)])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_shares_have_wilsons_interval(right: int, n: int, level: float) -> None:
    values = np.arange(n) < right
    found = mean_score(values, level)
    expected = stats.binomtest(right, n).proportion_ci(level, "wilson")
    assert found.value == right / n
    assert found.low == pytest.approx(expected.low, abs=1e-12)
    assert found.high == pytest.approx(expected.high, abs=1e-12)


def test_influences_are_what_leaving_an_item_out_does() -> None:
    values = np.random.default_rng(0).beta(2, 1, 30)
    found = mean_score(values)
    assert found.value == pytest.approx(values.mean(), abs=1e-15)
    without = np.array([np.delete(values, i).mean() for i in range(30)])
    assert found.influences == pytest.approx(29 * (values.mean() - without), abs=1e-12)


def test_differences_are_paired_t_tests() -> None:
    rng = np.random.default_rng(1)
    before = rng.random(40)
    after = np.clip(before + rng.normal(0.02, 0.1, 40), 0, 1)
    found = difference(mean_score(after), mean_score(before))
    expected = stats.ttest_rel(after, before)
    assert found.value == pytest.approx((after - before).mean(), abs=1e-15)
    error = found.value / expected.statistic  # type: ignore[operator]
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 38) * error)  # type: ignore[operator]


def test_equal_figures() -> None:
    same = mean_score([0.5] * 10)
    assert (same.value, same.low, same.high) == (0.5, None, None)
    assert "all items score the same" in same.note
    other = mean_score(np.linspace(0.1, 0.6, 10))
    assert difference(other, same).low is not None
    perfect = mean_score([1] * 10)
    assert perfect.high == 1
    assert perfect.low == pytest.approx(10 / (10 + 1.959963984540054**2))
    assert "the two do not differ" in difference(perfect, perfect).note


def test_few_and_bad_figures() -> None:
    assert mean_score([]).value is None
    assert "nothing to score" in mean_score([]).note
    few = mean_score([0, 1, 1])
    assert (few.value, few.low, few.n) == (2 / 3, None, 3)
    assert mean_score([1 + 1e-16, 1, 0.2, 0.3]).n == 4
    for bad in ([0.5, 1.2], [-0.1, 0.5], [math.nan, 1]):
        with pytest.raises(DataError, match="between 0 and 1"):
            mean_score(bad)
    with pytest.raises(UsageError, match="one list"):
        mean_score([[1, 0]])


def right_or_wrong(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.random(n) < 0.97).astype(float)


def reciprocal_ranks(rng: np.random.Generator, n: int) -> np.ndarray:
    ranks = rng.geometric(0.8, n)
    return np.where(ranks <= 10, 1 / ranks, 0.0)


@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        (right_or_wrong, 0.97),
        (reciprocal_ranks, sum(0.8 * 0.2 ** (k - 1) / k for k in range(1, 11))),
    ],
)
def test_intervals_cover(draw, truth: float) -> None:  # type: ignore[no-untyped-def]
    """1,000 intervals of 95 %: three standard deviations of the share are 2 points."""
    rng = np.random.default_rng(2)
    found = [mean_score(draw(rng, 200)) for _ in range(1000)]
    assert 0.93 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.97
