"""Sums of unit vectors by token type or by word, as many of them as memory holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from isoscope.measures.contextual.grouped_sums import GroupedSums
from isoscope.measures.contextual.hashing import HIGHEST
from isoscope.measures.contextual.slots import LEFT_OUT, Key, SlotTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from isoscope.measures.contextual.grouped_sums import WithinGroups


class KeyedSums(Generic[Key]):
    """A table of keys, and for each of them the sums of every layer."""

    def __init__(
        self, widths: Mapping[str, int], hash_all: Callable[[list[Key]], list[int]]
    ) -> None:
        self.table: SlotTable[Key] = SlotTable(hash_all)
        self._sums = GroupedSums(widths)

    def trim(self, capacity: int) -> None:
        """Keep the keys with the lowest hashes, and room for those that are there.

        Slots that stand empty are given back once they are a quarter: otherwise one kind of group
        could hold the memory that the other was promised.
        """
        self._sums.clear(self.table.keep_lowest(capacity))
        if 4 * (self.table.size - len(self.table)) > len(self.table) + 64:
            self._sums.grow(self.table.size, capacity + 1)
            self._sums.take(self.table.renumber())
        self._sums.grow(self.table.size, capacity + 1)

    def merge(self, other: KeyedSums[Key], capacity: int) -> None:
        """Add the sums of another, and keep the keys with the lowest hashes of both.

        Keys that are too many leave before others come, so that these find empty slots.
        """
        hashes = self.hashes_with(other)
        highest = int(hashes[capacity]) - 1 if len(hashes) > capacity else HIGHEST
        self._sums.clear(self.table.lower(min(highest, other.table.highest)))
        keys = other.table.keys()
        self.table.admit(keys)
        self.trim(capacity)
        slots = self.table.slots_of(keys)
        kept = slots != LEFT_OUT
        self._sums.add(slots[kept], other._sums, other.table.slots_of(keys)[kept])

    def hashes_with(self, other: KeyedSums[Key]) -> NDArray[np.uint64]:
        """Return the hashes of the keys of both that have all their occurrences, lowest first.

        Above the lower of the two limits one of them may have let go of what it had seen.
        """
        hashes = np.union1d(self.table.hashes(), other.table.hashes())
        return hashes[hashes <= np.uint64(min(self.table.highest, other.table.highest))]

    def sums(self, layer: str) -> NDArray[np.float64]:
        """Return the sums of a layer by slot, to be added to."""
        return self._sums.sums[layer]

    def count(self, layer: str, tally: tuple[NDArray[np.int64], NDArray[np.int64]]) -> None:
        """Count members of groups: slots, each once, and how many there were."""
        slots, members = tally
        self._sums.counts[layer][slots] += members

    def within(self, layer: str) -> WithinGroups:
        """Return the mean cosine within the groups of a layer."""
        return self._sums.within(layer, self._kept())

    def _kept(self) -> NDArray[np.int64]:
        return self.table.slots_of(self.table.keys())

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the sums, in the order of the table's keys."""
        return self._sums.to_arrays(prefix, self._kept())

    def load(
        self,
        prefix: str,
        arrays: Mapping[str, NDArray[Any]],
        keys: Iterable[Key],
        highest: int,
        capacity: int,
    ) -> None:
        """Take back sums that were stored in the order of their keys."""
        self.table.admit(keys)
        self.table.renumber()
        self.table.highest = highest
        self._sums.load(prefix, arrays, capacity)


def tally(slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count slots: each once, what is left out excepted, and how often it is there."""
    return np.unique(slots[slots != LEFT_OUT], return_counts=True)


def rooms(types: int, words: int, capacity: int) -> tuple[int, int]:
    """Return how many of so many token types and words may be kept.

    Both may have half of the groups, and what the other leaves. Both numbers of groups only rise
    until they are at their limit, and so both limits only fall.
    """
    type_room = capacity - min(words, capacity // 2)
    return type_room, capacity - min(types, type_room)


def share_memory(types: KeyedSums[int], words: KeyedSums[str], capacity: int) -> None:
    """Let token types and words have no more groups together than memory holds."""
    type_room, word_room = rooms(len(types.table), len(words.table), capacity)
    types.trim(type_room)
    words.trim(word_room)


def merge_sums(
    types: KeyedSums[int],
    words: KeyedSums[str],
    more_types: KeyedSums[int],
    more_words: KeyedSums[str],
    capacity: int,
) -> None:
    """Add sums of other texts, and share memory as if all texts had been read here."""
    type_room, word_room = rooms(
        len(types.hashes_with(more_types)), len(words.hashes_with(more_words)), capacity
    )
    types.merge(more_types, type_room)
    words.merge(more_words, word_room)
