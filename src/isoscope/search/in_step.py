"""Two clouds with the same rows, read in step: a group of two whose batches end together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.data.base import Batch, Cloud, LazyLabels
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isoscope.data.base import CloudGroup


A, B = "A", "B"
"""What the two clouds are called while they are compared."""


class InStep:
    """Two groups of one cloud each as one group.

    Rows with the same number are the same thing seen twice, so that a row that does not count in
    one cloud counts in neither, as everywhere in a group.

    Parameters
    ----------
    a, b : CloudGroup
        Groups of one cloud with as many rows; their widths may differ.
    """

    def __init__(self, a: CloudGroup, b: CloudGroup) -> None:
        self._groups = (a, b)
        self.names = (A, B)
        self.widths = (a.widths[0], b.widths[0])
        self.dtypes = (a.dtypes[0], b.dtypes[0])

    @property
    def rows(self) -> int | None:
        """Number of rows, where one of the two knows it."""
        first, second = self._groups
        return second.rows if first.rows is None else first.rows

    @property
    def fault(self) -> str:
        """What is wrong with rows that are not finite, as the cloud says it that has such rows."""
        return self._said("fault", Cloud.fault)

    @property
    def invalid(self) -> str:
        """Why such rows are left out."""
        return self._said("invalid", Cloud.invalid)

    def _said(self, what: str, usual: str) -> str:
        said = [str(getattr(group, what, usual)) for group in self._groups]
        return next((one for one in said if one != usual), usual)

    def place(self, name: str, row: int) -> str:
        """Say where a row is, for messages."""
        group = self._groups[name == B]
        place = getattr(group, "place", lambda name, row: f"{name}: row {row}")
        return f"{name}, {place(group.names[0], row)}"

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read both from the start, in pieces that hold the same rows."""
        streams = [Pieces(group) for group in self._groups]
        while True:
            left = [stream.left() for stream in streams]
            if not all(left):
                break
            count = min(left)
            yield {name: s.take(count) for name, s in zip(self.names, streams, strict=True)}
        if any(left):
            rows = [stream.count_all() for stream in streams]
            raise UsageError(unequal(self._groups, rows))


class Pieces:
    """The rows of one cloud, in pieces of any size."""

    def __init__(self, group: CloudGroup) -> None:
        self._stream = group.batches()
        self._name = group.names[0]
        self._batch: Batch | None = None
        self._start = 0

    def left(self) -> int:
        """Rows of the present batch that were not taken yet; 0 at the end."""
        while self._batch is None or self._start >= len(self._batch.vectors):
            batches = next(self._stream, None)
            if batches is None:
                return 0
            self._batch, self._start = batches[self._name], 0
        return len(self._batch.vectors) - self._start

    def take(self, count: int) -> Batch:
        """Return the next rows, which must be in the present batch."""
        assert self._batch is not None
        start, self._start = self._start, self._start + count
        return piece(self._batch, start, count)

    def count_all(self) -> int:
        """Read to the end, and return how many rows there are."""
        last = self._batch
        for batches in self._stream:
            last = batches[self._name]
        return 0 if last is None else last.first_row + len(last.vectors)


def piece(batch: Batch, start: int, count: int) -> Batch:
    """Return some consecutive rows of a batch, labels included."""
    if not start and count == len(batch.vectors):
        return batch
    rows = slice(start, start + count)
    makers: dict[str, Any] = {
        key: (lambda key=key: batch.labels[key][rows]) for key in batch.labels
    }
    return Batch(batch.vectors[rows], batch.first_row + start, LazyLabels(makers))


def unequal(groups: tuple[CloudGroup, CloudGroup], rows: list[int]) -> str:
    """Say that two clouds cannot have the same rows."""
    return (
        f"{groups[0].names[0]} has {rows[0]:,} rows and {groups[1].names[0]} {rows[1]:,}: they are "
        "not the same ones; --other-rows compares them as two clouds, and ids (--ids) tell which "
        "rows belong together"
    )
