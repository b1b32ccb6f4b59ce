"""Rows by their words."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.verbs.explore.word_rows import MOST_NEAR, Explored, UnknownWordError


def of(*words: str) -> Explored:
    names = np.array(words, dtype=object)
    return Explored("x", "", {"x": np.eye(len(words), dtype=np.float32)}, names, names)


def test_a_word_is_found_as_written_before_any_other_case() -> None:
    explored = of("Bank", "bank", "BANK", "bank", "river")
    assert explored.rows_of("bank") == [1, 3]
    assert explored.rows_of("BANK") == [2]
    assert explored.rows_of("River") == explored.rows_of("RIVER") == [4]


def test_an_unknown_word_brings_those_that_begin_alike() -> None:
    explored = of("river", "rivet", "Rival", "money", "a")
    with pytest.raises(UnknownWordError, match="no row has the word 'rivx'; near it:") as caught:
        explored.rows_of("rivx")
    assert caught.value.near == ["Rival", "river", "rivet"]
    assert explored.near("mo") == ["money"]
    with pytest.raises(UnknownWordError, match="no row has the word 'Mon'; near it: money"):
        explored.rows_of("Mon")
    assert explored.near("zebra") == []
    with pytest.raises(UnknownWordError, match=r"no row has the word 'zebra'$"):
        explored.rows_of("zebra")


def test_a_word_of_any_length_takes_two_searches() -> None:
    class Counted(str):
        """Counts how often it is compared."""

        __slots__ = ()
        times = 0

        def __lt__(self, other: str) -> bool:
            Counted.times += 1
            return str.__lt__(self, other)

        def casefold(self) -> Counted:
            return Counted(str.casefold(self))

    explored = of(*(Counted(f"word{number:03}") for number in range(64)))
    _ = explored.near("word")
    Counted.times = 0
    assert explored.near("word01" + "x" * 10_000)[0] == "word010"
    assert Counted.times <= 2 * 7


def test_only_a_few_are_brought() -> None:
    explored = of(*(f"word{number:03}" for number in range(50)))
    assert explored.near("word") == [f"word{number:03}" for number in range(MOST_NEAR)]


def test_every_row_is_found_by_its_word() -> None:
    words = [f"{'wW'[row % 2]}{row % 37}ß" for row in range(200)]
    explored = of(*words)
    for word in set(words):
        assert explored.rows_of(word) == [row for row, one in enumerate(words) if one == word]
