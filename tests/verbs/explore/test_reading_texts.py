"""Tokens of a model as they are explored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.verbs.explore.word_rows import AROUND, label, read_model

TEXTS = ["the cat sat on the old bank of the river and saw a dog", "a bird flew", "sting of money"]


def test_tokens_are_rows_in_every_layer(tiny_model: Callable[[str], Path]) -> None:
    explored = read_model(str(tiny_model("bert")), TEXTS)
    assert list(explored.layers) == ["embedding", "block 1", "block 2", "block 3"]
    assert {len(vectors) for vectors in explored.layers.values()} == {len(explored)}
    assert [str(explored.words[row]) for row in explored.rows_of("the")] == ["the"] * 3
    counts = explored.colourings["frequency in what was read"]
    assert counts.logarithmic
    assert counts.values[explored.rows_of("the")].tolist() == [3, 3, 3]
    assert counts.values[explored.rows_of("bird")].tolist() == [1]
    positions = explored.colourings["position in the text"].values
    assert positions[explored.rows_of("the")].tolist() == [1, 5, 9]


def test_a_context_ends_with_its_text(tiny_model: Callable[[str], Path]) -> None:
    explored = read_model(str(tiny_model("bert")), TEXTS)
    assert explored.context is not None
    (bird,) = explored.rows_of("bird")
    assert explored.context(bird) == "a bird flew"
    (bank,) = explored.rows_of("bank")
    words = TEXTS[0].split()
    near = words[words.index("bank") - AROUND : words.index("bank") + AROUND + 1]
    assert explored.context(bank) == " ".join(near)


def test_a_part_of_a_word_is_found_by_the_word(tiny_model: Callable[[str], Path]) -> None:
    explored = read_model(str(tiny_model("bert")), TEXTS)
    rows = explored.rows_of("sting")
    assert len(rows) > 1
    assert all(one.startswith("sting [") for one in explored.labels[rows])


def test_labels() -> None:
    assert label("The", "the") == "The"
    assert label("the", "Ġthe") == "the"
    assert label("embedding", "##bed") == "embedding [##bed]"


def test_some_layers_and_some_tokens(tiny_model: Callable[[str], Path]) -> None:
    explored = read_model(str(tiny_model("bert")), TEXTS * 5, layers="block 1, block 3", tokens=20)
    assert list(explored.layers) == ["block 1", "block 3"]
    assert len(explored) <= 20
    assert not np.array_equal(*explored.layers.values())
    with pytest.raises(UsageError, match="no layer of .* is called 'block 9'"):
        read_model(str(tiny_model("bert")), TEXTS, layers="block 9")
