"""Intervals stay within bounds and are symmetric on their scale; bad lists are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoscope.compute.stats.estimates import (
    CORRELATION,
    SHARE,
    bounded_score,
    paired_lists,
    quantile,
    standard_error,
)
from isoscope.errors import DataError, UsageError

SPREAD = np.random.default_rng(0).normal(size=40)


@pytest.mark.parametrize(("value", "bounds"), [(0.9, SHARE), (0.02, SHARE), (-0.7, CORRELATION)])
def test_intervals_are_symmetric_in_log_odds(value: float, bounds: tuple[float, float]) -> None:
    found = bounded_score(value, SPREAD, 0.95, bounds)

    def odds(score: float | None) -> float:
        assert score is not None
        assert bounds[0] < score < bounds[1]
        return math.log((score - bounds[0]) / (bounds[1] - score))

    assert odds(found.high) + odds(found.low) == pytest.approx(2 * odds(value))
    slope = (bounds[1] - bounds[0]) / ((value - bounds[0]) * (bounds[1] - value))
    reach = quantile(0.95, 40) * standard_error(SPREAD) * slope
    assert odds(found.high) - odds(found.low) == pytest.approx(2 * reach)


def test_no_interval_says_why() -> None:
    assert "fewer than 4" in bounded_score(0.5, SPREAD[:3], 0.95).note
    assert "around 1, a bound" in bounded_score(1.0, SPREAD, 0.95).note
    assert "around -1, a bound" in bounded_score(-1.0, SPREAD, 0.95, CORRELATION).note
    assert "no item moves" in bounded_score(0.5, np.zeros(9), 0.95).note
    with pytest.raises(UsageError, match="level"):
        bounded_score(0.5, SPREAD, 95)


def test_lists_of_labels() -> None:
    true, said = paired_lists(["b", "a", "c"], ["c", "c", "b"])
    assert true.tolist() == [1, 0, 2]
    assert said.tolist() == [2, 2, 1]
    assert len(paired_lists([], [])[0]) == 0
    with pytest.raises(UsageError, match="one length"):
        paired_lists([1, 2], [1])
    with pytest.raises(UsageError, match="on the other"):
        paired_lists(["1", "2"], [1, 2])
    with pytest.raises(DataError, match="NaN"):
        paired_lists([1.0, 2.0], [1.0, math.nan])
