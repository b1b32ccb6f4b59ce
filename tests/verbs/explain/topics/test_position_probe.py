"""The probe of positions on made vectors, and its figures against loops and simulations."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from isoscope.compute.stats.estimates import wilson
from isoscope.errors import DataError, UsageError
from isoscope.verbs.explain.topics import position_probe
from isoscope.verbs.explain.topics.position_probe import (
    CLASSES,
    PositionProbe,
    PositionTask,
    different_texts,
    mean_contributions,
    position_task,
    probe_positions,
    rank_of,
    text_accuracy,
    trained,
)

torch = pytest.importorskip("torch")

WIDTH = 16


def made_task(seed: int = 0, texts: int = 200, words: int = 40) -> PositionTask:
    """Texts of 3 to 8 random tokens, of which some stand at the beginning more often."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 9, texts)
    positions = np.concatenate([np.arange(length) for length in lengths])
    ids = (rng.integers(0, words, len(positions)) + positions) % words
    return position_task(positions, np.repeat(np.arange(texts), lengths), ids, seed)


def on_a_circle(task: PositionTask, dimensions: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Noise, and in two dimensions an angle for every position."""
    vectors = np.random.default_rng(seed + 1).normal(size=(len(task.positions), WIDTH))
    angles = 2 * np.pi * task.positions / 8
    vectors[:, dimensions] = 8 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return vectors.astype(np.float32)


def noisy(vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Hide positions a little, and move all vectors away from zero."""
    hidden = vectors + rng.normal(0, 3, vectors.shape) + rng.normal(0, 2, vectors.shape[1])
    return np.asarray(hidden, np.float32)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_positions_are_read_and_their_neurons_rank_first(seed: int) -> None:
    task = made_task(seed)
    probe = probe_positions(on_a_circle(task, (3, 11), seed), task, seed)
    assert probe.accuracy.value > 0.97
    assert {rank_of(k, probe.contributions) for k in (3, 11)} == {1, 2}
    assert {rank_of(k, probe.predicted_contributions) for k in (3, 11)} == {1, 2}
    assert {rank_of(k, probe.contributions_about_mean) for k in (3, 11)} == {1, 2}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_vectors_without_positions_tell_none(seed: int) -> None:
    """Noise, and one vector for each token."""
    task = made_task(seed)
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(len(task.positions), WIDTH)).astype(np.float32)
    by_token = rng.normal(size=(40, WIDTH)).astype(np.float32)[task.ids]
    highest = max(task.majority_baseline, task.token_baseline)
    for vectors in (noise, by_token):
        accuracy = probe_positions(vectors, task, seed).accuracy
        assert accuracy.low is not None
        assert accuracy.low < highest
        assert accuracy.value < highest + 0.05


def test_a_constant_neuron_contributes_but_not_about_its_mean() -> None:
    """It stands in for the bias: positions are no circle around zero but off to one side."""
    task = made_task()
    vectors = on_a_circle(task, (3, 11))
    vectors[:, 5] = 30
    probe = probe_positions(vectors, task)
    assert rank_of(5, probe.contributions) == 1
    assert rank_of(5, probe.contributions_about_mean) == WIDTH
    assert {rank_of(k, probe.contributions_about_mean) for k in (3, 11)} == {1, 2}


def test_small_texts_get_more_epochs() -> None:
    rows = np.arange(20_000)
    large = position_task(rows % 10, rows // 10, rows)
    assert large.epochs == 10
    assert ", 10 epochs," in large.protocol
    small = position_task(rows[:1_000] % 10, rows[:1_000] // 10, rows[:1_000])
    assert small.epochs == 143  # of seven batches each: 1,001 steps
    assert ", 143 epochs," in small.protocol


def brute_force(vectors: np.ndarray, task: PositionTask, seed: int) -> dict[str, Any]:
    """The same probe by a gradient written out, in double precision, and Adam by its formulas."""
    train = ~task.held_out
    norms = np.linalg.norm(vectors[train].astype(float), axis=1)
    scaled = vectors.astype(float) / np.sqrt(np.mean(norms**2))
    x, y = scaled[train], task.positions[train]
    weights, first, second = (np.zeros((vectors.shape[1], CLASSES)) for _ in range(3))
    order = torch.Generator().manual_seed(seed)
    step = 0
    for _ in range(task.epochs):
        shuffled = torch.randperm(len(x), generator=order).numpy()
        for start in range(0, len(x), 128):
            batch = shuffled[start : start + 128]
            scores = x[batch] @ weights
            errors = np.exp(scores - scores.max(axis=1, keepdims=True))
            errors /= errors.sum(axis=1, keepdims=True)
            errors[np.arange(len(batch)), y[batch]] -= 1
            gradient = x[batch].T @ errors / len(batch)
            step += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            rate = 0.03 / (1 - 0.9**step)
            weights -= rate * first / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    held, gold = scaled[task.held_out], task.positions[task.held_out]
    said = (held @ weights).argmax(axis=1)
    mean = held.mean(axis=0)
    gold_parts = np.zeros(vectors.shape[1])
    said_parts, centred_parts = gold_parts.copy(), gold_parts.copy()
    for vector, true, guess in zip(held, gold, said, strict=True):
        for i in range(len(vector)):
            gold_parts[i] += abs(weights[i, true] * vector[i]) / len(held)
            said_parts[i] += abs(weights[i, guess] * vector[i]) / len(held)
            centred_parts[i] += abs(weights[i, true] * (vector[i] - mean[i])) / len(held)
    return {
        "accuracy": float(np.mean(said == gold)),
        "gold": gold_parts, "predicted": said_parts, "about mean": centred_parts,
    }  # fmt: skip


def test_against_adam_written_out() -> None:
    task = made_task()
    rng = np.random.default_rng(4)
    vectors = noisy(on_a_circle(task, (3, 11)), rng)
    expected = brute_force(vectors, task, 7)
    found = probe_positions(vectors, task, 7)
    assert 0.2 < expected["accuracy"] < 1
    # Single precision may turn a token or two between positions that score the same.
    assert found.accuracy.value == pytest.approx(expected["accuracy"], abs=0.01)
    assert found.contributions == pytest.approx(expected["gold"], rel=1e-3)
    assert found.predicted_contributions == pytest.approx(expected["predicted"], rel=1e-2)
    assert found.contributions_about_mean == pytest.approx(expected["about mean"], rel=1e-3)


def test_contributions_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30, 5)).astype(np.float32)
    weights = rng.normal(size=(5, CLASSES)).astype(np.float32)
    classes = rng.integers(0, 4, 30)
    expected = [
        np.mean([abs(weights[i, y] * v[i]) for v, y in zip(vectors, classes, strict=True)])
        for i in range(5)
    ]
    found = mean_contributions(*map(torch.from_numpy, (vectors, weights, classes)))
    assert found == pytest.approx(expected, rel=1e-6)


def test_ranks_count_from_the_largest() -> None:
    values = np.array([0.5, 2.0, 0.1, 2.0])
    assert [rank_of(k, values) for k in range(4)] == [3, 1, 4, 1]


def test_scale_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position_probe, "FEWEST_STEPS", 200)
    task = made_task()
    rng = np.random.default_rng(4)
    vectors = noisy(on_a_circle(task, (3, 11)), rng)
    plain = probe_positions(vectors, task)
    assert plain.accuracy.value < 1
    for factor in (1e3, 1e-25, 1e25):  # whose squares single precision does not hold
        scaled = probe_positions(vectors * np.float32(factor), task)
        assert scaled.accuracy.value == pytest.approx(plain.accuracy.value, abs=0.01)
        assert scaled.contributions == pytest.approx(plain.contributions, rel=1e-3)


def test_the_same_seed_gives_the_same_figures() -> None:
    task = made_task()
    vectors = on_a_circle(task, (3, 11))
    state = torch.random.get_rng_state()

    def figures(probe: PositionProbe) -> list[float]:
        return [probe.accuracy.value or 0.0, *probe.contributions]

    first = figures(probe_positions(vectors, task, 5))
    with torch.no_grad():
        assert figures(probe_positions(vectors, task, 5)) == first
    assert figures(probe_positions(vectors, task, 6)) != first
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_probe_has_no_bias() -> None:
    """A vector of zeros scores the same for all positions."""
    task = made_task()
    vectors = torch.from_numpy(on_a_circle(task, (3, 11)))
    weights = trained(vectors, torch.from_numpy(task.positions), 10, 0)
    assert weights.shape == (WIDTH, CLASSES)
    zeros = np.zeros((len(task.kept), WIDTH), np.float32)
    probe = probe_positions(zeros, task)
    assert probe.accuracy.value == np.mean(task.positions[task.held_out] == 0)
    assert not probe.contributions.any()


def test_baselines_against_counting() -> None:
    for seed in range(5):
        task = made_task(seed, texts=60, words=120)
        train, held = ~task.held_out, task.held_out
        counts = Counter(task.positions[train].tolist())
        most = min(counts, key=lambda k: (-counts[k], k))
        assert task.majority == most
        gold = task.positions[held].tolist()
        assert task.majority_baseline == pytest.approx(np.mean([y == most for y in gold]))
        right = unseen = 0
        for token, true in zip(task.ids[held].tolist(), gold, strict=True):
            seen = Counter(task.positions[train & (task.ids == token)].tolist())
            unseen += not seen
            guess = min(seen, key=lambda k: (-seen[k], k)) if seen else most
            right += guess == true
        assert unseen  # the majority was needed
        assert task.token_baseline == pytest.approx(right / len(gold))


def test_the_majority_is_that_of_training() -> None:
    positions = np.repeat([1, 0, 0, 1], [6, 4, 5, 1])
    held = np.arange(16) >= 10
    task = position_task(positions, np.arange(16), np.arange(16), held_out=held)
    assert task.majority == 1  # 0 is commoner over all
    assert task.majority_baseline == task.token_baseline == 1 / 6


def test_whole_texts_are_held_out() -> None:
    task = made_task()
    held = set(task.texts[task.held_out].tolist())
    assert not held & set(task.texts[~task.held_out].tolist())
    assert len(held) == 40
    assert made_task(1).held_out.tolist() != task.held_out.tolist()


def test_copies_of_a_text_stay_together() -> None:
    sentences = np.array([4, 4, 1, 1, 2, 2, 3, 9, 9])
    ids = np.array([7, 8, 8, 7, 7, 8, 7, 7, 8])
    numbers = different_texts(sentences, ids)
    assert numbers[0] == numbers[1] == numbers[4] == numbers[5] == numbers[7] == numbers[8]
    assert len(set(numbers.tolist())) == 3
    rows = np.arange(400)
    task = position_task(rows % 4, rows // 4, (rows // 4 % 25) * 4 + rows % 4)
    assert len(np.unique(task.texts)) == 25
    # A position-free model would give copies the same vectors: no copy is on the other side.
    assert not set(task.ids[task.held_out]) & set(task.ids[~task.held_out])


def test_late_positions_are_left_out() -> None:
    positions = np.tile(np.arange(310), 20)
    sentences = np.repeat(np.arange(20), 310)
    ids = np.random.default_rng(0).integers(0, 50, len(positions))
    task = position_task(positions, sentences, ids)
    assert task.left_out == 200
    assert task.positions.max() == CLASSES - 1
    assert task.tokens == 4 * CLASSES
    assert "200 tokens beyond position 299 left out" in task.protocol
    assert "trained on 16 different texts and scored on 1,200 tokens of 4 others" in task.protocol
    vectors = np.zeros((len(positions), 2), np.float32)
    vectors[positions >= CLASSES] = np.inf  # they are never looked at
    vectors[:, 0] = np.where(positions < CLASSES, 1, np.inf)
    assert probe_positions(vectors, task).accuracy.value == pytest.approx(1 / CLASSES)
    assert "left out" not in made_task().protocol


def test_given_masks() -> None:
    task = made_task()
    held = task.texts % 2 == 0
    given = position_task(task.positions, task.texts, task.ids, held_out=held)
    assert given.held_out.tolist() == held.tolist()
    with pytest.raises(UsageError, match="held_out is of"):
        position_task(task.positions, task.texts, task.ids, held_out=held[1:])
    with pytest.raises(DataError, match="no token is left to train on"):
        position_task(task.positions, task.texts, task.ids, held_out=np.ones_like(held))


def test_what_cannot_be_probed() -> None:
    rows = np.arange(38)
    with pytest.raises(DataError, match="19 different texts, and fewer than 20"):
        position_task(rows % 2, rows // 2, rows)
    with pytest.raises(DataError, match="all tokens are at position 1"):
        position_task(np.ones(38, np.int64), rows, rows)
    task = made_task()
    with pytest.raises(UsageError, match="5 vectors, and"):
        probe_positions(np.zeros((5, 3), np.float32), task)
    bad = on_a_circle(task, (3, 11))
    bad[np.flatnonzero(~task.held_out)[0], 2] = np.nan
    with pytest.raises(DataError, match="NaN or infinite"):
        probe_positions(bad, task)


def test_interval_by_leaving_texts_out() -> None:
    """To first order the jackknife over texts gives the same error."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 20, 400)
    texts = np.repeat(np.arange(400), lengths)
    right = rng.random(len(texts)) < np.repeat(rng.beta(2, 2, 400), lengths)
    score = text_accuracy(right, texts)
    without = [right[texts != k].mean() for k in range(400)]
    error = np.sqrt(399 / 400 * np.sum((np.array(without) - np.mean(without)) ** 2))
    odds = [np.log(p / (1 - p)) for p in (score.low, score.value, score.high)]
    assert odds[1] - odds[0] == pytest.approx(odds[2] - odds[1])
    width = error / (score.value * (1 - score.value))
    assert (odds[2] - odds[0]) / 2 == pytest.approx(1.966 * width, rel=0.01)
    assert score.n == 400


def test_intervals_hold_their_level_where_tokens_go_together() -> None:
    rng = np.random.default_rng(1)
    held = plain = 0
    for _ in range(400):
        lengths = rng.integers(2, 20, 100)
        texts = np.repeat(np.arange(100), lengths)
        # Beta(4, 1) has the mean 0.8, whatever the length of a text.
        right = rng.random(len(texts)) < np.repeat(rng.beta(4, 1, 100), lengths)
        score = text_accuracy(right, texts)
        held += score.low < 0.8 < score.high
        low, high = wilson(float(right.mean()), len(right), 0.95)
        plain += low < 0.8 < high
    # 380 of 400 are expected, give or take 4.4; tokens taken one by one would cover less.
    assert 366 <= held <= 394
    assert plain < 350


def test_intervals_where_texts_do_not_differ() -> None:
    texts = np.repeat(np.arange(30), 4)
    score = text_accuracy(np.ones(120, bool), texts)
    assert (score.value, score.high) == (1, 1)
    assert score.low == pytest.approx(wilson(1.0, 30, 0.95)[0])
    same = text_accuracy(np.tile([True, True, True, False], 30), texts)
    assert (same.low, same.high) == pytest.approx(wilson(0.75, 30, 0.95))
    few = text_accuracy(np.array([True, False, True]), np.array([0, 1, 2]))
    assert few.low is None
    assert "fewer than 4" in few.note
