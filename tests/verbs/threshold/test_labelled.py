"""Thresholds from labelled pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoscope.corrections.named import named
from isoscope.errors import DataError, UsageError
from isoscope.tasks.datasets.own_pairs import AUC, OwnPairProblem
from isoscope.tasks.vectors import Ground
from isoscope.verbs.threshold.goals import BestF1
from isoscope.verbs.threshold.labelled_pairs import (
    LabelledPairs,
    condition,
    with_labels,
    without_identical,
)

RNG = np.random.default_rng(11)
VECTORS = RNG.normal(size=(160, 6)) + 1


def problem(scores, yes_no: bool = True) -> OwnPairProblem:
    count = len(scores)
    return OwnPairProblem(
        "pairs:mine", (), np.arange(count), 80 + np.arange(count), np.asarray(scores, float),
        np.full(count, "", object), yes_no=yes_no,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (">=4", [False, True, True]),
        ("> 4", [False, False, True]),
        ("<4", [True, False, False]),
        ("<= 4.0", [True, True, False]),
        ("=5", [False, False, True]),
        ("==5", [False, False, True]),
        (">=4e0", [False, True, True]),
    ],
)
def test_conditions(text: str, wanted: list[bool]) -> None:
    assert condition(text)(np.array([3.0, 4.0, 5.0])).tolist() == wanted


@pytest.mark.parametrize("text", ["4", ">=", "high", ">=4 and <5", ">=.", ""])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError, match="--positive is a condition on the score"):
        condition(text)


def test_scores_become_labels() -> None:
    given = problem(np.linspace(0, 5, 40), yes_no=False)
    found = with_labels(given, ">=4")
    assert found.main == AUC
    assert found.human.sum() == (given.human >= 4).sum()
    with pytest.raises(UsageError, match=r"scores from 0 to 5; .*--positive '>=2.5'"):
        with_labels(given, None)
    labelled = problem([0, 1] * 20)
    assert with_labels(labelled, None) is labelled


def test_both_labels_and_enough_pairs_are_needed() -> None:
    with pytest.raises(DataError, match="every pair is a yes"):
        LabelledPairs(Ground(problem([1] * 40), VECTORS, "v", ""), 5, 0, 0.95)
    with pytest.raises(DataError, match="10 pairs; a threshold needs at least 20"):
        LabelledPairs(Ground(problem([1, 0] * 5), VECTORS, "v", ""), 5, 0, 0.95)


def test_pairs_without_a_direction_count_in_no_space() -> None:
    vectors = VECTORS.copy()
    vectors[3] = 0
    labels = (np.arange(80) % 2).astype(float)
    pairs = LabelledPairs(Ground(problem(labels), vectors, "v", ""), 4, 0, 0.95)
    spaces = pairs.cosines(named(["none", "center"]), "shared")
    assert np.isnan(spaces["none"][3])
    assert np.isnan(spaces["center"][3])  # a zero vector stays one
    spaces["center"][5] = np.nan  # as of a row that is the mean of the others
    found = pairs.judge(spaces, (BestF1(),))
    assert [one.auc.n for one in found] == [78, 78]
    row = pairs.rows("v", found)[0]
    assert "2 pairs without a score left out" in row.note


def test_no_pair_is_corrected_by_a_fit_on_itself() -> None:
    """An outlier in one fold moves the mean for all other folds, but not for its own."""
    vectors = VECTORS.copy()
    vectors[0] = 1e6
    labels = (np.arange(80) % 2).astype(float)
    pairs = LabelledPairs(Ground(problem(labels), vectors, "v", ""), 4, 0, 0.95)
    found = pairs.cosines(named(["none", "center"]), "shared")["center"]
    fold = next(held for held in pairs.folds if 0 in held)
    others = np.setdiff1d(np.arange(80), fold)
    assert np.abs(found[others]).min() > 0.99  # all far from a mean that one vector makes
    assert np.abs(found[fold]).min() < 0.5


def test_identical_texts_and_vectors_are_left_out_and_counted() -> None:
    vectors = VECTORS.copy()
    vectors[83], vectors[85] = vectors[3], vectors[5]
    given = problem((np.arange(80) % 2).astype(float))
    found = without_identical(Ground(given, vectors, "v", "")).problem
    assert len(found) == 78
    assert found.left_out == "2 pairs of identical vectors left out (first: pair 4)"
    texts = replace(given, texts=tuple(map(str, range(160))), lines=tuple(range(2, 82)))
    found = without_identical(Ground(texts, vectors, "v", "")).problem
    assert found.left_out == "2 pairs of identical texts or vectors left out (first: line 5)"
    # A query may equal a document: the two have centres of their own.
    asking = Ground(given, vectors, "v", "", query_rows=np.arange(80))
    assert without_identical(asking) is asking


def test_that_all_yeses_were_left_out_is_said() -> None:
    left = replace(problem([0] * 40), left_out="40 pairs of a row with itself left out")
    with pytest.raises(DataError, match=r"every pair is a no \(40 pairs of a row with itself"):
        LabelledPairs(Ground(left, VECTORS, "v", ""), 5, 0, 0.95)
