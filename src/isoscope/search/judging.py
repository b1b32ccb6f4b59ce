"""Thresholds on labelled pairs: chosen on some folds, judged on the one that they have not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.search.goals import Chosen, Goal
from isoscope.search.score_maps import probability_map
from isoscope.tasks.bounded_scores import undefined
from isoscope.tasks.class_scores import f1_score
from isoscope.tasks.intervals import Estimate, Score, quantile, standard_error
from isoscope.tasks.mean_scores import mean_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.tasks.problem import Items

    Vector = NDArray[np.float64]
    Labels = NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """A threshold and how it does on pairs that did not choose it.

    Attributes
    ----------
    goal : Goal
        What it was chosen for.
    chosen : Chosen
        Chosen on all pairs, for use.
    by_fold : tuple of float or None
        Chosen without the pairs of each fold.
    precision, recall, f1 : Score
        Of all pairs, each judged by the threshold of its fold.
    """

    goal: Goal
    chosen: Chosen
    by_fold: tuple[float | None, ...]
    precision: Score
    recall: Score
    f1: Score


def judged(
    goal: Goal, cosines: Vector, labels: Labels, folds: Sequence[Items], level: float = 0.95
) -> Judged:
    """Choose a threshold on all pairs but those of a fold, and judge these by it, fold by fold.

    Parameters
    ----------
    goal : Goal
        What thresholds are chosen for.
    cosines, labels : array
        Of every pair.
    folds : sequence of array of int
        The pairs of every fold.
    level : float
        Coverage of the intervals, for the precision, recall and F1 of these thresholds on other
        pairs of the same kind.
    """
    by_fold = []
    accepted = np.zeros(len(cosines), np.bool_)
    for held in folds:
        others = np.ones(len(cosines), np.bool_)
        others[held] = False
        found = goal.choose(cosines[others], labels[others])
        by_fold.append(found.threshold)
        if found.threshold is not None:
            accepted[held] = cosines[held] >= found.threshold
    chosen = goal.choose(cosines, labels)
    if None in by_fold:
        missing = undefined("without the pairs of some fold no threshold was found", len(cosines))
        return Judged(goal, chosen, tuple(by_fold), missing, missing, missing)
    precision = (
        mean_score(labels[accepted], level)
        if accepted.any()
        else undefined("no pair is accepted", 0)
    )
    recall = (
        mean_score(accepted[labels], level) if labels.any() else undefined("no pair is a yes", 0)
    )
    return Judged(
        goal, chosen, tuple(by_fold), precision, recall,
        f1_score(labels.astype(np.intp), accepted.astype(np.intp), level, positive=1),
    )  # fmt: skip


def brier(
    cosines: Vector, labels: Labels, folds: Sequence[Items], level: float = 0.95
) -> tuple[Estimate, float]:
    """Return the mean squared error of probabilities fitted without a fold, and of the base rate.

    The Brier score (1950): 0 is perfect; a probability that is always the share of yeses, p, has
    p (1 − p).
    """
    errors = np.empty(len(cosines))
    for held in folds:
        others = np.ones(len(cosines), np.bool_)
        others[held] = False
        fitted = probability_map(cosines[others], labels[others], "")
        errors[held] = (fitted(cosines[held]) - labels[held]) ** 2
    value, n, share = float(np.mean(errors)), len(errors), float(np.mean(labels))
    reach = quantile(level, n) * standard_error(errors)
    return Estimate(value, max(value - reach, 0.0), min(value + reach, 1.0), n), share * (1 - share)


def precision_at(share: float, recall: float, false_share: float) -> float | None:
    """Return the precision among pairs of which some share are yeses: Bayes' rule."""
    accepted = share * recall + (1 - share) * false_share
    return share * recall / accepted if accepted > 0 else None
