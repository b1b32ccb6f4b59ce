"""Sums of unit vectors by token type or by word, as many of them as memory holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from isoscope.measures.contextual.grouped_sums import GroupedSums
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
        self, prefix: str, arrays: Mapping[str, NDArray[Any]], keys: Iterable[Key], highest: int
    ) -> None:
        """Take back sums that were stored in the order of their keys."""
        self.table.admit(keys)
        self.table.renumber()
        self.table.highest = highest
        self._sums.load(prefix, arrays)


def tally(slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count slots: each once, what is left out excepted, and how often it is there."""
    return np.unique(slots[slots != LEFT_OUT], return_counts=True)


def share_memory(types: KeyedSums[int], words: KeyedSums[str], capacity: int) -> None:
    """Let token types and words have half of the groups each, and what the other leaves.

    Both numbers of groups only rise until they are at their limit, and so both limits only fall.
    """
    types.trim(capacity - min(len(words.table), capacity // 2))
    words.trim(capacity - len(types.table))
