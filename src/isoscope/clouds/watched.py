"""A sample of the rows that somebody else reads, without a read of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.sample import SampleTaker
from isoscope.clouds.selection import finite_rows
from isoscope.clouds.wrapped import WrappedGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from isoscope.clouds.contract import Batch, CloudGroup


class WatchedCloud(WrappedGroup):
    """A group of one cloud that keeps a random sample of its rows when it is first read.

    Parameters
    ----------
    group : CloudGroup
        Where the rows come from.
    size : int
        How many rows to keep.
    seed : int
        Which ones.
    """

    def __init__(self, group: CloudGroup, size: int, seed: int = 0) -> None:
        super().__init__(group)
        self._taker = SampleTaker(group.widths[0], size, seed, group.rows)
        self._read = False

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start, and look at what passes by the first time."""
        watching, self._read = not self._read, True
        for batches in self._group.batches():
            if watching:
                self._taker.add(batches[self.names[0]])
            yield batches

    def sample(self) -> NDArray[np.float64]:
        """Return the rows kept, in their order, without those that are not finite."""
        rows = self._taker.result().vectors
        good = finite_rows(rows)
        return rows if good is None else rows[good]
