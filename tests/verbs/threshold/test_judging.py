"""Thresholds judged on pairs that did not choose them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import brier_score_loss, f1_score, precision_score, recall_score

from isoscope.verbs.threshold.goals import BestF1, Choice, Precision
from isoscope.verbs.threshold.labelled_pairs import (
    PairsInFolds,
    brier,
    score_threshold,
)
from isoscope.verbs.threshold.score_map import probability_map

RNG = np.random.default_rng(2)
LABELS = RNG.random(300) < 0.4
COSINES = np.clip(0.3 + 0.3 * LABELS + 0.2 * RNG.normal(size=300), -1, 1)
FOLDS = [np.arange(k, 300, 3) for k in range(3)]


def pairs_of(cosines: np.ndarray) -> PairsInFolds:
    return PairsInFolds(cosines, LABELS, np.arange(300), 300 + np.arange(300), FOLDS)


PAIRS = pairs_of(COSINES)


class Watching:
    """Remembers what thresholds were chosen on."""

    name, words = "watch", "watching"

    def __init__(self) -> None:
        self.seen: list[int] = []

    def choose(self, cosines, labels) -> Choice:
        del labels
        self.seen.append(len(cosines))
        return Choice(0.5)


def test_scores_are_those_of_the_other_folds_thresholds() -> None:
    found = score_threshold(BestF1(), PAIRS)
    said = np.zeros(300, np.bool_)
    for held, threshold in zip(FOLDS, found.by_fold, strict=True):
        others = np.setdiff1d(np.arange(300), held)
        assert threshold == BestF1().choose(COSINES[others], LABELS[others]).threshold
        said[held] = COSINES[held] >= threshold
    assert found.precision.value == pytest.approx(precision_score(LABELS, said))
    assert found.recall.value == pytest.approx(recall_score(LABELS, said))
    assert found.f1.value == pytest.approx(f1_score(LABELS, said))
    assert found.precision.n == said.sum()
    assert found.recall.n == LABELS.sum()


def test_a_fold_never_chooses_its_own_threshold() -> None:
    goal = Watching()
    score_threshold(goal, PAIRS)
    assert goal.seen == [200, 200, 200, 300]


def test_without_a_threshold_in_some_fold_there_is_no_score() -> None:
    noise = RNG.normal(size=300)
    found = score_threshold(Precision(0.99), pairs_of(noise))
    assert found.chosen.threshold is None
    assert found.precision.value is None
    assert "no threshold was found" in found.precision.note


def test_nothing_accepted_has_no_precision() -> None:
    goal = Watching()
    found = score_threshold(goal, pairs_of(COSINES - 2))
    assert found.precision.value is None
    assert found.recall.value == 0


def test_brier_scores_probabilities_of_pairs_that_were_not_fitted_on() -> None:
    found, base = brier(PAIRS)
    said = np.empty(300)
    for held in FOLDS:
        others = np.setdiff1d(np.arange(300), held)
        fitted = probability_map(COSINES[others], LABELS[others], "none")
        said[held] = fitted(COSINES[held], outside="clip")
    assert found.value == pytest.approx(brier_score_loss(LABELS, said))
    assert base == pytest.approx(np.mean(LABELS) * (1 - np.mean(LABELS)))
    assert found.low is not None
    assert found.low < (found.value or 0) < base


def test_pairs_that_share_a_query_have_wider_intervals() -> None:
    """Queries with an effect of their own: intervals that forget it hold the truth too seldom."""
    rng = np.random.default_rng(3)
    inside = {True: 0, False: 0}
    runs, queries, each = 120, 60, 10
    for _ in range(runs):
        labels = rng.random(queries * each) < 0.5
        own = np.repeat(rng.normal(0, 0.7, queries), each)
        cosines = rng.normal(size=queries * each) + 1.5 * labels + own
        spread = np.sqrt(1 + 0.7**2)
        truth = norm.sf((0.5 - 1.5) / spread)
        for shared in inside:
            rows = np.repeat(np.arange(queries), each) if shared else np.arange(queries * each)
            folds = [np.arange(k, queries * each, 2) for k in range(2)]
            pairs = PairsInFolds(cosines, labels, rows, 10_000 + np.arange(len(labels)), folds)
            found = score_threshold(Watching(), pairs).recall
            assert found.low is not None
            assert found.high is not None
            inside[shared] += found.low <= truth <= found.high
    # 95 % of 120 runs, and three standard errors; without the rows some ten points are missing.
    assert inside[True] / runs >= 0.89
    assert inside[False] < inside[True]
