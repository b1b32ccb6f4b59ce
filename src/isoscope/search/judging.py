"""Thresholds on labelled pairs: chosen on some folds, judged on the one that they have not seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.class_scores import f1_score
from isoscope.compute.stats.estimates import (
    Estimate,
    Score,
    design_effect,
    mean_score,
    quantile,
    standard_error,
    undefined,
    widened,
)
from isoscope.search.goals import Chosen, Goal
from isoscope.search.score_maps import probability_map

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.tasks.problem import Items
    from isoscope.typing import Vector

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
    false_share : Score
        The share of noes that are accepted.
    """

    goal: Goal
    chosen: Chosen
    by_fold: tuple[float | None, ...]
    precision: Score
    recall: Score
    f1: Score
    false_share: Score


@dataclass(frozen=True)
class Labelled:
    """Pairs whose labels are known.

    Attributes
    ----------
    cosines, labels : array
        Of every pair.
    first, second : array of int
        The rows of every pair: pairs that share one are not independent.
    folds : sequence of array of int
        The pairs of every fold.
    """

    cosines: Vector
    labels: Labels
    first: Items
    second: Items
    folds: Sequence[Items]

    def share(self, of: Labels, among: Labels, level: float, nothing: str) -> Score:
        """Return the share of some pairs that are others, allowing for rows that they share."""
        if not among.any():
            return undefined(nothing, 0)
        found = mean_score(of[among], level)
        effect = design_effect(found.influences, self.first[among], self.second[among])
        return widened(found, effect)


def judged(goal: Goal, pairs: Labelled, level: float = 0.95) -> Judged:
    """Choose a threshold on all pairs but those of a fold, and judge these by it, fold by fold.

    Parameters
    ----------
    goal : Goal
        What thresholds are chosen for.
    pairs : Labelled
        Pairs, in folds.
    level : float
        Coverage of the intervals, for the precision, recall and F1 of these thresholds on other
        pairs of the same kind.
    """
    cosines, labels = pairs.cosines, pairs.labels
    by_fold = []
    accepted = np.zeros(len(cosines), np.bool_)
    for held in pairs.folds:
        others = np.ones(len(cosines), np.bool_)
        others[held] = False
        found = goal.choose(cosines[others], labels[others])
        by_fold.append(found.threshold)
        if found.threshold is not None:
            accepted[held] = cosines[held] >= found.threshold
    chosen = goal.choose(cosines, labels)
    if None in by_fold:
        none = undefined("without the pairs of some fold no threshold was found", len(cosines))
        return Judged(goal, chosen, tuple(by_fold), none, none, none, none)
    precision = pairs.share(labels, accepted, level, "no pair is accepted")
    recall = pairs.share(accepted, labels, level, "no pair is a yes")
    false_share = pairs.share(accepted, ~labels, level, "no pair is a no")
    f1 = f1_score(labels.astype(np.intp), accepted.astype(np.intp), level, positive=1)
    f1 = widened(f1, design_effect(f1.influences, pairs.first, pairs.second))
    return Judged(goal, chosen, tuple(by_fold), precision, recall, f1, false_share)


def brier(pairs: Labelled, level: float = 0.95) -> tuple[Estimate, float]:
    """Return the mean squared error of probabilities fitted without a fold, and of the base rate.

    The Brier score (1950): 0 is perfect; a probability that is always the share of yeses, p, has
    p (1 − p).
    """
    cosines, labels = pairs.cosines, pairs.labels
    errors = np.empty(len(cosines))
    for held in pairs.folds:
        others = np.ones(len(cosines), np.bool_)
        others[held] = False
        fitted = probability_map(cosines[others], labels[others], "")
        errors[held] = (fitted(cosines[held]) - labels[held]) ** 2
    value, n, share = float(np.mean(errors)), len(errors), float(np.mean(labels))
    effect = design_effect(errors, pairs.first, pairs.second)
    reach = quantile(level, n) * standard_error(errors) * math.sqrt(effect)
    return Estimate(value, max(value - reach, 0.0), min(value + reach, 1.0), n), share * (1 - share)


def precision_at(share: float, recall: float, false_share: float) -> float | None:
    """Return the precision among pairs of which some share are yeses: Bayes' rule."""
    accepted = share * recall + (1 - share) * false_share
    return share * recall / accepted if accepted > 0 else None
