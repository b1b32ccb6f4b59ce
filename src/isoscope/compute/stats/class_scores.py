"""F1, Matthews' correlation and the area under the ROC curve, with the influence of every item.

The area is how often a yes scores higher than a no:
AUC = P(s⁺ > s⁻) + ½ P(s⁺ = s⁻) over all pairs of a yes and a no. With V_i the share of noes below a
yes, or of yeses above a no, ties counting half, leaving item i out of the m of its class moves the
area by (V_i − AUC) / (m − 1). Its influence is n − 1 times that: to first order, DeLong's error.

F1 of a class is 2 a / s, where a is the share of items that are of the class and predicted to be,
and s the share that is of the class plus the share that is predicted to be. With t and p the
indicators of an item, its influence is (2 t p − F1 (t + p)) / s. The macro average takes the mean
over the classes that occur among the true labels: the same classes whatever is predicted, so that
two predictions can be compared.

Matthews' correlation of several classes is Gorodkin's R_K: with u and v the indicator vectors of
true and predicted class less their means, E[u·v] / √(E[u·u] E[v·v]); for two classes it is
Pearson's r of 0 and 1. Leaving out item i gives, with w = 1 / (n − 1) and a, b, c its u·v, u·u and
v·v divided by √(E[u·u] E[v·v]), E[u·u] and E[v·v],

    R₋ᵢ = (R − w a) / √((1 − w b) (1 − w c)),

and its influence is (R − R₋ᵢ) / w, as for Pearson's r.

References
----------
DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
operating characteristic curves: a nonparametric approach, Biometrics 44. Qin & Hotilovac (2008),
Comparison of non-parametric confidence intervals for the area under the ROC curve of a
continuous-scale diagnostic test, for the scale of log odds.
van Rijsbergen (1979), Information retrieval. Matthews (1975), Comparison of the predicted and
observed secondary structure of T4 phage lysozyme. Gorodkin (2004), Comparing two K-category
assignments by a K-category correlation coefficient, Computational Biology and Chemistry 28.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isoscope.compute.stats.estimates import (
    CORRELATION,
    ROUNDING,
    Score,
    bounded_score,
    check_lengths,
    paired_lists,
    undefined,
)
from isoscope.errors import DataError
from isoscope.typing import Vector

Classes = NDArray[np.intp]


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
    # Leaving out a yes changes the mean over yeses alone, so that the number of its own class
    # counts, not that of all items.
    of_class = np.where(yes, positives, n - positives)
    return bounded_score(value, (placed - value) * (n - 1) / (of_class - 1), level)


def share_below(values: Vector, others: Vector) -> Vector:
    """Return for every value the share of others below it, those equal to it counting half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, "left")
    up_to = np.searchsorted(ordered, values, "right")
    return np.asarray((below + up_to) / (2 * len(others)))


ONE_CLASS = "one class only"


def f1_score(
    truth: ArrayLike,
    predicted: ArrayLike,
    level: float = 0.95,
    *,
    positive: str | int | None = None,
) -> Score:
    """Return F1 of one class, or the mean over classes, with its interval.

    Parameters
    ----------
    truth, predicted : array-like
        The class of every item, and what was predicted.
    level : float
        Coverage of the interval, between 0 and 1.
    positive : str or int, optional
        The class that F1 is about. Without it, the mean over all classes in ``truth``.
    """
    if positive is not None:
        true, said = np.asarray(truth), np.asarray(predicted)
        check_lengths(true, said)
        is_true, is_said = true == positive, said == positive
        if not is_true.any():
            return undefined(f"no item belongs to the class {positive}", len(true))
        return bounded_score(*f1_influences(is_true, is_said), level)
    true, said = paired_lists(truth, predicted)
    classes = np.unique(true)
    if len(classes) < 2:
        return undefined(ONE_CLASS, len(true))
    total, influences = 0.0, np.zeros(len(true))
    for one in classes:
        value, own = f1_influences(true == one, said == one)
        total += value
        influences += own
    return bounded_score(total / len(classes), influences / len(classes), level)


def f1_influences(true: NDArray[np.bool_], said: NDArray[np.bool_]) -> tuple[float, Vector]:
    """Return F1 of a class and the influence of every item on it."""
    both = (true & said).astype(np.float64)
    either = true.astype(np.float64) + said
    share = float(np.mean(either))
    value = 2 * float(np.mean(both)) / share
    return value, (2 * both - value * either) / share


def matthews(truth: ArrayLike, predicted: ArrayLike, level: float = 0.95) -> Score:
    """Return Matthews' correlation of true and predicted classes, with its interval.

    Parameters
    ----------
    truth, predicted : array-like
        The class of every item, and what was predicted; two classes or more.
    level : float
        Coverage of the interval, between 0 and 1.
    """
    true, said = paired_lists(truth, predicted)
    if len(true) == 0 or np.ptp(true) == 0:
        return undefined(ONE_CLASS, len(true))
    if np.ptp(said) == 0:
        return undefined("only one class is predicted", len(true))
    return bounded_score(*matthews_influences(true, said), level, CORRELATION)


def matthews_influences(true: Classes, said: Classes) -> tuple[float, Vector]:
    """Return R_K and the influence of every item on it."""
    classes, n = max(int(true.max()), int(said.max())) + 1, len(true)
    of_true, of_said = (np.bincount(one, minlength=classes) / n for one in (true, said))
    # Products of indicators less their means: (e_j − p)·(e_k − q) = [j = k] − q_j − p_k + p·q.
    joint = (true == said) - of_said[true] - of_true[said] + float(of_true @ of_said)
    own = 1 - 2 * of_true[true] + float(of_true @ of_true)
    other = 1 - 2 * of_said[said] + float(of_said @ of_said)
    b, c = float(np.mean(own)), float(np.mean(other))
    scale = math.sqrt(b * c)
    value = float(np.clip(np.mean(joint) / scale, -1, 1))
    w = 1 / (n - 1)
    left = (1 - w * own / b) * (1 - w * other / c)
    # Where only one item is of another class, nothing is left without it: its first order instead.
    lone = left <= ROUNDING
    without = (value - w * joint / scale) / np.sqrt(np.where(lone, 1.0, left))
    first_order = joint / scale - value / 2 * (own / b + other / c)
    return value, np.where(lone, first_order, (value - without) / w)
