"""Sums of unit vectors by token type or word, as many of them as memory holds.

The mean cosine over all pairs of n unit vectors u of a group follows from their sum alone:
(‖Σ u‖² − n) / (n² − n). Which groups are kept, where memory does not hold all, is decided by
hashes of their keys, never by the order of reading: those with the lowest hashes stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from isoscope.measures.context.token_groups import HIGHEST
from isoscope.typing import Arrays, Doubles, Ids

# Sums that are copied at a time to be squared or added: few enough for a core's own cache.
ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class WithinGroups:
    """Mean cosines of distinct members, (‖Σu‖² − n) / (n² − n), over the groups of two or more."""

    mean: float | None
    mean_by_count: float | None
    groups: int
    """Groups with at least one vector that is not zero."""
    groups_seen_twice: int
    members: int
    """Vectors in the groups that were seen twice or more."""

    @property
    def share_seen_twice(self) -> float | None:
        """Share of the groups with two vectors or more."""
        return self.groups_seen_twice / self.groups if self.groups else None


def with_room(rows: NDArray[Any], size: int, first: int = 0) -> NDArray[Any]:
    """Return rows from place ``first`` on in an array of ``size`` rows, all others zero."""
    found = np.zeros((size, *rows.shape[1:]), rows.dtype)
    found[first : first + len(rows)] = rows
    return found


class GroupedSums:
    """Σ u and n for each slot, one array a layer."""

    def __init__(self, widths: Mapping[str, int]) -> None:
        self.sums = {name: np.zeros((1, width)) for name, width in widths.items()}
        self.counts = {name: np.zeros(1, np.int64) for name in widths}

    @staticmethod
    def bytes_per_group(widths: Mapping[str, int]) -> int:
        """Memory that a group takes over all layers."""
        return 8 * sum(width + 1 for width in widths.values())

    def grow(self, size: int, capacity: int) -> None:
        """Make room for this many slots: at once for all that may come.

        Zeros that nobody has written to take no memory, while growing step by step would copy.
        """
        for name in self.sums:
            if len(self.counts[name]) >= size:
                continue
            wanted = max(size, capacity)
            self.sums[name] = with_room(self.sums[name], wanted)
            self.counts[name] = with_room(self.counts[name], wanted)

    def clear(self, slots: Ids) -> None:
        """Empty slots whose groups are left out from now on, those without room among them."""
        for name in self.sums:
            held = slots[slots < len(self.counts[name])]
            self.sums[name][held] = 0
            self.counts[name][held] = 0

    def take(self, slots: Ids) -> None:
        """Move the slots given to 1 and on, and forget all others."""
        for name in self.sums:
            self.sums[name] = with_room(self.sums[name][slots], len(slots) + 1, first=1)
            self.counts[name] = with_room(self.counts[name][slots], len(slots) + 1, first=1)

    def add(self, slots: Ids, other: GroupedSums, taken: Ids) -> None:
        """Add the slots that are ``taken`` from another to the slots given, each of them once."""
        for name in self.sums:
            sums, more = self.sums[name], other.sums[name]
            for first in range(0, len(slots), ROWS_AT_ONCE):
                rows = slice(first, first + ROWS_AT_ONCE)
                sums[slots[rows]] += more[taken[rows]]
            self.counts[name][slots] += other.counts[name][taken]

    def within(self, name: str, slots: Ids) -> WithinGroups:
        """Return the mean cosine within groups of one layer.

        ``math.fsum`` rounds once, so that the order of the groups changes nothing.
        """
        counts = self.counts[name][slots]
        twice = slots[counts >= 2]
        n = self.counts[name][twice].astype(np.float64)
        squares = np.empty(len(twice))
        for first in range(0, len(twice), ROWS_AT_ONCE):
            sums = self.sums[name][twice[first : first + ROWS_AT_ONCE]]
            squares[first : first + ROWS_AT_ONCE] = np.einsum("ij,ij->i", sums, sums)
        cosines = np.clip((squares - n) / (n * n - n), -1, 1)
        members = int(n.sum())
        return WithinGroups(
            mean=math.fsum(cosines) / len(twice) if len(twice) else None,
            mean_by_count=math.fsum(cosines * n) / members if len(twice) else None,
            groups=int((counts > 0).sum()),
            groups_seen_twice=len(twice),
            members=members,
        )

    def to_arrays(self, prefix: str, slots: Ids) -> dict[str, NDArray[Any]]:
        """Return the sums of the slots given, in that order."""
        arrays: dict[str, NDArray[Any]] = {}
        for number, name in enumerate(self.sums):
            arrays[f"{prefix}.sums.{number}"] = self.sums[name][slots]
            arrays[f"{prefix}.counts.{number}"] = self.counts[name][slots]
        return arrays

    def load(self, prefix: str, arrays: Arrays, capacity: int) -> None:
        """Take sums back, into the slots from 1 on, with room for others."""
        for number, name in enumerate(self.sums):
            sums, counts = arrays[f"{prefix}.sums.{number}"], arrays[f"{prefix}.counts.{number}"]
            self.sums[name] = with_room(sums, capacity + 1, first=1)
            self.counts[name] = with_room(counts, capacity + 1, first=1)


Key = TypeVar("Key", int, str)

# The slot of everything that is not kept: added to, never read.
LEFT_OUT = 0


class SlotTable(Generic[Key]):
    """Gives each key a slot, and keeps only keys of low hashes once there are too many.

    The highest hash that is let in only ever falls. What is left at the end are therefore the keys
    with the lowest hashes of all, each with every one of its occurrences, in whatever order they
    came.

    Parameters
    ----------
    hash_all : callable
        64 random-looking bits of each of several keys.
    """

    def __init__(self, hash_all: Callable[[list[Key]], list[int]]) -> None:
        self._hash_all: Callable[[list[Key]], list[int]] = hash_all
        self._slots: dict[Key, int] = {}
        self._hashes = np.zeros(1, np.uint64)
        self._free: list[int] = []
        self.highest = HIGHEST
        """The highest hash that is still let in."""

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def size(self) -> int:
        """Slots that were ever given out, the one for what is left out included."""
        return len(self._slots) + len(self._free) + 1

    @property
    def share(self) -> float:
        """Expected share of all keys that is kept."""
        return (self.highest + 1) / 2**64

    def keys(self) -> list[Key]:
        """Return the keys in the order of their hashes."""
        hashes = self._hashes
        return sorted(self._slots, key=lambda key: (int(hashes[self._slots[key]]), key))

    def slots_of(self, keys: Iterable[Key]) -> Ids:
        """Return the slots of keys that are in the table, or ``LEFT_OUT``."""
        get = self._slots.get
        return np.array([get(key, LEFT_OUT) for key in keys], np.int64)

    def hashes_of(self, slots: Ids) -> NDArray[np.uint64]:
        """Return the hashes of the keys that have these slots."""
        return self._hashes[slots]

    def hashes(self) -> NDArray[np.uint64]:
        """Return the hashes of all keys, in no order."""
        return self._hashes[np.fromiter(self._slots.values(), np.int64, len(self._slots))]

    def admit(self, keys: Iterable[Key]) -> None:
        """Give a slot to each key that has none and may have one."""
        unknown = [key for key in set(keys) if key not in self._slots]
        for key, hashed in zip(unknown, self._hash_all(unknown), strict=True):
            if hashed <= self.highest:
                self._slots[key] = self._take(hashed)

    def _take(self, hashed: int) -> int:
        slot = self._free.pop() if self._free else self.size
        if slot >= len(self._hashes):
            self._hashes = with_room(self._hashes, max(256, 2 * len(self._hashes)))
        self._hashes[slot] = hashed
        return slot

    def renumber(self) -> Ids:
        """Number the slots by hash, from 1 on; return the old slots in that order."""
        keys = self.keys()
        old = self.slots_of(keys)
        self._hashes = np.concatenate((np.zeros(1, np.uint64), self._hashes[old]))
        self._slots = {key: slot for slot, key in enumerate(keys, 1)}
        self._free = []
        return old

    def keep_lowest(self, capacity: int) -> Ids:
        """Let go of the keys with the highest hashes beyond ``capacity``; return their slots."""
        if len(self._slots) <= capacity:
            return np.empty(0, np.int64)
        # Strictly below the first that is too many: equal hashes leave together.
        return self.lower(int(np.partition(self.hashes(), capacity)[capacity]) - 1)

    def lower(self, highest: int) -> Ids:
        """Let go of the keys above a hash, and let none of them in again; return their slots."""
        if highest >= self.highest:
            return np.empty(0, np.int64)
        self.highest = highest
        held = np.fromiter(self._slots.values(), np.int64, len(self._slots))
        out = set(held[self._hashes[held] >= np.uint64(highest + 1)].tolist())
        self._slots = {key: slot for key, slot in self._slots.items() if slot not in out}
        self._free.extend(sorted(out, reverse=True))
        return np.array(sorted(out), np.int64)


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
        # A key above the other's limit may have been let go there after some of its occurrences:
        # its sum here would be of a part of the texts, and must not stay either.
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

    def sums(self, layer: str) -> Doubles:
        """Return the sums of a layer by slot, to be added to."""
        return self._sums.sums[layer]

    def count(self, layer: str, tally: tuple[Ids, Ids]) -> None:
        """Count members of groups: slots, each once, and how many there were."""
        slots, members = tally
        self._sums.counts[layer][slots] += members

    def within(self, layer: str) -> WithinGroups:
        """Return the mean cosine within the groups of a layer."""
        return self._sums.within(layer, self._kept())

    def _kept(self) -> Ids:
        return self.table.slots_of(self.table.keys())

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the sums, in the order of the table's keys."""
        return self._sums.to_arrays(prefix, self._kept())

    def load(
        self,
        prefix: str,
        arrays: Arrays,
        keys: Iterable[Key],
        highest: int,
        capacity: int,
    ) -> None:
        """Take back sums that were stored in the order of their keys."""
        self.table.admit(keys)
        self.table.renumber()
        self.table.highest = highest
        self._sums.load(prefix, arrays, capacity)


def tally(slots: Ids) -> tuple[Ids, Ids]:
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
