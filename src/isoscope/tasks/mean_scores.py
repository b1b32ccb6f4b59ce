"""Means of what every item scores between 0 and 1: accuracy, recall, nDCG, reciprocal ranks.

The influence of an item on a mean is its own figure less the mean. Where every figure is 0 or 1,
the interval is Wilson's: the shares p whose own error holds the observed share,
|p̂ − p| ≤ z √(p (1 − p) / n). It exists where all figures are the same, too; as no figure between 0
and 1 varies more than p (1 − p), it is then valid for any of them. Otherwise the interval is
symmetric on the scale of log odds.

References
----------
Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22.
Brown, Cai & DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError, UsageError
from isoscope.tasks.bounded_scores import bounded_score, undefined
from isoscope.tasks.intervals import FEWEST, ROUNDING, Score, check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def mean_score(values: ArrayLike, level: float = 0.95) -> Score:
    """Return the mean of figures between 0 and 1, with its interval.

    Parameters
    ----------
    values : array-like
        A figure for every item: 1 or 0 for right or wrong, or anything between.
    level : float
        Coverage of the interval, between 0 and 1.

    Examples
    --------
    >>> found = mean_score([1, 0, 1, 1, 1, 0, 1, 1])
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.75, 0.409, 0.929)
    """
    figures = np.asarray(values, np.float64)
    check_level(level)
    if figures.ndim != 1:
        raise UsageError(f"a mean needs one list of figures, not an array of {figures.shape}")
    n = len(figures)
    if not n:
        return undefined("there is nothing to score", 0)
    # A sum of rounded parts, such as a gain over an ideal one, may miss 1 by its rounding.
    if not ((figures >= -ROUNDING) & (figures <= 1 + ROUNDING)).all():
        raise DataError("figures of items should lie between 0 and 1, and none be NaN")
    value = float(np.mean(figures))
    influences = figures - value
    if n < FEWEST:
        return Score(value, None, None, n, f"no interval from fewer than {FEWEST} items")
    if np.isin(figures, (0.0, 1.0)).all():
        low, high = wilson(value, n, level)
        return Score(value, low, high, n, influences=influences)
    if np.ptp(figures) <= ROUNDING:
        note = "no interval: all items score the same"
        # They do have an influence, which is 0: another mean of the items can be compared.
        return Score(value, None, None, n, note, np.zeros(n))
    return replace(bounded_score(value, influences, level), influences=influences)


def wilson(share: float, n: int, level: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of n."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    shrunk = 1 + z**2 / n
    middle = (share + z**2 / (2 * n)) / shrunk
    half = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / shrunk
    # Where the share is a bound, so is the end of the interval, but for rounding.
    low = 0.0 if share <= 0 else middle - half
    return low, 1.0 if share >= 1 else middle + half
