"""Intervals of scores that cannot leave their bounds, out of the influence of every item.

Between 0 and 1 the interval is symmetric on the scale of log odds, between −1 and 1 on Fisher's:
both are ½ ln((s − a) / (b − s)) for a score s between a and b, whose derivative is
(b − a) / (2 (s − a) (b − s)). So intervals stay within the bounds, and hold their level close to
them, where plain ones miss it: of 50 reciprocal ranks with a mean of 0.96, plain intervals of 95 %
held the truth 90 % of the time, of 200 such ranks 93.5 %; these 97.5 and 95.9 %.

References
----------
Agresti & Coull (1998), Approximate is better than "exact" for interval estimation of binomial
proportions. Fisher (1921), On the "probable error" of a coefficient of correlation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError, UsageError
from isoscope.tasks.intervals import FEWEST, ROUNDING, Score, check_level, quantile, standard_error

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from isoscope.typing import Vector


SHARE = (0.0, 1.0)
CORRELATION = (-1.0, 1.0)


def bounded_score(
    value: float, influences: Vector, level: float, bounds: tuple[float, float] = SHARE
) -> Score:
    """Put an interval around a score, or say why it has none.

    Parameters
    ----------
    value : float
        The score.
    influences : array
        The influence of every item on it.
    level : float
        Coverage of the interval, between 0 and 1.
    bounds : tuple of float
        What the score cannot leave.
    """
    check_level(level)
    n = len(influences)
    if n < FEWEST:
        return Score(value, None, None, n, f"no interval from fewer than {FEWEST} items")
    bottom, top = bounds
    if min(value - bottom, top - value) < ROUNDING:
        # Influences are kept: a perfect score has no interval, but a difference to it has one.
        note = f"no interval around {round(value):d}, a bound"
        return Score(value, None, None, n, note, influences)
    if np.ptp(influences) <= ROUNDING:
        return Score(value, None, None, n, "no interval: no item moves the score", influences)
    half, middle = (top - bottom) / 2, (top + bottom) / 2
    centred = (value - middle) / half
    reach = quantile(level, n) * standard_error(influences) / (half * (1 - centred**2))
    low, high = (middle + half * math.tanh(math.atanh(centred) + s * reach) for s in (-1, 1))
    return Score(value, low, high, n, influences=influences)


def undefined(why: str, n: int) -> Score:
    """Return a score that has no value."""
    return Score(None, None, None, n, f"undefined: {why}")


def paired_lists(truth: ArrayLike, found: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the classes of two lists of labels, in the order of the labels of both together."""
    true, said = np.asarray(truth), np.asarray(found)
    check_lengths(true, said)
    if not len(true):
        empty = np.zeros(0, np.intp)
        return empty, empty
    if true.dtype.kind != said.dtype.kind and "U" in (true.dtype.kind, said.dtype.kind):
        raise UsageError(f"labels are {true.dtype} on one side and {said.dtype} on the other")
    _, places = np.unique(np.concatenate([true, said]), return_inverse=True)
    return places[: len(true)], places[len(true) :]


def check_lengths(first: NDArray[np.generic], second: NDArray[np.generic]) -> None:
    """Refuse lists that are not of the same items, and scores that are no numbers."""
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError(
            f"a score needs two lists of one length, not {first.shape} and {second.shape}"
        )
    for one in (first, second):
        if one.dtype.kind == "f" and not np.isfinite(one).all():
            raise DataError("an output is NaN or infinite; leave such items out first")
