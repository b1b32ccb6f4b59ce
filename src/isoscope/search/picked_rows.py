"""Some rows by number, out of a cloud that somebody else reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.clouds.sample import on_host
from isoscope.clouds.wrapped import WrappedGroup
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from isoscope.clouds.contract import Batch, CloudGroup


class PickedRows(WrappedGroup):
    """A group of one cloud that keeps some of its rows when it is first read.

    Parameters
    ----------
    group : CloudGroup
        Where the rows come from.
    wanted : array of int
        Their numbers, rising, each once.
    """

    def __init__(self, group: CloudGroup, wanted: NDArray[np.int64]) -> None:
        super().__init__(group)
        self._wanted = wanted
        self._found: list[NDArray[np.float64]] = []
        self._read = 0
        self._started = False

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start, and keep what is wanted the first time."""
        picking, self._started = not self._started, True
        for batches in self._group.batches():
            batch = batches[self.names[0]]
            if picking:
                self._pick(batch)
            yield batches

    def _pick(self, batch: Batch) -> None:
        first, self._read = batch.first_row, batch.first_row + len(batch.vectors)
        places = np.searchsorted(self._wanted, [first, self._read])
        here = self._wanted[slice(*places)] - first
        if len(here):
            self._found.append(on_host(batch.vectors, here))

    def found(self) -> NDArray[np.float64]:
        """Return the rows in their order, NaN in place of those that are not finite."""
        if len(self._wanted) and self._wanted[-1] >= self._read:
            raise DataError(
                f"{self.names[0]} has {self._read:,} rows, from 0; there is no row "
                f"{int(self._wanted[-1]):,}"
            )
        rows = np.concatenate([np.empty((0, self.widths[0])), *self._found])
        rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return rows
