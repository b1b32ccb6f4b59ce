"""Scores of rows that come in documents: what a document's rows add to an error adds up first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.tasks.bounded_scores import SHARE, bounded_score
from isoscope.tasks.intervals import (
    ROUNDING,
    Difference,
    Score,
    difference,
    quantile,
    standard_error,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.typing import Vector


LEVEL = 0.95


def clustered_score(
    value: float,
    parts: Vector,
    units: NDArray[np.int64],
    bounds: tuple[float, float] = SHARE,
) -> Score:
    """Put a 95 % interval around a score.

    Parameters
    ----------
    value : float
        The score.
    parts : array
        What every row adds to the error of the score, to first order; they sum to about zero.
    units : array of int
        The document of every row.
    bounds : tuple of float
        What the score cannot leave.
    """
    _, place = np.unique(units, return_inverse=True)
    totals = np.bincount(place, parts).astype(np.float64)
    # ``bounded_score`` takes the mean of influences for the error, and this is their sum.
    return bounded_score(value, totals * len(totals), LEVEL, bounds)


def clustered_mean(
    values: Vector, units: NDArray[np.int64], bounds: tuple[float, float] = SHARE
) -> Score:
    """Return the mean of a figure of every row with its 95 % interval."""
    mean = float(values.mean())
    return clustered_score(mean, (values - mean) / len(values), units, bounds)


def apart(later: Score, earlier: Score, *, paired: bool) -> Difference:
    """Return how far two scores lie apart, of the same units or of others."""
    if paired:
        return difference(later, earlier)
    if later.value is None or earlier.value is None:
        return Difference(None, None, None, later.n, later.note or earlier.note)
    value = later.value - earlier.value
    if later.influences is None or earlier.influences is None:
        return Difference(value, None, None, later.n, later.note or earlier.note)
    error = math.hypot(standard_error(later.influences), standard_error(earlier.influences))
    if error <= ROUNDING:
        return Difference(value, None, None, later.n, "no interval: no row tells the two apart")
    half = quantile(LEVEL, min(later.n, earlier.n)) * error
    return Difference(value, value - half, value + half, later.n)
