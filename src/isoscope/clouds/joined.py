"""Several files as one cloud, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.contract import Batch, Cloud
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class JoinedCloud(Cloud):
    """Clouds of one width, read in order, with rows numbered through."""

    def __init__(self, clouds: Sequence[Cloud], name: str) -> None:
        first = clouds[0]
        for cloud in clouds:
            if cloud.width != first.width:
                raise DataError(
                    f"{name}: {cloud.name} has {cloud.width} dimensions, {first.name} has "
                    f"{first.width}"
                )
            if cloud.dtype != first.dtype:
                raise DataError(
                    f"{name}: {cloud.name} holds {cloud.dtype}, {first.name} holds {first.dtype}"
                )
        counts = [cloud.rows for cloud in clouds]
        known = [count for count in counts if count is not None]
        rows = sum(known) if len(known) == len(counts) else None
        super().__init__(name, rows, first.width, first.dtype)
        self._clouds = tuple(clouds)
        self.population = all(cloud.population for cloud in clouds)

    def read(self) -> Iterator[Batch]:
        """Yield the rows of every cloud in turn."""
        start = 0
        for cloud in self._clouds:
            count = 0
            for batch in cloud.read():
                yield batch._replace(first_row=start + batch.first_row)
                count = batch.first_row + len(batch.vectors)
            start += count
