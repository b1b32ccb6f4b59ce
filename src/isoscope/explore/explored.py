"""What is explored: the vectors of every layer in memory, and the word of every row."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

MOST_NEAR = 8
"""Words that are offered in place of one that is not there."""


class UnknownWordError(UsageError):
    """A word that no row has.

    Attributes
    ----------
    near : list of str
        Words that begin alike.
    """

    def __init__(self, word: str, near: list[str]) -> None:
        hint = f"; near it: {', '.join(near)}" if near else ""
        super().__init__(f"no row has the word {word!r}{hint}")
        self.near = near


@dataclass(frozen=True)
class Colouring:
    """A number for every row that points can be coloured by."""

    values: NDArray[np.float32]
    logarithmic: bool = False
    """Whether the numbers are spread over powers, as frequencies are."""


@dataclass(frozen=True)
class Explored:
    """Vectors of one cloud, or of one set of tokens in several layers.

    Attributes
    ----------
    name : str
        What it is.
    protocol : str
        What was read.
    layers : mapping
        For each layer an array of float32; the same row is the same word in all of them.
    words : array of str
        What a person searches a row by; several rows may have the same.
    labels : array of str
        What a row is shown as.
    colourings : mapping
        Numbers by name.
    context : callable, optional
        Returns the words around a row.
    """

    name: str
    protocol: str
    layers: Mapping[str, NDArray[np.float32]]
    words: NDArray[np.object_]
    labels: NDArray[np.object_]
    colourings: Mapping[str, Colouring] = field(default_factory=dict)
    context: Callable[[int], str] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def __post_init__(self) -> None:
        _ = self._rows  # made while a person waits anyway, not at the first search

    def rows_of(self, word: str) -> list[int]:
        """Return the rows of a word; in another case, where no row has it as it is written."""
        if word in self._rows:
            return self._rows[word]
        start = self._begins(word)
        if start < len(self._sorted) and self._sorted[start].casefold() == word.casefold():
            return self._rows[self._sorted[start]]
        raise UnknownWordError(word, self.near(word))

    def near(self, word: str) -> list[str]:
        """Return words that begin with as much of a word as any does."""
        for length in range(len(word), 0, -1):
            begin = word[:length].casefold()
            start = self._begins(begin)
            found = self._sorted[start : start + MOST_NEAR]
            alike = [entry for entry in found if entry.casefold().startswith(begin)]
            if alike:
                return alike
        return []

    def _begins(self, word: str) -> int:
        return bisect_left(self._sorted, word.casefold(), key=str.casefold)

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """The rows of every word, rising."""
        rows: dict[str, list[int]] = {}
        for row, word in enumerate(self.words.tolist()):
            rows.setdefault(word, []).append(row)
        return rows

    @cached_property
    def _sorted(self) -> list[str]:
        """All words in the order of their letters, whatever their case."""
        return sorted(self._rows, key=str.casefold)
