"""Classes read off vectors: against scikit-learn, planted classes, and texts without a vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from isoscope.errors import DataError
from isoscope.tasks.probes import Lesson, LogisticProbe, MlpProbe
from isoscope.tasks.problems.classification import ClassProblem
from isoscope.tasks.scores import problem_rows

RNG = np.random.default_rng(0)
TEXTS = 120
VECTORS = RNG.normal(size=(TEXTS, 6)) * [5, 1, 1, 1, 1, 0.2] + [9, 0, 0, 0, 0, 0]
LEARN, HELD = np.arange(80), np.arange(80, TEXTS)


def problem(codes: np.ndarray, second: np.ndarray | None = None, classes: int = 2) -> ClassProblem:
    return ClassProblem(
        "toy",
        "texts" if second is None else "pairs",
        tuple(f"text {k}" for k in range(TEXTS)),
        tuple(str(k) for k in range(classes)),
        np.arange(TEXTS),
        second,
        codes,
        np.full(TEXTS, "all", object),
    )


NOISY = (VECTORS[:, 1] + RNG.normal(size=TEXTS) > 0).astype(np.intp)
THREE = np.digitize(VECTORS[:, 2] + 0.5 * RNG.normal(size=TEXTS), [-0.6, 0.6])


def test_a_planted_direction_is_found() -> None:
    planted = problem((VECTORS[:, 5] > 0).astype(np.intp))
    found = planted.outputs(VECTORS, LEARN, HELD)
    scores = planted.scores(found, HELD, 0.95)
    assert scores[planted.main].value is not None
    assert scores[planted.main].value > 0.95


def test_a_network_finds_a_planted_direction_too() -> None:
    pytest.importorskip("torch")
    planted = problem((VECTORS[:, 5] > 0).astype(np.intp))
    found = planted.outputs(VECTORS, LEARN, HELD)
    fast = MlpProbe(rate=0.01, epochs=30, scaling="each")
    network = replace(planted, probe=fast)
    assert np.mean(network.outputs(VECTORS, LEARN, HELD) == found) > 0.9


def test_noise_is_not() -> None:
    noise = problem(RNG.integers(0, 2, TEXTS))
    found = noise.outputs(VECTORS, LEARN, HELD)
    low = noise.scores(found, HELD, 0.999)["logistic/accuracy"].low
    assert low is not None
    assert low < 0.5


def test_outputs_are_scikit_learns() -> None:
    mine = replace(problem(THREE, classes=3), probe=LogisticProbe((1.0,)))
    mean = VECTORS[LEARN].mean(axis=0)
    scaled = (VECTORS - mean) / np.sqrt(np.mean((VECTORS[LEARN] - mean) ** 2))
    model = LogisticRegression(tol=1e-8).fit(scaled[LEARN], THREE[LEARN])
    expected = model.predict(scaled[HELD])
    np.testing.assert_array_equal(mine.outputs(VECTORS, LEARN, HELD), expected)
    assert set(expected) == {0, 1, 2}


@pytest.mark.parametrize(("codes", "classes"), [(NOISY, 2), (THREE, 3)])
def test_scores_are_scikit_learns(codes: np.ndarray, classes: int) -> None:
    mine = problem(codes, classes=classes)
    found = mine.outputs(VECTORS, LEARN, HELD)
    scores = {name: score.value for name, score in mine.scores(found, HELD, 0.95).items()}
    average = "binary" if classes == 2 else "macro"
    assert scores == pytest.approx(
        {
            "logistic/accuracy": metrics.accuracy_score(codes[HELD], found),
            "logistic/f1": metrics.f1_score(codes[HELD], found, average=average),
            "logistic/matthews": metrics.matthews_corrcoef(codes[HELD], found),
        }
    )


def test_f1_is_about_the_class_that_releases_call_true() -> None:
    mine = problem(NOISY)
    assert mine.positive == 1
    assert replace(mine, labels=("entailment", "not_entailment")).positive == 0
    assert replace(mine, labels=("true", "false")).positive == 0
    assert replace(mine, labels=("F", "T")).positive == 1
    assert problem(THREE, classes=3).positive is None


def test_what_guessing_gives_is_said() -> None:
    mine = problem(NOISY)
    score = mine.scores(np.zeros(40), HELD, 0.95)["logistic/accuracy"]
    share = max(np.mean(NOISY[HELD]), np.mean(1 - NOISY[HELD]))
    assert f"{share:.4f}" in score.note


def test_pairs_take_both_vectors() -> None:
    second = RNG.permutation(TEXTS)
    agree = (VECTORS[:, 1] * VECTORS[second, 1] > 0).astype(np.intp)
    pairs = problem(agree, second)
    learned = np.arange(60)
    found = pairs.outputs(VECTORS[:, 1:2], learned, HELD)
    assert np.mean(found == agree[HELD]) > 0.85  # of a product no single vector knows
    np.testing.assert_array_equal(
        pairs.rows_of(np.array([3, 5])), np.unique([3, 5, second[3], second[5]])
    )


def test_texts_without_a_vector_are_neither_learned_from_nor_classified() -> None:
    mine = problem(NOISY)
    absent = VECTORS.copy()
    absent[[2, 90]] = np.nan
    found = mine.outputs(absent, LEARN, HELD)
    assert np.isnan(found[10])
    others = np.delete(HELD, 10)
    expected = mine.outputs(VECTORS, np.delete(LEARN, 2), others)
    np.testing.assert_array_equal(np.delete(found, 10), expected)
    (row, *_) = problem_rows(("model", "last"), mine, {"none": found}, HELD, "how", 0.95)
    assert (row.measure, row.n) == ("toy/logistic/accuracy", 39)
    assert "1 text without a score left out" in row.note
    pairs = problem(NOISY, np.roll(np.arange(TEXTS), 1))
    np.testing.assert_array_equal(
        np.flatnonzero(np.isnan(pairs.outputs(absent, LEARN, HELD))), [10, 11]
    )
    nothing = mine.outputs(np.where(np.arange(TEXTS)[:, None] < 80, VECTORS, np.nan), LEARN, HELD)
    assert np.isnan(nothing).all()


def test_held_labels_are_never_seen() -> None:
    turned = NOISY.copy()
    turned[HELD] = 1 - turned[HELD]
    np.testing.assert_array_equal(
        problem(turned).outputs(VECTORS, LEARN, HELD), problem(NOISY).outputs(VECTORS, LEARN, HELD)
    )


def test_one_class_or_none_is_refused() -> None:
    mine = problem(np.where(np.arange(TEXTS) < 80, 1, 0))
    with pytest.raises(DataError, match="toy: all 80 training texts are of the class '1'"):
        mine.outputs(VECTORS, LEARN, HELD)
    with pytest.raises(DataError, match="no training texts with vectors"):
        mine.outputs(VECTORS, LEARN[:0], HELD)


def test_parts_to_choose_on_are_handed_to_the_probe() -> None:
    seen: list[Lesson] = []

    class Watching(LogisticProbe):
        def predict(self, lesson: Lesson) -> np.ndarray:
            seen.append(lesson)
            return super().predict(lesson)

    parts = np.where(np.arange(TEXTS) < 60, "train", "dev").astype(object)
    replace(problem(NOISY), parts=parts, probe=Watching()).outputs(VECTORS, LEARN, HELD)
    assert seen[0].choosing is not None
    np.testing.assert_array_equal(np.flatnonzero(seen[0].choosing), np.arange(60, 80))


def test_half_precision_is_learned_from_in_single() -> None:
    pairs = problem(NOISY, np.roll(np.arange(TEXTS), 1))
    assert pairs.features(VECTORS.astype(np.float16), HELD).dtype == np.float32
