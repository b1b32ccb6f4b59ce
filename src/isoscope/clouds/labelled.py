"""A cloud with labels that somebody holds apart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.contract import Batch, Cloud
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.clouds.contract import CloudGroup
    from isoscope.clouds.location import Location


class LabelledCloud(Cloud):
    """The rows of a cloud, each with one more label.

    Parameters
    ----------
    cloud : Cloud
        Where the rows come from.
    key : str
        Name of the label.
    values : array-like of shape (rows,)
        The label of every row.
    """

    def __init__(self, cloud: CloudGroup, key: str, values: Any) -> None:
        if not isinstance(cloud, Cloud):
            raise UsageError("labels by row need a single cloud")
        self._key, self._values, self._cloud = key, np.asarray(values), cloud
        self.population, self.caveat = cloud.population, cloud.caveat
        self.fault, self.invalid = cloud.fault, cloud.invalid
        super().__init__(cloud.name, cloud.rows, cloud.width, cloud.dtype)
        if self._values.ndim != 1:
            raise UsageError(f"a {key} for every row is one list, not {self._values.ndim} deep")
        if cloud.rows is not None:
            self._check(cloud.rows)

    @property
    def cloud(self) -> Cloud:
        """Where the rows come from."""
        return self._cloud

    @property
    def label(self) -> tuple[str, NDArray[Any]]:
        """Name of the label, and that of every row."""
        return self._key, self._values

    @property
    def where(self) -> str:
        """Where the vectors are."""
        return self._cloud.where

    @property
    def location(self) -> Location | None:
        """The file that the vectors are in."""
        return self._cloud.location

    def place(self, name: str, row: int) -> str:
        """Say where a row is, as the cloud below does."""
        return self._cloud.place(name, row)

    def read(self) -> Iterator[Batch]:
        """Yield the rows with their label."""
        last = 0
        for batch in self._cloud.read():
            last = batch.first_row + len(batch.vectors)
            values = self._values[batch.first_row : last]
            if len(values) < len(batch.vectors):
                self._check(last)
            yield batch._replace(labels={**batch.labels, self._key: values})
        self._check(last)

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return labelled pieces; where one does not know its rows, nobody knows their labels."""
        pieces: list[Cloud] = []
        first = 0
        for piece in self._cloud.cut(rows):
            if piece.rows is None:
                return (self,)
            labelled = LabelledCloud(piece, self._key, self._values[first : first + piece.rows])
            labelled.start = piece.start
            pieces.append(labelled)
            first += piece.rows
        return pieces

    def _check(self, rows: int) -> None:
        if rows != len(self._values):
            raise DataError(
                f"{self.name}: {len(self._values):,} values of {self._key} for {rows:,} rows"
            )
