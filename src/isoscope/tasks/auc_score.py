"""The area under the ROC curve: how often a yes scores higher than a no.

AUC = P(s⁺ > s⁻) + ½ P(s⁺ = s⁻) over all pairs of a yes and a no. With V_i the share of noes below a
yes, or of yeses above a no, ties counting half, leaving item i out of the m of its class moves the
area by (V_i − AUC) / (m − 1). Its influence is n − 1 times that: to first order, DeLong's error.

References
----------
DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
operating characteristic curves: a nonparametric approach, Biometrics 44. Qin & Hotilovac (2008),
Comparison of non-parametric confidence intervals for the area under the ROC curve of a
continuous-scale diagnostic test, for the scale of log odds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError
from isoscope.tasks.bounded_scores import bounded_score, check_lengths, undefined
from isoscope.tasks.intervals import Score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from isoscope.typing import Vector


def auc(labels: ArrayLike, scores: ArrayLike, level: float = 0.95) -> Score:
    """Return the area under the ROC curve, with its interval.

    Parameters
    ----------
    labels : array-like
        1 for yes and 0 for no.
    scores : array-like
        Higher for what is more likely a yes.
    level : float
        Coverage of the interval, between 0 and 1.
    """
    given, values = np.asarray(labels, np.float64), np.asarray(scores, np.float64)
    check_lengths(given, values)
    if not np.isin(given, (0.0, 1.0)).all():
        raise DataError("labels should be 1 for yes and 0 for no")
    yes = given == 1
    n, positives = len(yes), int(yes.sum())
    if positives in (0, n):
        return undefined("one class only", n)
    if np.ptp(values) == 0:
        return undefined("all scores are the same", n)
    placed = np.empty(n)
    placed[yes] = share_below(values[yes], values[~yes])
    placed[~yes] = 1 - share_below(values[~yes], values[yes])
    value = float(np.mean(placed[yes]))
    fewest = min(positives, n - positives)
    if fewest < 2:
        return Score(value, None, None, n, "no interval from a single item of a class")
    of_class = np.where(yes, positives, n - positives)
    return bounded_score(value, (placed - value) * (n - 1) / (of_class - 1), level)


def share_below(values: Vector, others: Vector) -> Vector:
    """Return for every value the share of others below it, those equal to it counting half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left")
    up_to = np.searchsorted(ordered, values, "right")
    return np.asarray((below + up_to) / (2 * len(others)))
