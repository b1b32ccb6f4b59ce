"""Vectors of some occurrences of some words, within a fixed memory, whatever comes.

Which words are frequent is known only at the end, so the vectors of a word are kept from its first
occurrence on. Of each word those at the places with the lowest keys are kept, up to a number; of
the words those with the lowest hashes, as many as fit, and only until enough of them are frequent.
Both limits only ever fall, and so what is left depends on the set of occurrences alone: a bottom-k
sample (Cohen & Kaplan 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.measures.context.keyed_sums import with_room
from isoscope.measures.context.token_groups import HIGHEST
from isoscope.typing import Arrays, Ids, Single

Bits = NDArray[np.uint64]

# The vectors of a layer at some of the occurrences that were offered.
Fetch = Callable[[str, Ids], Single]


# What files call the arrays of a pool.
STORED = {"words": "_word", "keys": "_key", "full_words": "_full", "full_keys": "_full_key"}


class OccurrencePool:
    """Holds vectors of all layers for the occurrences that were chosen.

    Parameters
    ----------
    widths : mapping of str to int
        Width of each layer.
    capacity : int
        Occurrences that fit into memory.
    per_word : int
        Occurrences kept of one word.
    words : int
        Words wanted.
    minimum : int
        Occurrences that make a word count.
    """

    def __init__(
        self, widths: Mapping[str, int], capacity: int, per_word: int, words: int, minimum: int
    ) -> None:
        self._capacity = capacity
        self._per_word = per_word
        self._words = words
        self._minimum = minimum
        self._vectors = {name: np.empty((0, width), np.float32) for name, width in widths.items()}
        self._word = np.empty(0, np.uint64)
        self._key = np.empty(0, np.uint64)
        self._place = np.empty(0, np.int64)
        self._full = np.empty(0, np.uint64)
        self._full_key = np.empty(0, np.uint64)
        self.highest = HIGHEST
        """The highest hash of a word that is still kept."""

    @staticmethod
    def bytes_per_occurrence(widths: Mapping[str, int]) -> int:
        """Memory that an occurrence takes over all layers, with its two keys and its place."""
        return 4 * sum(widths.values()) + 24

    def __len__(self) -> int:
        return len(self._word)

    def offer(self, word: Bits, key: Bits, fetch: Fetch) -> None:
        """Look at the occurrences of a batch, and fetch the vectors of those that are kept."""
        if not self._capacity:
            # Otherwise the limits would follow from the order of what is not kept anyway.
            return
        # Vectors are fetched only for what may stay: a batch has thousands of occurrences, in all
        # layers of the model.
        candidates = self._candidates(word, key)
        if not len(candidates):
            return
        held = len(self._word)
        words = np.concatenate((self._word, word[candidates]))
        keys = np.concatenate((self._key, key[candidates]))
        kept = self._choose(words, keys)
        old, new = kept[kept < held], kept[kept >= held]
        places = np.empty(held + len(candidates), np.int64)
        places[:held] = self._place
        places[new] = self._free_places(self._place[old], len(new))
        for name in self._vectors:
            self._vectors[name][places[new]] = fetch(name, candidates[new - held])
        self._word, self._key, self._place = words[kept], keys[kept], places[kept]

    def lower(self, highest: int) -> None:
        """Let go of words above a hash."""
        if highest < self.highest:
            self.highest = highest
            kept = self._word <= np.uint64(highest)
            self._word, self._key = self._word[kept], self._key[kept]
            self._place = self._place[kept]
            full = self._full <= np.uint64(highest)
            self._full, self._full_key = self._full[full], self._full_key[full]

    def add(self, other: OccurrencePool) -> None:
        """Look at the occurrences that another pool holds, as if they came in one batch.

        What either pool has let go of would not be kept by one that had seen everything.
        """
        self.lower(other.highest)
        self.offer(
            other._word,
            other._key,
            lambda name, chosen: other._vectors[name][other._place[chosen]],
        )

    def _candidates(self, word: Bits, key: Bits) -> Ids:
        """Return the occurrences that might be kept: low word, and low key where it is full."""
        found = np.flatnonzero(word <= np.uint64(self.highest))
        if not len(self._full):
            return found
        position = np.minimum(np.searchsorted(self._full, word[found]), len(self._full) - 1)
        too_late = (self._full[position] == word[found]) & (key[found] > self._full_key[position])
        return np.asarray(found[~too_late])

    def _choose(self, words: Bits, keys: Bits) -> Ids:
        """Return which occurrences stay, sorted by word and key, and lower the limits."""
        order = np.lexsort((keys, words))
        ordered = words[order]
        first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        seen = np.diff(np.append(first, len(ordered)))
        rank = np.arange(len(ordered)) - np.repeat(first, seen)
        counts = np.minimum(seen, self._per_word)
        fitting = int(np.searchsorted(np.cumsum(counts), self._capacity, side="right"))
        frequent = np.flatnonzero(counts >= self._minimum)
        if len(frequent) >= self._words:
            fitting = min(fitting, int(frequent[self._words - 1]) + 1)
        if fitting < len(first):
            self.highest = int(ordered[first[fitting]]) - 1
        full = np.flatnonzero(counts[:fitting] == self._per_word)
        self._full = ordered[first[full]]
        self._full_key = keys[order[first[full] + self._per_word - 1]]
        stays = (rank < self._per_word) & (ordered <= np.uint64(max(self.highest, 0)))
        return order[stays]

    def _free_places(self, taken: Ids, count: int) -> Ids:
        """Return places for new vectors, lowest first.

        All room is asked for at once: what nobody has written to takes no memory.
        """
        held = len(next(iter(self._vectors.values())))
        needed = len(taken) + count
        if needed > held:
            held = max(needed, self._capacity)
            for name, vectors in self._vectors.items():
                self._vectors[name] = with_room(vectors, held)
        free = np.ones(held, np.bool_)
        free[taken] = False
        return np.flatnonzero(free)[:count]

    def groups(self, name: str) -> list[Single]:
        """Return the vectors of each kept word, words by hash and occurrences by key."""
        if not len(self._word):
            return []
        # They are held in this order.
        edges = np.flatnonzero(np.diff(self._word)) + 1
        return np.split(self._vectors[name][self._place], edges)

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays."""
        arrays: dict[str, NDArray[Any]] = {
            f"{prefix}.{name}": getattr(self, field).copy() for name, field in STORED.items()
        }
        arrays[f"{prefix}.highest"] = np.array([self.highest], np.uint64)
        for number, vectors in enumerate(self._vectors.values()):
            arrays[f"{prefix}.vectors.{number}"] = vectors[self._place]
        return arrays

    def load(self, prefix: str, arrays: Arrays) -> None:
        """Take the state back."""
        for name, field in STORED.items():
            setattr(self, field, np.array(arrays[f"{prefix}.{name}"], np.uint64))
        self.highest = int(arrays[f"{prefix}.highest"][0])
        self._place = np.arange(len(self._word))
        for number, name in enumerate(self._vectors):
            self._vectors[name] = with_room(arrays[f"{prefix}.vectors.{number}"], self._capacity)
