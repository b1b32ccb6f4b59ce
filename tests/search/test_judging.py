"""Thresholds judged on pairs that did not choose them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, f1_score, precision_score, recall_score

from isoscope.search.goals import BestF1, Chosen, Precision
from isoscope.search.judging import brier, judged, precision_at
from isoscope.search.score_maps import probability_map

RNG = np.random.default_rng(2)
LABELS = RNG.random(300) < 0.4
COSINES = np.clip(0.3 + 0.3 * LABELS + 0.2 * RNG.normal(size=300), -1, 1)
FOLDS = [np.arange(k, 300, 3) for k in range(3)]


class Watching:
    """Remembers what thresholds were chosen on."""

    name, words = "watch", "watching"

    def __init__(self) -> None:
        self.seen: list[int] = []

    def choose(self, cosines, labels) -> Chosen:
        del labels
        self.seen.append(len(cosines))
        return Chosen(0.5)


def test_scores_are_those_of_the_other_folds_thresholds() -> None:
    found = judged(BestF1(), COSINES, LABELS, FOLDS)
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
    judged(goal, COSINES, LABELS, FOLDS)
    assert goal.seen == [200, 200, 200, 300]


def test_without_a_threshold_in_some_fold_there_is_no_score() -> None:
    noise = RNG.normal(size=300)
    found = judged(Precision(0.99), noise, LABELS, FOLDS)
    assert found.chosen.threshold is None
    assert found.precision.value is None
    assert "no threshold was found" in found.precision.note


def test_nothing_accepted_has_no_precision() -> None:
    goal = Watching()
    found = judged(goal, COSINES - 2, LABELS, FOLDS)
    assert found.precision.value is None
    assert found.recall.value == 0


def test_brier_scores_probabilities_of_pairs_that_were_not_fitted_on() -> None:
    found, base = brier(COSINES, LABELS, FOLDS)
    said = np.empty(300)
    for held in FOLDS:
        others = np.setdiff1d(np.arange(300), held)
        said[held] = probability_map(COSINES[others], LABELS[others], "none")(COSINES[held])
    assert found.value == pytest.approx(brier_score_loss(LABELS, said))
    assert base == pytest.approx(np.mean(LABELS) * (1 - np.mean(LABELS)))
    assert found.low is not None
    assert found.low < (found.value or 0) < base


def test_precision_falls_with_the_share_of_yeses() -> None:
    # 100 yeses and 900 noes; 80 and 90 accepted.
    assert precision_at(0.1, 0.8, 0.1) == pytest.approx(80 / 170)
    assert precision_at(0.1, 0.0, 0.0) is None
