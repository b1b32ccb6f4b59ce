"""Whether a model tells positions, on tiny models with and without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import HIDDEN, POSITIONS, WORDS, save_tiny_model

from isoscope.compute.stats.estimates import Score
from isoscope.data.texts import open_texts
from isoscope.errors import MissingError
from isoscope.models.model import open_model
from isoscope.models.token_table import TokenSample
from isoscope.verbs.explain.names import ACCURACY, BY_TOKEN, MAJORITY, NO_OUTLIER
from isoscope.verbs.explain.topics import position_probe
from isoscope.verbs.explain.topics.base import Explanation, Question
from isoscope.verbs.explain.topics.position import (
    POSITION,
    often_extreme,
    ordinal,
    outlier_words,
    position_tables,
    rank_row,
    sentence_of,
    spans,
    telling,
)
from isoscope.verbs.explain.topics.position_probe import (
    PositionProbe,
    position_task,
    probe_positions,
    rank_of,
)

PLANTED = (5, 20)
"""Dimensions that hold the positions of a planted model."""

STEPS = 300
"""Enough for tiny models to show what they know."""


@pytest.fixture(autouse=True)
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position_probe, "FEWEST_STEPS", STEPS)


def made_texts(seed: int = 0, number: int = 240) -> list[str]:
    """Texts of random words in random order."""
    rng = np.random.default_rng(seed)
    words = [word for word in WORDS.split() if not word.startswith("##")]
    return [" ".join(rng.choice(words, rng.integers(3, 13))) for _ in range(number)]


def circle() -> np.ndarray:
    """Positions as angles in two dimensions, and nothing in the others."""
    table = np.zeros((POSITIONS, HIDDEN), np.float32)
    angles = 2 * np.pi * np.arange(POSITIONS) / 14
    table[:, PLANTED] = 0.4 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return table


def with_positions(folder: Path, change: Callable[[Any], Any], seed: int = 0) -> Path:
    """Save a tiny BERT whose positional embeddings are changed."""
    import torch
    import transformers

    save_tiny_model("bert", folder, seed)
    network = transformers.AutoModelForMaskedLM.from_pretrained(folder)
    with torch.no_grad():
        weight = network.bert.embeddings.position_embeddings.weight
        weight.copy_(torch.as_tensor(change(weight)))
    network.save_pretrained(folder)
    return folder


def answer(folder: Path, texts: list[str], seed: int = 0, **options: Any) -> Explanation:
    question = Question(open_model(str(folder)), texts=open_texts(texts), seed=seed, **options)
    return POSITION.explain(question)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_positions(tmp_path_factory.mktemp("planted") / "bert", lambda _: circle())


@pytest.fixture(scope="module")
def found(planted: Path) -> Explanation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(position_probe, "FEWEST_STEPS", STEPS)
        return answer(planted, made_texts())


def values(found: Explanation, measure: str) -> dict[str, float | None]:
    return {row.part: row.value for row in found.rows if row.measure == measure}


def test_planted_positions_are_found(found: Explanation) -> None:
    assert found.found
    assert "Positions can be read" in found.sentence
    accuracies = values(found, ACCURACY)
    assert list(accuracies) == ["embedding", "block 1", "block 2", "block 3"]
    assert min(accuracies.values()) > 0.8
    first = [row["dimension"] for row in found.tables[0].rows if row["layer"] == "embedding"]
    assert len(first) == 10
    assert set(first[:2]) == set(PLANTED)
    for k in PLANTED:
        ranks = values(found, f"contribution_rank/{k}")
        assert {ranks["embedding"], ranks["block 1"]} <= {1, 2}
    best = max(accuracies, key=lambda layer: accuracies[layer])
    assert f"(accuracy {accuracies[best]:.2f} in {best}" in found.sentence
    assert f"{accuracies['block 3']:.2f} in block 3; majority 0.1" in found.sentence
    assert "outlier dimension" in found.sentence
    assert f"ranks 1st of {HIDDEN}" in found.sentence


@pytest.mark.parametrize("seed", [1, 2])
def test_enlarged_embeddings_are_found(tmp_path: Path, seed: int) -> None:
    folder = with_positions(tmp_path / "bert", lambda weight: weight * 10, seed)
    found = answer(folder, made_texts(seed), seed)
    assert found.found
    assert values(found, ACCURACY)["embedding"] > 0.9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_without_positions_nothing_is_found(tmp_path: Path, seed: int) -> None:
    folder = with_positions(tmp_path / "bert", lambda weight: weight * 0, seed)
    found = answer(folder, made_texts(seed), seed)
    assert not found.found
    accuracies = values(found, ACCURACY)
    assert f"the best accuracy is {max(accuracies.values()):.2f} in" in found.sentence
    assert "Positions cannot be read from any layer" in found.sentence
    assert "majority 0.1" in found.sentence
    assert "outlier" not in found.sentence  # its rank would say nothing


def test_rows_are_those_of_the_probes(planted: Path, found: Explanation) -> None:
    question = Question(open_model(str(planted)), texts=open_texts(made_texts()))
    sample = question.sample
    task = position_task(sample.positions, sample.sentences, sample.ids, 0)
    probe = probe_positions(sample.layers["block 2"], task, 0)
    row = next(row for row in found.rows if (row.measure, row.part) == (ACCURACY, "block 2"))
    assert (row.value, row.low, row.high) == (
        probe.accuracy.value, probe.accuracy.low, probe.accuracy.high,
    )  # fmt: skip
    assert row.n == task.tokens
    assert row.extra["texts"] == len(np.unique(task.texts[task.held_out]))
    assert sample.protocol in row.protocol
    assert "Adam at 0.03" in row.protocol
    assert set(values(found, MAJORITY).values()) == {task.majority_baseline}
    assert set(values(found, BY_TOKEN).values()) == {task.token_baseline}
    behind = np.concatenate([sample.layers[f"block {k}"] for k in (1, 2, 3)])
    expected = [
        k
        for k in range(HIDDEN)
        if max((behind.argmin(1) == k).mean(), (behind.argmax(1) == k).mean()) >= 0.1
    ]
    ranked = [row for row in found.rows if row.measure.startswith("contribution_rank/")]
    assert expected
    assert [row.extra["dimension"] for row in ranked if row.part == "block 2"] == expected
    for row in ranked:
        if row.part == "block 2":
            k = row.extra["dimension"]
            assert row.value == rank_of(k, probe.contributions)
            assert row.n == HIDDEN
            assert row.extra["contribution"] == pytest.approx(probe.contributions[k])
            assert row.extra["mean_contribution"] == pytest.approx(probe.contributions.mean())
            predicted = rank_of(k, probe.predicted_contributions)
            assert row.extra["rank_by_predicted_class"] == predicted
            assert row.extra["rank_about_mean"] == rank_of(k, probe.contributions_about_mean)
    listed = [row for row in found.tables[0].rows if row["layer"] == "block 2"]
    largest = np.argsort(-probe.contributions)[:10]
    assert [row["dimension"] for row in listed] == largest.tolist()
    assert [row["contribution"] for row in listed] == pytest.approx(probe.contributions[largest])


def test_extremes_of_positional_embeddings(found: Explanation, tiny_model: Any) -> None:
    (table,) = (table for table in found.tables if table.measure == "position_extremes")
    assert table.part == "positional embeddings"
    assert table.rows[0]["maximum_at"] == PLANTED[0]
    assert table.rows[0]["maximum"] == pytest.approx(0.4)
    assert position_tables(open_model(str(tiny_model("llama")))) == []
    sides = [table.part for table in position_tables(open_model(str(tiny_model("bart"))))]
    assert sides == ["encoder positional embeddings", "decoder positional embeddings"]


def test_too_few_texts_or_positions(planted: Path) -> None:
    few = answer(planted, made_texts(number=10))
    assert not few.found
    assert few.sentence.startswith("Positions cannot be probed: 10 different texts")
    assert [row.value for row in few.rows] == [None] * 4
    assert all("fewer than 20" in row.note for row in few.rows)
    assert [table.measure for table in few.tables] == ["position_extremes"]
    words = [word for word in WORDS.split() if not word.startswith("##")]
    alone = answer(planted, words)
    assert "all tokens are at position 1" in alone.sentence
    assert not alone.found


def test_a_text_is_missed(planted: Path) -> None:
    with pytest.raises(MissingError, match="needs a text"):
        POSITION.explain(Question(open_model(str(planted))))


def test_progress_is_told(planted: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    answer(planted, made_texts(number=30), progress=lambda *step: told.append(step))
    assert [step for step in told if step[0] == "position probes"] == [
        ("position probes", k, 4) for k in (1, 2, 3, 4)
    ]


def test_dimensions_that_are_often_extreme() -> None:
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=(100, 50)).astype(np.float32) for _ in range(2)]
    assert often_extreme(layers) == []
    layers[0][:30, 7] = 50  # 15 % of both layers together
    layers[1][:12, 8] = 50  # 6 %, and no more with 12 minima: extremes are not added up
    layers[1][50:62, 8] = -50
    assert often_extreme(layers) == [7]
    layers[1][:12, 7] = -60
    assert often_extreme(iter(layers)) == [7]
    layers[1][20:40, 9] = -50
    assert often_extreme(layers) == [7, 9]


def test_words_for_layers_and_ranks() -> None:
    layers = ["embedding", "block 1", "block 2", "block 3", "block 4"]
    assert spans(layers, layers) == "in every layer"
    assert spans(layers[:3], layers) == "from embedding to block 2"
    assert spans(["block 4"], layers) == "in block 4"
    assert spans([*layers[:2], "block 3"], layers) == "from embedding to block 1 and in block 3"
    written = " ".join(ordinal(k) for k in (1, 2, 3, 4, 11, 12, 13, 21, 112, 122))
    assert written == "1st 2nd 3rd 4th 11th 12th 13th 21st 112th 122nd"


def made_probe(accuracy: float, contributions: list[float]) -> PositionProbe:
    shares = np.array(contributions)
    score = Score(accuracy, accuracy - 0.03, accuracy + 0.03, 30)
    return PositionProbe(score, shares, shares, shares[::-1])


def test_layers_that_tell_are_above_both_baselines() -> None:
    """By the lower end of the interval, which is 0.03 below."""
    rows = np.arange(400)
    task = position_task(rows % 4, rows // 4, rows, held_out=rows % 8 > 3)
    probes = {
        "embedding": made_probe(0.9, [0.1, 0.3, 0.2]),
        "block 1": made_probe(task.majority_baseline + 0.09, [0.3, 0.1, 0.2]),
        "block 2": made_probe(task.majority_baseline + 0.07, [0.4, 0.1, 0.2]),
    }
    assert task.majority_baseline == task.token_baseline == 0.25
    assert telling(probes, task) == ["embedding", "block 1"]
    assert sentence_of(["embedding", "block 1"], probes, task, []) == (
        "Positions can be read from embedding to block 1 (accuracy 0.90 in embedding and 0.32 in "
        f"block 2; majority 0.25, by token 0.25); {NO_OUTLIER}."
    )
    assert outlier_words(["embedding", "block 1"], probes, [1, 2]) == (
        "; outlier dimension 2 ranks 2nd of 3 by contribution in block 1, 1st about its mean"
    )
    assert outlier_words(["embedding"], probes, [1]) == ""
    assert outlier_words(["embedding"], probes, []) == f"; {NO_OUTLIER}"


def test_a_rank_in_three_ways() -> None:
    three = (np.array(values) for values in ([3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [2.0, 1.0, 3.0]))
    row = rank_row("block 1", PositionProbe(Score(0.5, 0.4, 0.6, 9), *three), 0, "rank", "")
    assert row.value == 1
    assert row.extra["rank_by_predicted_class"] == 3
    assert row.extra["rank_about_mean"] == 2


def test_outliers_of_the_input_alone_are_not_ranked(planted: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.arange(400)
    layers = {k: rng.normal(size=(400, 60)).astype(np.float32) for k in ("embedding", "block 1")}
    layers["embedding"][:, 3] = 40
    layers["block 1"][:80, 8] = 40  # a fifth of its own, a tenth of both
    question = Question(open_model(str(planted)))
    blank = np.full(400, "", object)
    question.__dict__["sample"] = TokenSample(
        layers, rows, blank, blank, rows % 4, rows // 4, "made"
    )
    found = POSITION.explain(question)
    assert not found.found
    ranked = {row.measure for row in found.rows if row.measure.startswith("contribution_rank")}
    assert ranked == {"contribution_rank/8"}


def test_tokens_that_tell_positions_count() -> None:
    """Where every word has its place, vectors would have to tell more than words do."""
    rows = np.arange(400)
    words = 4 * np.random.default_rng(0).integers(0, 3, 400) + rows % 4
    task = position_task(rows % 4, rows // 4, words)
    assert task.token_baseline == 1
    assert telling({"block 1": made_probe(0.99, [1.0])}, task) == []
