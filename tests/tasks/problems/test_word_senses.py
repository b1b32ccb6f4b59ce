"""One word in two sentences, against a threshold chosen by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from isoscope.errors import DataError, UsageError
from isoscope.tasks.problem import pair_cosines
from isoscope.tasks.problems.word_senses import THRESHOLDS, WordSenseProblem
from isoscope.tasks.registry import WordInContext

RNG = np.random.default_rng(0)
PAIRS = 80
SAME = RNG.random(PAIRS) < 0.5


def examples() -> list[WordInContext]:
    return [
        WordInContext(
            "bank", "N", f"the bank {k}", f"a bank {k}", 1, 1, (4, 8), (2, 6), bool(SAME[k]),
            "train" if k < 50 else "test",
        )
        for k in range(PAIRS)
    ]  # fmt: skip


def vectors() -> np.ndarray:
    """Two vectors of every pair, at an angle that has something to do with its label."""
    angle = np.where(SAME, 0.5, 1.0) + 0.4 * RNG.standard_normal(PAIRS)
    rows = np.empty((2 * PAIRS, 3))
    rows[::2] = [2.0, 0, 0]
    rows[1::2] = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(PAIRS)])
    return rows


def test_the_threshold_is_chosen_on_other_pairs() -> None:
    problem = WordSenseProblem.of("wic", examples())
    assert len(problem.texts) == 2 * PAIRS
    assert problem.texts[problem.mentions[3].text] == "a bank 1"
    assert (problem.mentions[3].start, problem.mentions[3].end) == (2, 6)
    rows = vectors()
    cosines = np.array(
        [
            one @ other / np.linalg.norm(one) / np.linalg.norm(other)
            for one, other in zip(rows[::2], rows[1::2], strict=True)
        ]
    )
    learn, held = np.arange(50), np.arange(50, PAIRS)
    outputs = problem.outputs(rows, learn, held)
    right = [np.mean((cosines[learn] > t) == SAME[learn]) for t in THRESHOLDS]
    best = THRESHOLDS[int(np.argmax(right))]
    scores = problem.scores(outputs, held, 0.95)
    assert scores["accuracy"].value == pytest.approx(np.mean((cosines[held] > best) == SAME[held]))
    assert scores["accuracy"].note == f"accuracy of cosines above {best:g}"
    assert scores["accuracy"].extra == {"thresholds": [best]}
    assert scores["accuracy/learned"].value == pytest.approx(max(right))
    each = [np.mean((cosines[held] > t) == SAME[held]) for t in THRESHOLDS]
    for threshold, value in zip(THRESHOLDS, each, strict=True):
        assert scores[f"accuracy/{threshold:g}"].value == pytest.approx(value)
    assert scores["accuracy/best"].value == pytest.approx(max(each))
    assert "chosen on the scored pairs" in scores["accuracy/best"].note
    assert scores["cosine/auc"].value == pytest.approx(roc_auc_score(SAME[held], cosines[held]))


def test_strictly_above() -> None:
    problem = WordSenseProblem.of("wic", examples()[:2])
    rows = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    outputs = np.array([[0.5, 0.5, 1.0]])
    score = problem.scores(outputs, np.array([0]), 0.95)["accuracy"]
    assert score.value == float(not SAME[0])
    np.testing.assert_allclose(pair_cosines(rows, problem.first, problem.second), [1, 0])


def test_words_without_a_vector_and_nothing_to_choose_on() -> None:
    problem = WordSenseProblem.of("wic", examples())
    rows = vectors()
    rows[100] = np.nan
    outputs = problem.outputs(rows, np.arange(50), np.arange(50, PAIRS))
    assert np.isnan(outputs[0, 0])
    assert np.isfinite(outputs[1:]).all()
    with pytest.raises(UsageError, match="no pairs to choose a threshold on"):
        problem.outputs(rows, np.arange(0), np.arange(PAIRS))
    with pytest.raises(DataError, match="no pair"):
        WordSenseProblem.of("wic", [])
