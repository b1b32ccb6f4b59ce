"""GLUE's scores of predictions, as its own evaluation has them.

Accuracy, F1 of the class 1, Matthews' correlation (0 where one class only is predicted, as
scikit-learn and GLUE have it), Pearson's and Spearman's correlations (undefined where every
prediction is the same).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

ROUNDING = 1e-6
"""Predictions that differ by less than this share of the largest are the same number."""

NARROW = 0.01
"""Predictions of a score that span less than this share of the true ones' span hardly vary."""


@dataclass(frozen=True)
class Judged:
    """Scores of a set of predictions, whether these are all the same, and what to note."""

    scores: dict[str, float | None]
    constant: bool
    notes: tuple[str, ...] = ()


def judge_labels(
    truth: Sequence[int] | Numbers,
    predicted: Sequence[int] | Numbers,
    metrics: Sequence[str],
    labels: Sequence[str] = (),
) -> Judged:
    """Score predicted classes.

    Parameters
    ----------
    truth, predicted : sequence of int
        Classes by number.
    metrics : sequence of str
        Which scores.
    labels : sequence of str
        Names of the classes, for the note about constant predictions.
    """
    true, said = np.asarray(truth), np.asarray(predicted)
    constant = len(np.unique(said)) == 1
    notes: tuple[str, ...] = ()
    if constant:
        name = labels[int(said[0])] if labels else str(said[0])
        notes = (f"every prediction is {name}",)
    return Judged({name: CLASS_SCORES[name](true, said) for name in metrics}, constant, notes)


def judge_numbers(
    truth: Sequence[float] | Numbers, predicted: Sequence[float] | Numbers, metrics: Sequence[str]
) -> Judged:
    """Score predicted numbers by their correlation with the true ones."""
    true, said = np.asarray(truth, np.float64), np.asarray(predicted, np.float64)
    span = float(np.ptp(said))
    if span <= ROUNDING * max(1.0, float(np.abs(said).max())):
        return Judged(dict.fromkeys(metrics), True, ("undefined: every prediction is the same",))
    notes: tuple[str, ...] = ()
    if span < NARROW * float(np.ptp(true)):
        notes = (f"predictions span {span:.2g} only",)
    return Judged({name: NUMBER_SCORES[name](true, said) for name in metrics}, False, notes)


def accuracy(true: Numbers, said: Numbers) -> float:
    """Share of items whose class is right."""
    return float(np.mean(true == said))


def f1(true: Numbers, said: Numbers) -> float:
    """F1 of the class 1; 0 where it is never predicted."""
    from sklearn.metrics import f1_score

    return float(f1_score(true, said, zero_division=0))


def matthews(true: Numbers, said: Numbers) -> float:
    """Matthews' correlation; 0 where one class only is predicted."""
    from sklearn.metrics import matthews_corrcoef

    if np.ptp(true) == 0 or np.ptp(said) == 0:
        return 0.0
    return float(matthews_corrcoef(true, said))


def pearson(true: Numbers, said: Numbers) -> float:
    """Pearson's correlation."""
    from scipy.stats import pearsonr

    return float(pearsonr(true, said).statistic)


def spearman(true: Numbers, said: Numbers) -> float:
    """Spearman's correlation."""
    from scipy.stats import spearmanr

    return float(spearmanr(true, said).statistic)


CLASS_SCORES: dict[str, Callable[[Numbers, Numbers], float]] = {
    "accuracy": accuracy,
    "f1": f1,
    "matthews": matthews,
}
NUMBER_SCORES: dict[str, Callable[[Numbers, Numbers], float]] = {
    "pearson": pearson,
    "spearman": spearman,
}
