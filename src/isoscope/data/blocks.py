"""Dealing rows to blocks at random, so that a measure can be taken without one of them.

Neighbouring rows of a file are often alike: sorted by frequency, by date, by topic. Blocks cut
from such a file differ far too much, and blocks dealt in turn (every 31st row) too little, as each
gets its share of every stretch. A hash of the row's position deals them as a shuffled file would.
Rows of one document go to one block together, by a hash of its name, because they are not
independent of each other.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.base import Batch, Labels
from isoscope.data.sampling import row_keys
from isoscope.errors import UsageError

# Enough for an error to be known within an eighth, few enough to be summed in passing. With B
# blocks a standard error is itself off by about 1/√(2 (B − 1)) of its size, 0.13 for 31 of them; a
# hundred blocks would halve that at three times the sums. A remainder by 31 depends on all bits
# of a hash, one by 32 on the last five alone.
BLOCKS = 31

# Not that of any sample, so that what is drawn and how it is dealt have nothing in common.
DEALING_SEED = 0x5EED

# The label that says which document a row is from, where a source has it.
DOCUMENT = "document"


@dataclass(frozen=True)
class Dealt:
    """The groups to which the rows of a batch belong: documents, or each row its own.

    The block of a group is its number modulo 31.
    """

    groups: NDArray[np.int64]

    @classmethod
    def by_position(cls, first: int, rows: int) -> Dealt:
        """Deal rows that are independent of each other, from their positions."""
        keys = row_keys(np.arange(first, first + rows), DEALING_SEED)
        # One bit is given up, so that a number of 64 bits without a sign fits one with a sign and
        # stays positive.
        return cls((keys >> np.uint64(1)).astype(np.int64))

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """The block of every row."""
        return self.groups % BLOCKS

    def part(self, rows: slice | NDArray[np.int64]) -> Dealt:
        """Return the groups of some of the rows."""
        return Dealt(self.groups[rows])

    def totals(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Σ of one number per row, for each block."""
        return np.bincount(self.blocks, values, BLOCKS).astype(np.float64)

    def sums(
        self, x: NDArray[Any], *weights: NDArray[Any], squared: bool = False
    ) -> list[NDArray[np.float64]]:
        """Σ w_i x_i for each block, for each set of weights; Σ w_i x_i² where ``squared``.

        The rows of a block are copied to where they stay in the cache for all sets; a product
        with a matrix of shares would take twice the time.
        """
        # A stable sort keeps the rows of a block in the order of the file, so that they are always
        # added in the same order.
        order = np.argsort(self.blocks, kind="stable")
        ends = np.cumsum(np.bincount(self.blocks, minlength=BLOCKS))
        ordered = [given.astype(x.dtype, copy=False)[order] for given in weights]
        found = np.zeros((len(weights), BLOCKS, x.shape[1]), x.dtype)
        memory = np.empty((int(np.diff(ends, prepend=0).max()), x.shape[1]), x.dtype)
        start = 0
        for block, end in enumerate(ends):
            # Indices are in range; "clip" spares numpy a copy to make sure of it.
            rows = np.take(x, order[start:end], 0, out=memory[: end - start], mode="clip")
            if squared:
                np.multiply(rows, rows, out=rows)
            for sums, factors in zip(found, ordered, strict=True):
                np.dot(factors[start:end], rows, out=sums[block])
            start = end
        # Within a batch sums are in the precision of the rows, as those of unit vectors over the
        # whole batch are; batches are added to each other in float64.
        return list(found.astype(np.float64))


class Dealer:
    """Deals the rows of a cloud, by their position or by a label.

    Parameters
    ----------
    label : str, optional
        Rows with the same value of this label stay together. By default ``document`` is used
        where the rows have it.
    """

    def __init__(self, label: str | None = None) -> None:
        self.label = label
        self._last: tuple[Labels, Dealt] | None = None
        self.used = ""
        """The label that told documents apart, once rows were dealt by one."""

    def deal(self, batch: Batch) -> Dealt:
        """Return the groups of the rows of a batch."""
        label = self.label or DOCUMENT
        if label in batch.labels:
            self.used = label
            # The clouds of a group share their labels, and hashing names takes time.
            last = self._last
            if last is None or last[0] is not batch.labels:
                last = self._last = batch.labels, Dealt(hashed(batch.labels[label]))
            return last[1]
        if self.label is not None:
            known = ", ".join(batch.labels) or "none"
            raise UsageError(
                f"rows have no label {self.label!r} that names documents; they have: {known}"
            )
        return Dealt.by_position(batch.first_row, len(batch.vectors))


def hashed(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return a number for each value, the same in every batch, process and version."""
    distinct, where = np.unique(np.asarray(values).astype(str), return_inverse=True)
    numbers = [zlib.crc32(str(value).encode()) for value in distinct]
    # Not Python's hash(), which differs from process to process.
    return np.asarray(numbers, dtype=np.int64)[where]
