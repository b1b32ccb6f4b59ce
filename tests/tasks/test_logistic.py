"""Logistic regression against scikit-learn used directly, and the theory of linear changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from isoscope.errors import UsageError
from isoscope.tasks.probes import Lesson, LogisticProbe


def drawn(
    seed: int, classes: int = 3, rows: int = 300, width: int = 8, signal: float = 0.6
) -> Lesson:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, rows)
    centres = rng.normal(0, signal, (classes, width))
    features = centres[codes] + rng.normal(size=(rows, width)) * np.linspace(0.3, 3, width) + 5
    return Lesson(features[:200], codes[:200], features[200:])


def scaled_by_hand(lesson: Lesson) -> tuple[np.ndarray, np.ndarray]:
    mean = lesson.features.mean(axis=0)
    number = np.sqrt(np.mean((lesson.features - mean) ** 2))
    return (lesson.features - mean) / number, (lesson.asked - mean) / number


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_one_strength_is_scikit_learns(classes: int, strength: float) -> None:
    lesson = drawn(0, classes)
    learned, asked = scaled_by_hand(lesson)
    expected = (
        LogisticRegression(C=strength, tol=1e-9, max_iter=5000)
        .fit(learned, lesson.codes)
        .predict(asked)
    )
    found = LogisticProbe((strength,)).predict(lesson)
    np.testing.assert_array_equal(found, expected)
    assert len(set(expected)) == classes


def test_the_strength_is_the_one_that_fits_held_back_rows_best() -> None:
    chosen = set()
    for seed, signal in enumerate((0.6, 0.02, 0.6, 0.1)):
        lesson = drawn(seed, signal=signal)
        probe = LogisticProbe((1e-4, 0.01, 1.0, 100.0))
        back = lesson.held_back(probe.seed)
        mean = lesson.features[~back].mean(axis=0)
        number = np.sqrt(np.mean((lesson.features[~back] - mean) ** 2))
        fits = []
        for strength in probe.strengths:
            model = LogisticRegression(C=strength, tol=1e-9, max_iter=5000)
            model.fit((lesson.features[~back] - mean) / number, lesson.codes[~back])
            logits = model.decision_function((lesson.features[back] - mean) / number)
            true = logits[np.arange(back.sum()), lesson.codes[back]]
            fits.append(np.mean(true - logsumexp(logits, axis=1)))
        expected = probe.strengths[int(np.argmax(fits))]
        assert expected == probe.chosen(lesson, back).C
        chosen.add(expected)
    assert len(chosen) > 1


def test_a_class_in_a_narrow_direction_is_found_behind_wide_ones() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 6)) * [5, 1, 1, 1, 1, 0.05]
    codes = (features[:, 5] > 0).astype(np.intp)
    found = LogisticProbe().predict(Lesson(features[:200], codes[:200], features[200:]))
    assert np.mean(found == codes[200:]) > 0.95


def test_rows_given_to_choose_on_are_not_fitted_on() -> None:
    lesson = drawn(1)
    choosing = np.arange(200) >= 150
    probe = LogisticProbe()
    found = probe.predict(Lesson(lesson.features, lesson.codes, lesson.asked, choosing))
    strength = probe.chosen(lesson, choosing).C
    alone = Lesson(lesson.features[:150], lesson.codes[:150], lesson.asked)
    np.testing.assert_array_equal(found, LogisticProbe((strength,)).predict(alone))
    assert (found != LogisticProbe((strength,)).predict(lesson)).any()


def test_asked_rows_do_not_change_what_is_learned() -> None:
    lesson = drawn(2)
    alone = Lesson(lesson.features, lesson.codes, lesson.asked[:10])
    np.testing.assert_array_equal(
        LogisticProbe().predict(alone), LogisticProbe().predict(lesson)[:10]
    )


def test_a_linear_change_matters_only_to_a_penalty() -> None:
    lesson = drawn(3, classes=2)
    change = np.random.default_rng(0).normal(size=(8, 8)) * np.logspace(-1, 1, 8)
    moved = Lesson(lesson.features @ change + 3, lesson.codes, lesson.asked @ change + 3)
    free, bound = LogisticProbe((1e7,)), LogisticProbe((1e-3,))
    np.testing.assert_array_equal(free.predict(moved), free.predict(lesson))
    assert (bound.predict(moved) != bound.predict(lesson)).any()


def test_centring_and_length_never_matter() -> None:
    lesson = drawn(4)
    moved = Lesson(lesson.features * 7 - 3, lesson.codes, lesson.asked * 7 - 3)
    np.testing.assert_array_equal(LogisticProbe().predict(moved), LogisticProbe().predict(lesson))


def test_few_rows_and_absent_classes_do() -> None:
    features = np.array([[0.0], [1.0], [10.0], [11.0]])
    lesson = Lesson(features, np.array([1, 1, 5, 5]), np.array([[-3.0], [20.0]]))
    np.testing.assert_array_equal(LogisticProbe().predict(lesson), [1, 5])


def test_bad_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="positive numbers"):
        LogisticProbe((1.0, 0.0))
    with pytest.raises(UsageError, match="no scaling"):
        LogisticProbe(scaling="x")  # type: ignore[arg-type]
