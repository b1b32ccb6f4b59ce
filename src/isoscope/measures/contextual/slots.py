"""Which rows of the sums belong to which token type or word, and which of them are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from isoscope.measures.contextual.hashing import HIGHEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

Key = TypeVar("Key", int, str)

LEFT_OUT = 0
"""The slot of everything that is not kept: added to, never read."""


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

    def slots_of(self, keys: Iterable[Key]) -> NDArray[np.int64]:
        """Return the slots of keys that are in the table, or ``LEFT_OUT``."""
        get = self._slots.get
        return np.array([get(key, LEFT_OUT) for key in keys], np.int64)

    def hashes_of(self, slots: NDArray[np.int64]) -> NDArray[np.uint64]:
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
            grown = np.zeros(max(256, 2 * len(self._hashes)), np.uint64)
            grown[: len(self._hashes)] = self._hashes
            self._hashes = grown
        self._hashes[slot] = hashed
        return slot

    def renumber(self) -> NDArray[np.int64]:
        """Number the slots by hash, from 1 on; return the old slots in that order."""
        keys = self.keys()
        old = self.slots_of(keys)
        self._hashes = np.concatenate((np.zeros(1, np.uint64), self._hashes[old]))
        self._slots = {key: slot for slot, key in enumerate(keys, 1)}
        self._free = []
        return old

    def keep_lowest(self, capacity: int) -> NDArray[np.int64]:
        """Let go of the keys with the highest hashes beyond ``capacity``; return their slots."""
        if len(self._slots) <= capacity:
            return np.empty(0, np.int64)
        # Strictly below the first that is too many: equal hashes leave together.
        return self.lower(int(np.partition(self.hashes(), capacity)[capacity]) - 1)

    def lower(self, highest: int) -> NDArray[np.int64]:
        """Let go of the keys above a hash, and let none of them in again; return their slots."""
        if highest >= self.highest:
            return np.empty(0, np.int64)
        self.highest = highest
        held = np.fromiter(self._slots.values(), np.int64, len(self._slots))
        out = set(held[self._hashes[held] >= np.uint64(highest + 1)].tolist())
        self._slots = {key: slot for key, slot in self._slots.items() if slot not in out}
        self._free.extend(sorted(out, reverse=True))
        return np.array(sorted(out), np.int64)
