"""Random samples of rows that do not depend on the order in which the rows arrive.

Every row gets 64 random-looking bits, its key, from its position and the seed (SplitMix64), and the
rows with the smallest keys are the sample: a bottom-k sample. So any number of threads or machines
draw the same one, in one read and without knowing the number of rows, and two samples merge by
keeping the smallest keys of both.

References
----------
Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators, OOPSLA. Cohen & Kaplan
(2007), Summarizing data using bottom-k sketches, PODC.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import ArrayCloud, on_host, to_host
from isoscope.data.base import Batch, Cloud, CloudGroup
from isoscope.data.combine import FileParts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.data.blocks import Dealt


def row_keys(indices: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Mix index and seed into 64 random-looking bits (SplitMix64; Steele, Lea & Flood 2014)."""
    # The seed is spread over all 64 bits first: added as it is, seeds 0 and 1 would give the same
    # keys to rows shifted by one. Products wrap around 2⁶⁴, which is meant.
    start = np.uint64((seed * 0xD1342543DE82EF95 + 1) % 2**64)
    z = (indices.astype(np.uint64) + start) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


DEFAULT_SIZE = 1_024

# For measures of neighbours, which a small sample moves far apart.
LARGE_SIZE = 4_096


# Standard deviations by which more rows are expected among the lowest keys than are sampled.
SPARE = 10

# Rows whose keys are held at a time when only a few are read.
KEYS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Sample:
    """The sampled rows in the order of their indices."""

    keys: NDArray[np.uint64]
    indices: NDArray[np.int64]
    vectors: NDArray[np.float64]
    groups: NDArray[np.int64]
    """The document of each row, or its position where rows are not dealt by documents."""

    def where(self, kept: NDArray[Any]) -> Sample:
        """Return some of the rows."""
        return Sample(*(array[kept] for array in self.to_arrays().values()))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the sample as named arrays, for a file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class SampleTaker:
    """Collects the sample from the batches of one thread.

    Where ``rows`` are known to come, only keys in the lowest part of their range are looked at: so
    many more than needed on average that too few are as good as impossible.
    """

    def __init__(self, width: int, size: int, seed: int, rows: int | None = None) -> None:
        self._size = size
        self._seed = seed
        self._width = width
        self._found: list[Sample] = []
        self._held = 0
        # For 1,024 of a million rows, 1,354 are expected in this part of the range, with a standard
        # deviation of 37.
        expected = size + SPARE * (math.sqrt(size) + 1)
        likely = 1.0 if rows is None else min(1.0, expected / max(rows, 1))
        self._highest = np.uint64(min(int(likely * 2**64), 2**64 - 1))

    def add(self, batch: Batch, dealt: Dealt | None = None) -> None:
        """Look at the rows of one batch."""
        if not self._size:
            return
        indices = np.arange(batch.first_row, batch.first_row + len(batch.vectors), dtype=np.int64)
        keys = row_keys(indices, self._seed)
        chosen = np.flatnonzero(keys <= self._highest)
        if not len(chosen):
            return
        if len(chosen) > self._size:
            # One batch has more candidates than the whole sample has rows; all but the lowest would
            # be thrown away later, after their vectors were copied.
            chosen = np.sort(np.argpartition(keys, self._size)[: self._size])
        groups = indices if dealt is None else dealt.groups
        # Copied, or one sampled row would keep its whole batch in memory.
        rows = on_host(batch.vectors, chosen)
        self._found.append(Sample(keys[chosen], indices[chosen], rows, groups[chosen]))
        self._held += len(chosen)
        # Not after every batch: sorting is cheaper for many rows at once, and four samples bound
        # the memory.
        if self._held > 4 * self._size:
            self._prune()

    def _prune(self) -> None:
        """Let go of the rows that cannot be in the sample any more."""
        kept = lowest(self._found, self._size)
        self._found, self._held = [kept], len(kept.keys)
        # Nothing above the largest key of a full sample can enter it any more.
        self._highest = min(self._highest, kept.keys.max())

    def result(self) -> Sample:
        """Return what was collected."""
        if not self._found:
            none = np.empty(0, np.int64)
            return Sample(np.empty(0, np.uint64), none, np.empty((0, self._width)), none)
        return lowest(self._found, self._size)


def lowest(samples: Sequence[Sample], size: int) -> Sample:
    """Return the ``size`` rows with the smallest keys of several samples.

    They are in the order of the source, as those of every sample are, so that the result does not
    depend on which sample was given first.
    """
    samples = [sample for sample in samples if len(sample.keys)] or samples[:1]
    if len(samples) == 1 and len(samples[0].keys) <= size:
        return samples[0]
    keys = np.concatenate([sample.keys for sample in samples])
    indices = np.concatenate([sample.indices for sample in samples])
    # Where each row that is kept stands in the result. Vectors are copied once, and only those that
    # are kept: they are nearly all of a sample.
    place = np.full(len(keys), -1)
    kept = np.argsort(keys, kind="stable")[:size]
    kept = kept[np.argsort(indices[kept])]
    place[kept] = np.arange(len(kept))
    first = samples[0].vectors
    vectors = np.empty((len(kept), first.shape[1]), first.dtype)
    start = 0
    for sample in samples:
        there = place[start : start + len(sample.keys)]
        start += len(there)
        rows = np.flatnonzero(there >= 0)
        vectors[there[rows]] = sample.vectors[rows]
    groups = np.concatenate([sample.groups for sample in samples])
    return Sample(keys[kept], indices[kept], vectors, groups[kept])


def draw(group: CloudGroup, size: int, seed: int) -> CloudGroup:
    """Keep a random sample of rows of each cloud of a group in memory.

    Every row of the source has the same chance, wherever it stands. Sources that can be read
    anywhere are asked for the sampled rows alone; others are read to their end.
    """
    drawn = draw_rows(group, size, seed) or draw_from_all(group, size, seed)
    if isinstance(drawn, Cloud):
        drawn.fault = getattr(group, "fault", drawn.fault)
        drawn.invalid = getattr(group, "invalid", drawn.invalid)
        if getattr(group, "nullable", False):  # sampled rows do not say which of them were null
            drawn.fault, drawn.invalid = f"is null or {drawn.fault}", f"null or {drawn.invalid}"
    return drawn


def draw_rows(group: CloudGroup, size: int, seed: int) -> CloudGroup | None:
    """Draw a sample by reading its rows alone; None where the source cannot do that."""
    if not isinstance(group, Cloud) or group.rows is None:
        return None
    indices = lowest_indices(group.rows, size, seed)
    rows = group.read_rows(indices)
    if rows is None:
        return None
    return sampled_cloud(group.name, group.dtype, on_host(rows, slice(None)), indices)


def lowest_indices(rows: int, size: int, seed: int) -> NDArray[np.int64]:
    """Return the indices that ``SampleTaker`` would keep of this many rows, rising."""
    kept = np.empty(0, np.int64)
    for first in range(0, rows, KEYS_AT_ONCE):
        these = np.arange(first, min(first + KEYS_AT_ONCE, rows), dtype=np.int64)
        candidates = np.concatenate((kept, these))
        order = np.argsort(row_keys(candidates, seed), kind="stable")[:size]
        kept = candidates[order]
    return np.sort(kept)


def draw_from_all(group: CloudGroup, size: int, seed: int) -> CloudGroup:
    """Draw a sample while reading everything."""
    takers = {
        name: SampleTaker(width, size, seed)
        for name, width in zip(group.names, group.widths, strict=True)
    }
    for batches in group.batches():
        for name, batch in batches.items():
            takers[name].add(batch)
    drawn: dict[str, Cloud] = {}
    for name, stored in zip(group.names, group.dtypes, strict=True):
        sample = takers[name].result()
        drawn[name] = sampled_cloud(name, stored, sample.vectors, sample.indices)
    return drawn[group.names[0]] if len(drawn) == 1 else FileParts(drawn)


def sampled_cloud(
    name: str, stored: str, vectors: NDArray[Any], indices: NDArray[np.int64]
) -> ArrayCloud:
    """Make a cloud of sampled rows, which remember where they stood."""
    dtype = np.float64 if stored == "float64" else np.float32
    return ArrayCloud(vectors.astype(dtype), name, labels={"row of the source": indices})


class TokenSample:
    """A random sample of tokens, the same whatever the layer and the size of batches."""

    def __init__(self, most: int, seed: int) -> None:
        self._most, self._seed = most, seed
        self._keys = np.empty(0, np.uint64)
        self._rows: list[NDArray[Any]] = []
        self._seen = 0

    def add(self, tokens: Any) -> None:
        """Look at some tokens."""
        self.add_rows(to_host(tokens))

    def add_rows(self, rows: NDArray[Any]) -> None:
        """Look at some vectors in an array."""
        keys = row_keys(np.arange(self._seen, self._seen + len(rows)), self._seed)
        self._seen += len(rows)
        chosen = np.arange(len(keys))
        if len(self._keys) >= self._most:
            chosen = np.flatnonzero(keys < self._keys.max())
        if not len(chosen):
            return
        self._rows.append(rows[chosen])
        self._keys = np.concatenate((self._keys, keys[chosen]))
        if len(self._keys) > self._most * 5 // 4:
            self._prune()

    def _prune(self) -> None:
        kept = np.sort(np.argsort(self._keys, kind="stable")[: self._most])
        self._rows, self._keys = [np.concatenate(self._rows)[kept]], self._keys[kept]

    def rows(self) -> NDArray[Any]:
        """Return the sampled vectors in the order in which they came."""
        if not self._rows:
            return np.empty((0, 0), np.float32)
        self._prune()
        return self._rows[0]
