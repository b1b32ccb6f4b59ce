"""Same-group neighbours against a slow search, on made vectors and through tiny models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sts_for_tests import hidden_states

from isoscope.models.model import open_model
from isoscope.results.result import Row
from isoscope.verbs.explain.names import CHANCE, SHARE, WORDS
from isoscope.verbs.explain.topics import structure
from isoscope.verbs.explain.topics.base import Question
from isoscope.verbs.explain.topics.sentence_groups import SentenceGroup
from isoscope.verbs.explain.topics.structure import (
    STRUCTURE,
    Occurrences,
    ReadGroups,
    chance_of,
    neighbours,
    occurrences,
    read_sentences,
    share,
    structure_rows,
)

Folder = Callable[[str], Path]
DIFFERENCE = f"{SHARE}/difference"
REMOVED = "all-but-the-top:n_components=4"
PATTERN = ["The", "cat", "of", "the", "dog", ",", "old", "."]


def made(seed: int, strength: float, groups: int = 30) -> ReadGroups:
    """Six sentences a group; in four of 24 dimensions all tokens of a group are alike."""
    rng = np.random.default_rng(seed)
    sentences = np.repeat(np.arange(6 * groups), len(PATTERN))
    of_sentence = np.repeat(np.arange(groups), 6)
    codes = strength * rng.standard_normal((groups, 4))
    vectors = rng.standard_normal((len(sentences), 24))
    vectors[:, :4] = codes[of_sentence[sentences]] + 0.01 * vectors[:, :4]
    if not strength:
        vectors[:, :4] = rng.standard_normal((len(vectors), 4))
    names = np.array(PATTERN * 6 * groups, object)
    numbers = np.arange(len(sentences))
    return ReadGroups(vectors.astype(np.float32), names, names, numbers, sentences, of_sentence, "")


def answered(
    read: ReadGroups, monkeypatch: pytest.MonkeyPatch, correction: str = REMOVED
) -> tuple[bool, str, dict[tuple[str, str, str], Row]]:
    monkeypatch.setattr(structure, "read_sentences", lambda *_: read)
    model: Any = SimpleNamespace(stacks=[SimpleNamespace(layers=("first", "last"))], name="made")
    found = STRUCTURE.explain(Question(model, correction=correction))
    return found.found, found.sentence, by_key(found.rows)


def by_key(rows: list[Row]) -> dict[tuple[str, str, str], Row]:
    found = {(row.part, row.correction, row.measure): row for row in rows}
    assert len(found) == len(rows)
    return found


def slow_shares(
    vectors: np.ndarray, sentences: np.ndarray, groups: np.ndarray
) -> tuple[list[float], list[float]]:
    """Shares and chances of every occurrence, by the definition."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    shares, chances = [], []
    for i in range(len(units)):
        others = [j for j in range(len(units)) if sentences[j] != sentences[i]]
        nearest = sorted(others, key=lambda j, i=i: -units[i] @ units[j])[:5]
        shares.append(float(np.mean([groups[j] == groups[i] for j in nearest])))
        chances.append(float(np.mean([groups[j] == groups[i] for j in others])))
    return shares, chances


@pytest.mark.parametrize("seed", range(3))
def test_planted_structure_is_found_and_removed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    yes, sentence, rows = answered(made(seed, 30.0), monkeypatch)
    assert yes
    assert sentence.startswith("In last, '.' ',' 'the' 'of' gather by sentence structure")
    for word in WORDS:
        before, after = rows[word, "none", SHARE], rows[word, REMOVED, SHARE]
        chance = rows[word, "none", CHANCE].value
        assert before.value is not None
        assert before.value > 0.9
        assert after.value == pytest.approx(chance, abs=0.03)
        moved = rows[word, REMOVED, DIFFERENCE]
        assert moved.value == pytest.approx(after.value - before.value)
        assert moved.low < moved.value < moved.high < 0
        told = f"{word!r} {100 * before.value:.1f} %, {100 * after.value:.1f} % after {REMOVED}"
        assert told in sentence
        assert f"(chance {100 * chance:.1f} %)" in sentence


@pytest.mark.parametrize("seed", range(3))
def test_random_vectors_show_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    yes, sentence, rows = answered(made(seed, 0.0), monkeypatch, "none")
    assert not yes
    assert "do not gather by sentence structure in last" in sentence
    assert " after " not in sentence
    assert len(rows) == 8
    for word in WORDS:
        row = rows[word, "none", SHARE]
        assert row.value == pytest.approx(rows[word, "none", CHANCE].value, abs=0.03)


def test_one_word_alone_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    read, plain = made(0, 30.0), made(0, 0.0)
    commas = read.tokens == ","
    mixed = np.where(commas[:, None], read.vectors, plain.vectors)
    yes, sentence, rows = answered(
        ReadGroups(mixed, read.tokens, read.words, read.word_numbers, read.sentences, read.groups,
                   ""), monkeypatch, "none",
    )  # fmt: skip
    assert rows[",", "none", SHARE].value > 0.9
    assert not yes
    assert "do not gather" in sentence


def test_identical_vectors_are_at_chance_in_any_order() -> None:
    """All find the same few: were these always of the first and largest group, 0.4 would be."""
    groups = np.repeat(np.arange(31), [40, *[2] * 30])
    places = np.arange(100)
    for turned in (groups, groups[::-1]):
        there = Occurrences(places, places, places, turned)
        assert chance_of(there) == pytest.approx((40 * 39 + 30 * 2) / (100 * 99))
        for vectors in (np.ones((100, 3)), np.zeros((100, 3))):
            found = [share(there, vectors, seed).value for seed in range(60)]
            # Of five neighbours two are of the largest group, give or take one: 0.16 ± 0.09.
            assert np.mean(found) == pytest.approx(chance_of(there), abs=0.04)


def judged(*words: tuple[str, float, float | None, float]) -> list[str]:
    rows = []
    for word, value, low, chance in words:
        rows.append(Row("", word, "none", CHANCE, chance))
        rows.append(Row("", word, "none", SHARE, value, low=low))
        rows.append(Row("", word, "center", SHARE, 0.99, low=0.98))
    return structure.gathered(rows)


def test_the_rule_takes_margin_and_interval() -> None:
    assert judged((".", 0.26, 0.21, 0.2), (",", 0.3, 0.25, 0.2)) == [".", ","]
    assert judged((".", 0.24, 0.21, 0.2)) == []  # above chance, by too little
    assert judged((".", 0.3, 0.19, 0.2)) == []  # by enough, and may be chance
    assert judged((".", 0.3, None, 0.2)) == []


def uneven(seed: int) -> Occurrences:
    """Sentences with one to four occurrences, in groups of two to five sentences."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(8), rng.integers(2, 6, 8))
    sentences = np.repeat(np.arange(len(groups)), rng.integers(1, 5, len(groups)))
    places = np.arange(len(sentences))
    return Occurrences(places, places, sentences, groups[sentences])


@pytest.mark.parametrize("seed", range(4))
def test_shares_and_chance_against_a_slow_search(seed: int) -> None:
    there = uneven(seed)
    vectors = np.random.default_rng(seed).standard_normal((len(there.groups), 3))
    vectors += 0.7 * there.groups[:, None] % 3
    # Occurrences of a sentence are each other's nearest, and must not count.
    vectors += 3 * np.random.default_rng(9).standard_normal((99, 3))[there.sentences]
    shares, chances = slow_shares(vectors, there.sentences, there.groups)
    found = share(there, vectors, seed)
    assert found.value == pytest.approx(np.mean(shares))
    assert chance_of(there) == pytest.approx(np.mean(chances))
    near = neighbours(vectors, there.sentences, seed)
    assert not (there.sentences[near] == there.sentences[:, None]).any()
    assert all(len(set(row)) == 5 for row in near.tolist())
    # The error of a ratio of sums over groups, by its textbook form.
    sums = np.bincount(there.groups, shares)
    sizes = np.bincount(there.groups)
    residuals = sums - found.value * sizes
    error = np.sqrt(8 / 7 * (residuals**2).sum()) / sizes.sum()
    assert found.influences is not None
    assert np.std(found.influences, ddof=1) / np.sqrt(8) == pytest.approx(error)
    assert found.low < found.value < found.high


def test_chance_is_what_random_neighbours_give() -> None:
    there = uneven(1)
    rng = np.random.default_rng(0)
    drawn = [
        share(there, rng.standard_normal((len(there.groups), 20)), k).value for k in range(300)
    ]
    # The error of the mean of 300 is about 0.001.
    assert np.mean(drawn) == pytest.approx(chance_of(there), abs=0.005)


def test_intervals_hold_their_level() -> None:
    """The groups of a search are drawn anew: the truth is the mean over many of them."""
    found = [share(occurrences(made(k, 1.0), "the"), made(k, 1.0).vectors, 0) for k in range(120)]
    truth = np.mean([score.value for score in found])
    held = np.mean([score.low <= truth <= score.high for score in found])
    assert 0.88 <= held <= 0.99  # 0.95, give or take three errors of 0.02


def test_bounds_have_an_interval_and_too_few_have_no_value() -> None:
    groups = np.repeat(np.arange(5), 6)
    places = np.arange(30)
    there = Occurrences(places, places, places, groups)
    perfect = share(there, np.eye(5)[groups], 0)
    assert perfect.value == 1
    assert 0.5 < perfect.low < perfect.high == 1
    few = Occurrences(places[:6], places[:6], np.array([0, 0, 1, 1, 2, 2]), groups[:6])
    assert share(few, np.eye(6), 0).value is None
    assert "fewer than 5 occurrences in other sentences" in share(few, np.eye(6), 0).note
    none = Occurrences(places[:0], places[:0], places[:0], places[:0])
    assert share(none, np.eye(6), 0).note == (
        "undefined: the word is in no sentence as the model reads them"
    )


@pytest.mark.parametrize(
    ("tokens", "words", "numbers", "expected"),
    [
        # Words and marks apart, in pieces, in any case.
        (["The", "of", "##f", "the", "."], ["The", "off", "off", "the", "."], [0, 1, 1, 2, 3],
         {"the": [[0], [3]], "of": [], ".": [[4]], ",": []}),
        # A word of several tokens.
        (["Ġ", "o", "f", "Ġthe", ","], ["of", "of", "of", "the", ","], [0, 0, 0, 1, 2],
         {"of": [[0, 1, 2]], "the": [[3]], ",": [[4]]}),
        # Marks that count to the word before them.
        (["▁The", "▁the", ",", "▁of", "."], ["The", "the,", "the,", "of.", "of."], [0, 1, 1, 2, 2],
         {"the": [[0], [1]], ",": [[2]], "of": [[3]], ".": [[4]]}),
        # The text as one word.
        (["▁The", "▁the", "the", "▁of", "."], ["The ..."] * 5, [0] * 5,
         {"the": [[0], [1]], "of": [[3]], ".": [[4]]}),
    ],
)  # fmt: skip
def test_occurrences_of_all_kinds_of_tokenizers(
    tokens: list[str], words: list[str], numbers: list[int], expected: dict[str, list[list[int]]]
) -> None:
    read = ReadGroups(
        np.eye(5, dtype=np.float32), np.array(tokens, object), np.array(words, object),
        np.array(numbers), np.zeros(5, np.int64), np.array([7]), "",
    )  # fmt: skip
    for word, places in expected.items():
        there = occurrences(read, word)
        parts = np.split(there.tokens, there.starts[1:]) if len(there.starts) else []
        assert [part.tolist() for part in parts] == places, word
        assert there.groups.tolist() == [7] * len(places)
        if places:
            means = [np.eye(5)[part].mean(axis=0) for part in places]
            np.testing.assert_allclose(there.vectors(read.vectors), means, rtol=1e-6)


SHAPES = (
    "the {} of the {} sat, it was {}.", "in the {}, the {} of a {} ran.",
    "the {} was {}, and of the {}.", "a {} saw the {} of {}, big.", "of the {}, {} is the {}.",
)  # fmt: skip
FILLED = (("cat", "dog", "big"), ("bird", "tree", "old"), ("bank", "river", "new"))


def few_groups() -> list[SentenceGroup]:
    return [
        SentenceGroup(shape, tuple(shape.format(*words) for words in FILLED)) for shape in SHAPES
    ]


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_a_tiny_model_end_to_end(tiny_model: Folder, tmp_path: Path, architecture: str) -> None:
    folder = tiny_model(architecture)
    path = tmp_path / "groups.tsv"
    # Sentences of a group need not stand together.
    path.write_text(
        "".join(f"{s}\t{s.format(*words)}\n" for words in FILLED for s in SHAPES), "utf-8"
    )
    texts = [text for group in few_groups() for text in group.sentences]
    model = open_model(str(folder))
    seen: list[tuple[str, int, int | None]] = []
    layer = model.stacks[0].layers[-1]
    found = STRUCTURE.explain(
        Question(model, groups=path, correction="center", layer=layer,
                 progress=lambda *told: seen.append(told))
    )  # fmt: skip
    rows = by_key(found.rows)
    assert seen[-1] == ("sentences", 15, 15)
    states = hidden_states(folder, texts, special=False)
    vectors = np.concatenate([states[text][-1] for text in texts])
    read = read_sentences(model, few_groups(), "here", layer)
    np.testing.assert_allclose(read.vectors, vectors, atol=1e-5)
    row = rows[".", "none", SHARE]
    ends = np.flatnonzero(read.tokens == ".")
    groups = np.repeat(np.arange(5), 3)
    for correction, space in (("none", vectors), ("center", vectors - vectors.mean(axis=0))):
        shares, chances = slow_shares(space[ends], np.arange(15), groups)
        assert rows[".", correction, SHARE].value == pytest.approx(np.mean(shares))
        assert rows[".", "none", CHANCE].value == pytest.approx(np.mean(chances))
    assert row.n == 15
    assert row.extra == {"groups": 5}
    assert f"15 sentences of 5 groups (groups.tsv), {layer};" in row.protocol
    assert rows["the", "none", SHARE].n == sum(text.split().count("the") for text in texts)
    assert rows["of", "none", SHARE].n == 15


def test_made_groups_that_a_model_cuts(tiny_model: Folder) -> None:
    """The tiny model reads 40 tokens, and none of the full stops of longer sentences."""
    found = STRUCTURE.explain(Question(open_model(str(tiny_model("bert"))), correction="none"))
    rows = by_key(found.rows)
    assert rows[".", "none", SHARE].value is None
    assert "in no sentence as the model reads them" in rows[".", "none", SHARE].note
    assert rows[".", "none", CHANCE].value is None
    assert "1,200 sentences cut at the limit" in rows[".", "none", SHARE].protocol
    assert "1,200 sentences of 200 groups (made from frames, seed 0)" in found.rows[0].protocol
    # Random weights know positions and words: sentences that begin alike are near.
    assert rows["the", "none", SHARE].n > 1_000
    assert "'.'" not in found.sentence


def test_nothing_can_be_said_without_words() -> None:
    read = made(0, 0.0, groups=2)
    names = np.array(["x"] * len(read.tokens), object)
    rows = structure_rows(
        ReadGroups(read.vectors, names, names, read.word_numbers, read.sentences, read.groups, ""),
        ["center"], 0,
    )  # fmt: skip
    assert all(row.value is None and row.note for row in rows)
    assert structure.told(rows, [], "last", ["center"]) == (
        "Whether words gather by sentence structure in last is not known: the word is in no "
        "sentence as the model reads them."
    )
