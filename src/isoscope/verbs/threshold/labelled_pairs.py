"""Thresholds on labelled pairs: chosen on some folds, judged on the one that they have not seen.

In every space: the AUC, how often a match has a higher cosine than a non-match; thresholds for some
goals, with their precision, recall and F1 = 2 TP / (2 TP + FP + FN); and the Brier score
mean((p − y)²) of the probabilities p that isotonic regression gives pairs with the labels y. Pairs
that share a row are not independent: a design effect widens the intervals.

References
----------
Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isoscope.compute.stats.class_scores import auc, f1_score
from isoscope.compute.stats.estimates import (
    Difference,
    Estimate,
    Score,
    design_effect,
    difference,
    mean_score,
    quantile,
    standard_error,
    undefined,
    widened,
)
from isoscope.compute.threads import one_blas_thread
from isoscope.corrections.named import NONE, NamedCorrection
from isoscope.corrections.query_centre import Centres
from isoscope.errors import DataError, UsageError
from isoscope.progress import Progress
from isoscope.results.result import Row
from isoscope.tasks.cross_fitting import Candidate, CrossFitting, own_centres_of, run_with_centres
from isoscope.tasks.datasets.own_pairs import AUC, OwnPairProblem
from isoscope.tasks.folds import dealt
from isoscope.tasks.problem import Problem
from isoscope.tasks.scores import as_row, has_output
from isoscope.tasks.vectors import Ground, fit_words, folded_rows
from isoscope.typing import Mask, Places, Vector
from isoscope.verbs.threshold.base_rate import BaseRate, RarePrecision, labelled_matches
from isoscope.verbs.threshold.chance import forms_of
from isoscope.verbs.threshold.goals import Choice, Goal
from isoscope.verbs.threshold.names import (
    BASE_RATE,
    IN_SEARCH,
    ORIGIN,
    REWEIGHTED,
    SHARE_ABOVE,
    THRESHOLD,
)
from isoscope.verbs.threshold.score_map import ScoreMap, probability_map

# With fewer, a threshold is chosen by a handful of pairs on either side.
FEWEST_PAIRS = 20

CONDITIONS: dict[str, Callable[[Vector, float], Mask]] = {
    ">=": np.greater_equal,
    "<=": np.less_equal,
    ">": np.greater,
    "<": np.less,
    "=": np.equal,
}


@dataclass(frozen=True)
class ThresholdScores:
    """A threshold for a goal, and how it does on pairs that did not choose it.

    ``chosen`` is the threshold for use, from all pairs, and ``by_fold`` has those that were chosen
    without the pairs of each fold. Precision, recall, F1 and the share of noes that are accepted
    are of all pairs, each judged by the threshold of its fold.
    """

    goal: Goal
    chosen: Choice
    by_fold: tuple[float | None, ...]
    precision: Score
    recall: Score
    f1: Score
    false_share: Score


@dataclass(frozen=True)
class PairsInFolds:
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
    labels: Mask
    first: Places
    second: Places
    folds: Sequence[Places]

    def by_fold(self) -> Iterator[tuple[Places, Vector, Mask]]:
        """Go through the folds: the pairs of each, and cosines and labels of all the others."""
        for held in self.folds:
            others = np.ones(len(self.cosines), np.bool_)
            others[held] = False
            yield held, self.cosines[others], self.labels[others]

    def share(self, of: Mask, among: Mask, level: float, nothing: str) -> Score:
        """Return the share of some pairs that are others, allowing for rows that they share."""
        if not among.any():
            return undefined(nothing, 0)
        found = mean_score(of[among], level)
        effect = design_effect(found.influences, self.first[among], self.second[among])
        return widened(found, effect)


def score_threshold(goal: Goal, pairs: PairsInFolds, level: float = 0.95) -> ThresholdScores:
    """Choose a threshold on all pairs but those of a fold, and judge these by it, fold by fold.

    Parameters
    ----------
    goal : Goal
        What thresholds are chosen for.
    pairs : PairsInFolds
        Pairs, in folds.
    level : float
        Coverage of the intervals, for the precision, recall and F1 of these thresholds on other
        pairs of the same kind.
    """
    cosines, labels = pairs.cosines, pairs.labels
    by_fold = []
    accepted = np.zeros(len(cosines), np.bool_)
    for held, other_cosines, other_labels in pairs.by_fold():
        found = goal.choose(other_cosines, other_labels)
        by_fold.append(found.threshold)
        if found.threshold is not None:
            accepted[held] = cosines[held] >= found.threshold
    chosen = goal.choose(cosines, labels)
    if None in by_fold:
        none = undefined("without the pairs of some fold no threshold was found", len(cosines))
        return ThresholdScores(goal, chosen, tuple(by_fold), none, none, none, none)
    precision = pairs.share(labels, accepted, level, "no pair is accepted")
    recall = pairs.share(accepted, labels, level, "no pair is a yes")
    false_share = pairs.share(accepted, ~labels, level, "no pair is a no")
    f1 = f1_score(labels.astype(np.intp), accepted.astype(np.intp), level, positive=1)
    f1 = widened(f1, design_effect(f1.influences, pairs.first, pairs.second))
    return ThresholdScores(goal, chosen, tuple(by_fold), precision, recall, f1, false_share)


def brier(pairs: PairsInFolds, level: float = 0.95) -> tuple[Estimate, float]:
    """Return the mean squared error of probabilities fitted without a fold, and of the base rate.

    A Brier score of 0 is perfect; a probability that is always the share of matches, p, has
    p (1 − p).
    """
    errors = np.empty(len(pairs.cosines))
    for held, other_cosines, other_labels in pairs.by_fold():
        fitted = probability_map(other_cosines, other_labels, "")
        errors[held] = (fitted(pairs.cosines[held], outside="clip") - pairs.labels[held]) ** 2
    value, n, share = float(np.mean(errors)), len(errors), float(np.mean(pairs.labels))
    effect = design_effect(errors, pairs.first, pairs.second)
    reach = quantile(level, n) * standard_error(errors) * math.sqrt(effect)
    return Estimate(value, max(value - reach, 0.0), min(value + reach, 1.0), n), share * (1 - share)


@dataclass(frozen=True)
class SpaceScores:
    """One space on the labelled pairs.

    Attributes
    ----------
    name : str
        Of its correction.
    auc : Score
        How often a yes has the higher cosine than a no.
    change : Difference or None
        To the vectors as they are.
    thresholds : tuple of ThresholdScores
        A threshold for every goal.
    brier : Estimate
        Of probabilities fitted without the pairs that they are judged on.
    base : float
        The Brier score of the share of matches.
    map : ScoreMap
        From cosine to probability.
    fewest : int
        How many yeses there are, or noes where these are fewer.
    """

    name: str
    auc: Score
    change: Difference | None
    thresholds: tuple[ThresholdScores, ...]
    brier: Estimate
    base: float
    map: ScoreMap
    fewest: int


def with_labels(problem: Problem, positive: str | None) -> OwnPairProblem:
    """Turn scores into labels: those that meet a condition are a yes.

    Parameters
    ----------
    problem : OwnPairProblem
        Pairs with scores or labels.
    positive : str, optional
        A condition such as ``>=4``; none is needed where pairs are labelled yes and no.
    """
    assert isinstance(problem, OwnPairProblem)
    if positive is None:
        if not problem.yes_no:
            low, high = float(problem.human.min()), float(problem.human.max())
            raise UsageError(
                f"{problem.task} has scores from {low:g} to {high:g}; say which are a match with "
                f"--positive, such as --positive '>={(low + high) / 2:g}'"
            )
        return problem
    labels = condition(positive)(problem.human)
    return replace(problem, human=labels.astype(np.float64), yes_no=True, main=AUC)


def condition(text: str) -> Callable[[Vector], Mask]:
    """Read a condition such as ``>=4``."""
    found = re.fullmatch(r"\s*(>=|<=|==?|>|<)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*", text)
    try:
        sign, number = found[1], float(found[2])  # type: ignore[index]
    except (TypeError, ValueError):
        raise UsageError(
            f"--positive is a condition on the score, such as '>=4' or '=1', not {text!r}"
        ) from None
    test = CONDITIONS["=" if sign == "==" else sign]
    return lambda scores: np.asarray(test(scores, number))


def without_identical(ground: Ground) -> Ground:
    """Leave out pairs of the same text or of equal vectors: their cosine is 1 in every space.

    A query that equals a document stays, as the two may have centres of their own.
    """
    problem = ground.problem
    assert isinstance(problem, OwnPairProblem)
    if ground.query_rows is not None:
        return ground
    rows = ground.vectors
    equal = np.all(rows[problem.first] == rows[problem.second], axis=1)
    kind = "of identical texts or vectors" if problem.texts else "of identical vectors"
    return replace(ground, problem=problem.without(equal, kind))


class LabelledPairs:
    """Pairs with labels, scored in every space with corrections that have not seen their fold.

    Parameters
    ----------
    ground : Ground
        Labelled pairs with their vectors.
    folds : int
        Into how many folds they are dealt.
    seed : int
        Of the dealing.
    level : float
        Coverage of the intervals.
    """

    def __init__(self, ground: Ground, folds: int, seed: int, level: float) -> None:
        problem = ground.problem
        assert isinstance(problem, OwnPairProblem)
        labels = problem.human == 1
        if len(problem) < FEWEST_PAIRS:
            raise DataError(
                f"{problem.task} has {len(problem):,} pairs; a threshold needs at least "
                f"{FEWEST_PAIRS}, and hundreds to be useful"
            )
        if labels.all() or not labels.any():
            left_out = f" ({problem.left_out})" if problem.left_out else ""
            raise DataError(
                f"{problem.task}: every pair is a {'yes' if labels.all() else 'no'}{left_out}; a "
                "threshold needs both. --positive says which scores are a yes"
            )
        self.ground, self.problem, self.labels = ground, problem, labels
        self.level, self.count = level, folds
        self.folds = dealt(problem, folds, seed)
        self.protocol = ""

    def matches_per_query(self) -> Estimate | None:
        """Return the labelled matches of a query; None where pairs are not of queries."""
        if self.ground.query_rows is None:
            return None
        return labelled_matches(self.problem.first, self.problem.second, self.labels, self.level)

    def cosines(
        self,
        corrections: Sequence[NamedCorrection],
        centres: Centres,
        progress: Progress | None = None,
    ) -> dict[str, Vector]:
        """Return the cosine of every pair in every space; NaN where a vector has no direction."""
        tried = tuple(Candidate(one.name, (one,)) for one in corrections if one.name != NONE)
        ground = self.ground
        with one_blas_thread():  # many small matrices
            rows = folded_rows(ground, self.folds, [one for c in tried for one in c.settings])
            fitting = CrossFitting(self.problem, ground.vectors, rows, self.folds, progress)
            found = {NONE: fitting.uncorrected()}
            if not tried:  # nothing was fitted that the protocol could describe
                self.protocol = f"{ground.protocol}; thresholds chosen in {self.count} folds"
                return found
            self.protocol = f"{ground.protocol}; {fit_words(ground, rows, self.count)}"
            if ground.query_rows is None:  # rows of one cloud have one mean
                centres = "shared"
            own = None if centres == "shared" else own_centres_of(ground, self.folds)
            several = run_with_centres(fitting, tried, centres, own)
        return found | {one.candidate.name: one.outputs for one in several}

    def judge(self, spaces: dict[str, Vector], goals: Sequence[Goal]) -> list[SpaceScores]:
        """Score every space, and choose its thresholds, on the pairs that all of them can score."""
        usable = np.logical_and.reduce([has_output(found) for found in spaces.values()])
        if usable.sum() < FEWEST_PAIRS:
            raise DataError(
                f"{self.problem.task}: {int(usable.sum()):,} pairs have two vectors with a "
                f"direction; a threshold takes at least {FEWEST_PAIRS}"
            )
        # Folds count pairs anew, without those that some space cannot score.
        number = np.cumsum(usable) - 1
        folds = [number[fold[usable[fold]]] for fold in self.folds]
        first, second = self.problem.first[usable], self.problem.second[usable]
        labels = self.labels[usable]
        fewest = min(int(labels.sum()), int((~labels).sum()))
        plain = auc(labels, spaces[NONE][usable], self.level)
        found = []
        for name, cosines in spaces.items():
            pairs = PairsInFolds(cosines[usable], labels, first, second, folds)
            area = plain if name == NONE else auc(labels, pairs.cosines, self.level)
            change = None if name == NONE else difference(area, plain, level=self.level)
            if change is not None and area.influences is not None and plain.influences is not None:
                # A change has influences, and so a design effect, of its own.
                moved = area.influences - plain.influences
                change = widened(change, design_effect(moved, first, second), None, self.level)
            area = widened(area, design_effect(area.influences, first, second))
            error, base = brier(pairs, self.level)
            cuts = tuple(score_threshold(goal, pairs, self.level) for goal in goals)
            fitted = probability_map(pairs.cosines, labels, name)
            found.append(SpaceScores(name, area, change, cuts, error, base, fitted, fewest))
        return found

    def rows(
        self,
        subject: str,
        scored: Sequence[SpaceScores],
        rate: BaseRate | None = None,
        rare: Mapping[tuple[str, str], RarePrecision] | None = None,
    ) -> list[Row]:
        """File what was found.

        ``rare`` has, by space and goal, the precision of thresholds at the base rate ``rate``.
        """
        rows: list[Row] = []

        def add(
            name: str,
            measure: str,
            found: Estimate,
            about: dict[str, Any] | None = None,
            left_out: int = 0,
        ) -> None:
            where, measure = (subject, ""), f"{self.problem.task}/{measure}"
            rows.append(
                as_row(where, name, measure, found, "pairs", left_out, "", self.protocol, about)
            )

        for one in scored:
            add(one.name, "auc", one.auc, left_out=len(self.problem) - one.auc.n)
            if one.change is not None:
                add(one.name, "auc/difference", one.change, {"p_value": one.change.p_value})
            add(one.name, "brier", one.brier, {"base_rate": one.base})
            for cut in one.thresholds:
                goal, value = cut.goal.name, cut.chosen.threshold
                chosen = Estimate(value, None, None, one.auc.n, cut.chosen.note)
                about = {"goal": cut.goal.words, "by_fold": list(cut.by_fold), **forms_of(value)}
                add(one.name, goal + THRESHOLD, chosen, about)
                for name in ("precision", "recall", "f1"):
                    add(one.name, f"{goal}/{name}", getattr(cut, name))
                there = None if rare is None else rare.get((one.name, goal))
                if rate is None or there is None:
                    continue
                about = {"goal": cut.goal.words, BASE_RATE: rate.share, ORIGIN: rate.origin}
                add(one.name, goal + REWEIGHTED, there.reweighted, about)
                if there.above is not None:
                    about |= {SHARE_ABOVE: there.above.value}
                    about |= {f"{SHARE_ABOVE}_low": there.above.low}
                    about |= {f"{SHARE_ABOVE}_high": there.above.high}
                add(one.name, goal + IN_SEARCH, there.in_search, about)
        return rows
