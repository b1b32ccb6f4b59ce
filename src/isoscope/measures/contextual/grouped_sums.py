"""Sums of unit vectors by group, and the mean cosine within groups that follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ROWS_AT_ONCE = 64
"""Sums that are copied at a time to be squared or added: few enough for a core's own cache."""


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
            held = len(self.counts[name])
            if held >= size:
                continue
            wanted = max(size, capacity)
            sums = np.zeros((wanted, self.sums[name].shape[1]))
            sums[:held] = self.sums[name]
            self.sums[name] = sums
            self.counts[name] = np.concatenate(
                (self.counts[name], np.zeros(wanted - held, np.int64))
            )

    def clear(self, slots: NDArray[np.int64]) -> None:
        """Empty slots whose groups are left out from now on, those without room among them."""
        for name in self.sums:
            held = slots[slots < len(self.counts[name])]
            self.sums[name][held] = 0
            self.counts[name][held] = 0

    def take(self, slots: NDArray[np.int64]) -> None:
        """Move the slots given to 1 and on, and forget all others."""
        for name in self.sums:
            moved = np.zeros((len(slots) + 1, self.sums[name].shape[1]))
            moved[1:] = self.sums[name][slots]
            self.sums[name] = moved
            self.counts[name] = np.concatenate((np.zeros(1, np.int64), self.counts[name][slots]))

    def add(self, slots: NDArray[np.int64], other: GroupedSums, taken: NDArray[np.int64]) -> None:
        """Add the slots that are ``taken`` from another to the slots given, each of them once."""
        for name in self.sums:
            sums, more = self.sums[name], other.sums[name]
            for first in range(0, len(slots), ROWS_AT_ONCE):
                rows = slice(first, first + ROWS_AT_ONCE)
                sums[slots[rows]] += more[taken[rows]]
            self.counts[name][slots] += other.counts[name][taken]

    def within(self, name: str, slots: NDArray[np.int64]) -> WithinGroups:
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

    def to_arrays(self, prefix: str, slots: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the sums of the slots given, in that order."""
        arrays: dict[str, NDArray[Any]] = {}
        for number, name in enumerate(self.sums):
            arrays[f"{prefix}.sums.{number}"] = self.sums[name][slots]
            arrays[f"{prefix}.counts.{number}"] = self.counts[name][slots]
        return arrays

    def load(self, prefix: str, arrays: Mapping[str, NDArray[Any]], capacity: int) -> None:
        """Take sums back, into the slots from 1 on, with room for others."""
        for number, name in enumerate(self.sums):
            sums, counts = arrays[f"{prefix}.sums.{number}"], arrays[f"{prefix}.counts.{number}"]
            self.sums[name] = np.zeros((capacity + 1, sums.shape[1]))
            self.sums[name][1 : len(sums) + 1] = sums
            self.counts[name] = np.zeros(capacity + 1, np.int64)
            self.counts[name][1 : len(sums) + 1] = counts
