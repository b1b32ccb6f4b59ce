"""What clusters go with, on made clouds and against slow definitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isoscope.data.texts import open_texts
from isoscope.errors import DataError, MissingError
from isoscope.models.model import open_model
from isoscope.models.token_table import TokenSample
from isoscope.results.result import Row
from isoscope.verbs.explain.topics.base import Explanation, Question
from isoscope.verbs.explain.topics.clusters import (
    CLUSTERS,
    FREQUENCY,
    INFORMATION,
    POSITION,
    TokenTable,
    cluster_rows,
    cluster_table,
    clusters_of,
    kind_information,
    kind_of,
    variance_explained,
)

Folder = Callable[[str], Path]
MARKS = [".", ",", ";", ":", "!", "?", "(", ")", "-", "/"]
STOPS = ["the", "of", "and", "in", "is", "was", "it", "on", "that", "with"]
OTHERS = [f"word{k}" for k in range(40)]
VOCABULARY = [*MARKS, *STOPS, *OTHERS]
TOKENS = 2_000


def sample(seed: int, vectors: Callable[[np.random.Generator, np.ndarray, np.ndarray], Any]) -> Any:
    """Tokens whose frequencies have nothing to do with their kinds, and their vectors."""
    rng = np.random.default_rng(seed)
    weights = rng.permutation(1 / np.arange(1, len(VOCABULARY) + 1) ** 0.8)
    ids = rng.choice(len(VOCABULARY), TOKENS, p=weights / weights.sum())
    names = np.array(VOCABULARY, object)[ids]
    positions = rng.integers(0, 50, TOKENS)
    rows = np.asarray(vectors(rng, ids, positions), np.float32)
    sentences = np.zeros(TOKENS, np.int64)
    return TokenSample({"last": rows}, ids, names, names, positions, sentences, "made")


def answered(given: TokenSample, layer: str = "last") -> Explanation:
    tokenizer = SimpleNamespace(all_special_ids=[])
    stacks = [SimpleNamespace(layers=(layer,))]
    model: Any = SimpleNamespace(stacks=stacks, name="made", tokenizer=tokenizer)
    question = Question(model)
    question.__dict__["sample"] = given
    return CLUSTERS.explain(question)


def values_of(rows: list[Row]) -> dict[str, Any]:
    assert len({row.measure for row in rows}) == len(rows)
    return {row.measure: row.value for row in rows}


def noise(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((TOKENS, 6))


def by_kind(rng: np.random.Generator, ids: np.ndarray, _: np.ndarray) -> np.ndarray:
    kind = np.where(ids < 10, 0, np.where(ids < 20, 1, 2))
    return noise(rng) + 12 * np.eye(6)[kind]


def by_position(rng: np.random.Generator, _: np.ndarray, positions: np.ndarray) -> np.ndarray:
    return np.column_stack([noise(rng), positions])


def by_frequency(rng: np.random.Generator, ids: np.ndarray, _: np.ndarray) -> np.ndarray:
    return np.column_stack([noise(rng), 20 * np.log10(np.bincount(ids)[ids])])


def by_token(rng: np.random.Generator, ids: np.ndarray, _: np.ndarray) -> np.ndarray:
    return 0.1 * noise(rng) + 3 * rng.standard_normal((len(VOCABULARY), 6))[ids]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("vectors", "what", "measure"),
    [
        (by_kind, "the kind of token", INFORMATION),
        (by_position, "position", POSITION),
        (by_frequency, "frequency", FREQUENCY),
    ],
)
def test_what_clusters_are_made_of_is_found(
    vectors: Any, what: str, measure: str, seed: int
) -> None:
    found = answered(sample(seed, vectors))
    values = values_of(found.rows)
    assert found.found
    assert found.sentence.startswith(f"The 27 clusters of last are related to {what} (")
    assert " and " not in found.sentence.partition("not with")[0].partition("(")[2]
    assert f"{values[measure]:.2f}" in found.sentence


@pytest.mark.parametrize("seed", range(3))
def test_an_unrelated_cloud_finds_nothing(seed: int) -> None:
    found = answered(sample(seed, lambda rng, *_: noise(rng)))
    assert not found.found
    told = "The 27 clusters of last are not related to the kind of token ("
    assert found.sentence.startswith(told)
    values = values_of(found.rows)
    for measure in (INFORMATION, POSITION, FREQUENCY):
        # The error of ε² without any relation is √(2 · 26) / 2,000 = 0.004.
        assert abs(values[measure]) < 0.015
    assert values["share_of_clusters_with_punctuation"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_tokens_go_with_nothing_more(seed: int) -> None:
    """Every cluster holds all occurrences of some tokens, whatever their frequency."""
    found = answered(sample(seed, by_token))
    values = values_of(found.rows)
    assert values[FREQUENCY] > 0.1
    assert not found.found
    row = next(row for row in found.rows if row.measure == f"{FREQUENCY}/dealt")
    assert row.low <= row.value <= row.high
    assert "dealt at random up to" in found.sentence


def test_figures_of_clusters_that_are_known() -> None:
    labels = np.repeat([0, 1, 2], [4, 3, 3])
    kinds = ["punctuation"] * 3 + ["other"] + ["stop word"] * 2 + ["punctuation"] + ["other"] * 3
    names = [".", ".", ",", "x", "the", "of", ",", "x", "y", "y"]
    given = TokenTable(
        labels, np.array([0, 0, 1, 2, 3, 4, 1, 2, 5, 5]), np.array(kinds, object),
        np.array(names, object), np.arange(10.0), np.log10([2, 2, 2, 2, 1, 1, 2, 2, 2, 2]),
    )  # fmt: skip
    rows = cluster_rows(given, "last", "how", 0)
    values = values_of(rows)
    assert values["punctuation_share"] == 0.4
    assert values["stop_word_share"] == 0.2
    assert values["clusters_mostly_punctuation"] == values["clusters_mostly_stop_words"] == 1
    assert values["punctuation_in_such_clusters"] == 0.75
    assert values["share_of_clusters_with_punctuation"] == pytest.approx(2 / 3)
    assert {(row.part, row.correction, row.protocol) for row in rows} == {("last", "none", "how")}
    table = cluster_table(given)
    assert [row["cluster"] for row in table] == [0, 1, 2]
    assert table[0] == {
        "cluster": 0, "size": 4, "punctuation": 0.75, "stop_words": 0.0, "special": 0.0,
        "mean_position": 1.5, "mean_log10_frequency": pytest.approx(math.log10(2)),
        "tokens": ". , x",
    }  # fmt: skip
    assert table[1]["stop_words"] == pytest.approx(2 / 3)
    # Exactly half is not most.
    kinds[2] = "other"
    half = replace(given, kinds=np.array(kinds, object))
    assert values_of(cluster_rows(half, "", "", 0))["clusters_mostly_punctuation"] == 0


def slow_information(kinds: np.ndarray, labels: np.ndarray) -> float:
    """Adjusted mutual information, chance by shuffling instead of by formula."""

    def entropy(values: Any) -> float:
        shares = np.array(list(Counter(values).values())) / len(kinds)
        return float(-(shares * np.log(shares)).sum())

    def mutual(one: np.ndarray, other: np.ndarray) -> float:
        joint = entropy(list(zip(one.tolist(), other.tolist(), strict=True)))
        return entropy(one.tolist()) + entropy(other.tolist()) - joint

    rng = np.random.default_rng(0)
    chance = np.mean([mutual(rng.permutation(kinds), labels) for _ in range(3_000)])
    most = (entropy(kinds.tolist()) + entropy(labels.tolist())) / 2
    return float((mutual(kinds, labels) - chance) / (most - chance))


def test_information_and_variance_against_their_definitions() -> None:
    rng = np.random.default_rng(1)
    labels = np.append(rng.integers(0, 4, 60), [0, 1, 2, 3])
    kinds = np.where(rng.random(64) < 0.5, labels % 3, rng.integers(0, 3, 64)).astype(float)
    # Chance is the mean of 3,000 shuffles, with an error of 0.0005.
    found = kind_information(kinds, labels)
    assert found == pytest.approx(slow_information(kinds, labels), abs=0.003)
    values = rng.standard_normal(64) + labels
    within = sum(((values[labels == k] - values[labels == k].mean()) ** 2).sum() for k in range(4))
    total = ((values - values.mean()) ** 2).sum()
    mean_square = within / (64 - 4)
    expected = (total - within - 3 * mean_square) / total
    assert variance_explained(values, labels) == pytest.approx(expected)
    assert variance_explained(np.ones(64), labels) is None
    assert kind_information(np.ones(64), labels) is None
    by_chance = [variance_explained(rng.standard_normal(64), labels) for _ in range(2_000)]
    assert np.mean(by_chance) == pytest.approx(0, abs=0.004)  # three errors of 0.0013


def test_clusters_are_those_of_the_correction() -> None:
    from isoscope.corrections import ClusterRemoval

    rows = np.random.default_rng(0).standard_normal((300, 4)).astype(np.float32)
    expected = ClusterRemoval(5, 2, random_state=3).fit(rows).assign(rows)
    np.testing.assert_array_equal(clusters_of(rows, 5, 3), expected)
    # Two different rows make two clusters, without a word.
    assert set(clusters_of(np.repeat(np.eye(2), 40, axis=0), 5, 0).tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("token", "word", "kind"),
    [
        (".", ".", "punctuation"), ("the", "The", "stop word"), ("##ing", "being", "stop word"),
        ("##ing", "boating", "other"), ("in", "inside", "other"), ("Ġ...", "...", "punctuation"),
        ("âĢĻ", "’", "punctuation"), ("▁of", "of,", "stop word"), (",", "of,", "punctuation"),
        ("▁the", "the whole text.", "stop word"), ("▁text", "the whole text.", "other"),
        ("▁", "", "other"), ("system", "system", "other"), ('Ġ"', '"', "punctuation"),
        ("7", "7", "other"), ("▁(the", "(the", "stop word"),
    ],
)  # fmt: skip
def test_kinds_of_tokens(token: str, word: str, kind: str) -> None:
    assert kind_of(token, word) == kind


def test_what_is_undefined_says_so() -> None:
    given = sample(0, lambda rng, *_: noise(rng))
    plain = np.array([f"word{k % 2}" for k in range(TOKENS)], object)
    alike = TokenSample(
        given.layers, np.arange(TOKENS) % 2, plain, plain, np.zeros(TOKENS, np.int64),
        given.sentences, "made",
    )  # fmt: skip
    found = answered(alike)
    assert not found.found
    assert found.sentence == "The 27 clusters of last contain tokens that are all alike."
    empty = [row for row in found.rows if row.value is None]
    assert {row.measure for row in empty} == {
        INFORMATION, POSITION, FREQUENCY, "punctuation_in_such_clusters",
    }  # fmt: skip
    assert all(row.note.startswith("undefined") for row in empty)


def test_a_tiny_model_end_to_end(tiny_model: Folder) -> None:
    model = open_model(str(tiny_model("bert")))
    texts = ["the cat sat on the old tree, and it ran.", "a small dog saw that; the bird flew!"]
    texts += [f"the {a} was {b}." for a in ("boat", "bank", "river") for b in ("red", "big", "new")]
    question = Question(model, open_texts(texts), special_tokens=True, seed=2)
    found = CLUSTERS.explain(question)
    assert len(found.rows) == 11
    (table,) = found.tables
    size = len(question.sample)
    assert len(table.rows) == size // 10 == 8
    assert sum(row["size"] for row in table.rows) == size
    specials = sum(row["size"] * row["special"] for row in table.rows)
    assert specials == pytest.approx(2 * len(texts))
    assert f"k-means with {len(table.rows)} clusters, seed 2" in found.rows[0].protocol
    assert found.sentence.startswith(f"The {len(table.rows)} clusters of block 3 ")
    with pytest.raises(DataError, match="at least 20 tokens, and the text has 3"):
        CLUSTERS.explain(Question(model, open_texts(["the cat sat"])))
    with pytest.raises(MissingError, match="needs a text"):
        CLUSTERS.explain(Question(model))
