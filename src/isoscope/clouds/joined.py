"""Several files as one cloud, one after the other."""

from __future__ import annotations

import bisect
import copy
from typing import TYPE_CHECKING

import numpy as np

from isoscope.clouds.checks import check_rows
from isoscope.clouds.contract import Array, Batch, Cloud
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray


class JoinedCloud(Cloud):
    """Clouds of one width, read in order, with rows numbered through.

    Parameters
    ----------
    clouds : sequence of Cloud
        What is read, in order.
    name : str
        What results call the cloud.
    bad : mapping of str to str, optional
        Files that were left out, and why.
    """

    def __init__(
        self, clouds: Sequence[Cloud], name: str, bad: Mapping[str, str] | None = None
    ) -> None:
        self.bad = dict(bad or {})
        first = clouds[0]
        for cloud in clouds:
            check_alike(cloud, first, name)
        counts = [cloud.rows for cloud in clouds]
        known = [count for count in counts if count is not None]
        rows = sum(known) if len(known) == len(counts) else None
        super().__init__(name, rows, first.width, first.dtype)
        self._clouds = tuple(clouds)
        self.population = all(cloud.population for cloud in clouds)
        self.caveat = "; ".join(dict.fromkeys(one.caveat for one in clouds if one.caveat))
        self._starts: list[int] = []
        """First row of each cloud, as far as it has been read."""

    @property
    def clouds(self) -> tuple[Cloud, ...]:
        """The cloud of each file."""
        return self._clouds

    def place(self, name: str, row: int) -> str:
        """Say in which file a row is, and which row of that."""
        del name
        at = max(bisect.bisect_right(self._starts, row) - 1, 0)
        start = self._starts[at] if self._starts else 0
        cloud = self._clouds[at]
        return cloud.place(cloud.name, row - start)

    def read_rows(self, indices: NDArray[np.int64]) -> Array | None:
        """Return some rows, where every file knows its rows and can read some of them."""
        if self.rows is None:
            return None
        check_rows(indices, self.rows, self.name)
        starts = np.cumsum([0, *(cloud.rows or 0 for cloud in self._clouds)])
        cuts = np.searchsorted(indices, starts)
        chosen = []
        for k, cloud in enumerate(self._clouds):
            some = indices[cuts[k] : cuts[k + 1]]
            if len(some) or not k:
                rows = cloud.read_rows(some - starts[k])
                if rows is None:
                    return None
                chosen.append(rows)
        return np.concatenate(chosen)

    def read(self) -> Iterator[Batch]:
        """Yield the rows of every cloud in turn."""
        start = 0
        self._starts = []
        for cloud in self._clouds:
            count = 0
            self._starts.append(start)
            for batch in cloud.read():
                yield batch._replace(first_row=start + batch.first_row)
                count = batch.first_row + len(batch.vectors)
            start += count

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return the pieces of every file in turn, under the name of the whole."""
        pieces = []
        for cloud in self._clouds:
            for piece in map(copy.copy, cloud.cut(rows)):
                piece.name, piece.population, piece.caveat = self.name, self.population, self.caveat
                pieces.append(piece)
        return pieces


def check_alike(cloud: Cloud, first: Cloud, name: str) -> None:
    """Refuse a cloud that does not go together with the first one."""
    if cloud.width != first.width:
        raise DataError(
            f"{cloud.where} has {cloud.width} dimensions, {first.where} has {first.width}: "
            f"{name} is not one cloud"
        )
    if cloud.dtype != first.dtype:
        raise DataError(
            f"{cloud.where} holds {cloud.dtype}, {first.where} holds {first.dtype}: "
            f"{name} is not one cloud"
        )
