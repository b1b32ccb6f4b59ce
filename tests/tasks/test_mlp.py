"""The small network against one written out by hand, and what its seed decides."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.tasks.probes import Lesson, MlpProbe

torch = pytest.importorskip("torch")


def drawn(rows: int = 150, asked: int = 40) -> Lesson:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, rows + asked)
    features = rng.normal(size=(rows + asked, 5)) + 0.8 * codes[:, None]
    return Lesson(features[:rows], codes[:rows], features[rows:])


FAST = MlpProbe(hidden=7, rate=0.01, batch=16, epochs=4, seed=3)


def by_hand(probe: MlpProbe, lesson: Lesson) -> tuple[list[float], list[np.ndarray]]:
    """Backpropagation and Adam in numpy, from the same first weights and order of rows."""
    torch.manual_seed(probe.seed)
    first = torch.nn.Linear(5, probe.hidden)
    second = torch.nn.Linear(probe.hidden, 2)
    weights = [
        tensor.detach().double().numpy()
        for tensor in (first.weight, first.bias, second.weight, second.bias)
    ]
    order = torch.Generator().manual_seed(probe.seed)
    means, squares = ([np.zeros_like(w) for w in weights] for _ in range(2))
    losses, answers, step = [], [], 0
    for _ in range(probe.epochs):
        total = 0.0
        rows = torch.randperm(len(lesson.features), generator=order).numpy()
        for begin in range(0, len(rows), probe.batch):
            chosen = rows[begin : begin + probe.batch]
            inputs, codes = lesson.features[chosen], lesson.codes[chosen]
            a, b, c, d = weights
            hidden = np.maximum(inputs @ a.T + b, 0)
            logits = hidden @ c.T + d
            shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            total -= np.log(shares[np.arange(len(codes)), codes]).sum()
            error = (shares - np.eye(2)[codes]) / len(codes)
            below = (error @ c) * (hidden > 0)
            gradients = [below.T @ inputs, below.sum(0), error.T @ hidden, error.sum(0)]
            step += 1
            for k, gradient in enumerate(gradients):
                means[k] = 0.9 * means[k] + 0.1 * gradient
                squares[k] = 0.999 * squares[k] + 0.001 * gradient**2
                size = np.sqrt(squares[k] / (1 - 0.999**step)) + 1e-8
                weights[k] = weights[k] - probe.rate * means[k] / (1 - 0.9**step) / size
        losses.append(total / len(rows))
        a, b, c, d = weights
        answers.append(np.argmax(np.maximum(lesson.asked @ a.T + b, 0) @ c.T + d, axis=1))
    return losses, answers


def test_every_epoch_is_that_of_a_network_by_hand() -> None:
    lesson = drawn()
    losses, answers = by_hand(FAST, lesson)
    found = FAST.epochs_of(lesson)
    np.testing.assert_allclose([loss for loss, _ in found], losses, rtol=1e-4)
    np.testing.assert_array_equal([codes for _, codes in found], answers)
    assert losses[-1] < losses[0]


def test_the_best_epoch_on_held_back_rows_answers() -> None:
    lesson = drawn()
    back = lesson.held_back(FAST.seed)
    rest = Lesson(lesson.features[~back], lesson.codes[~back], lesson.features[back])
    right = [np.mean(codes == lesson.codes[back]) for _, codes in FAST.epochs_of(rest)]
    asked = FAST.epochs_of(replace(rest, asked=lesson.asked))
    found = FAST.predict(lesson)
    np.testing.assert_array_equal(found, asked[int(np.argmax(right))][1])


def test_the_seed_decides_and_the_callers_random_numbers_stay() -> None:
    lesson = drawn()
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    first = FAST.epochs_of(lesson)
    torch.testing.assert_close(torch.rand(3), expected)
    again = FAST.epochs_of(lesson)
    other = replace(FAST, seed=4).epochs_of(lesson)
    assert [loss for loss, _ in first] == [loss for loss, _ in again]
    assert [loss for loss, _ in first] != [loss for loss, _ in other]


def test_classes_that_do_not_count_from_0_and_few_rows() -> None:
    features = np.array([[0.0], [1.0], [10.0], [11.0]])
    lesson = Lesson(features, np.array([1, 1, 5, 5]), np.array([[-3.0], [20.0]]))
    probe = MlpProbe(rate=0.05, epochs=60, scaling="block")
    assert [set(codes) <= {1, 5} for _, codes in probe.epochs_of(lesson)] == [True] * 60
    np.testing.assert_array_equal(probe.epochs_of(lesson)[-1][1], [1, 5])


def test_the_papers_settings_are_the_default() -> None:
    text = str(MlpProbe())
    for words in ("100 hidden units (ReLU)", "Adam at 3e-05", "batches of 32", "10 epochs"):
        assert words in text


def test_bad_settings_and_a_missing_torch_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        MlpProbe(epochs=0)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"needs torch.*pip install 'isoscope\[models\]'"):
        MlpProbe().predict(Lesson(np.eye(4), np.array([0, 1, 0, 1]), np.eye(4)))
