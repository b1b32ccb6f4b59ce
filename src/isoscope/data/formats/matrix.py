"""Rows of a matrix that lies somewhere inside a file, streamed.

Files are read into fresh buffers, never mapped: mapped pages count as resident memory, so a
3 GB file would show up as 3 GB of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from isoscope.data.base import (
    NO_LABELS,
    STORED_AS,
    Batch,
    Cloud,
    FileCloud,
    Labels,
    check_rows,
    rows_per_batch,
    widen_bfloat16,
)
from isoscope.data.location import Location, readable
from isoscope.errors import DataError

# Bytes that are read although nobody wants them, because a seek, or a request over a network, would
# take longer.
GAP = 1 << 17

# Bytes that are read at a time at most.
LONGEST_RUN = 1 << 22


@dataclass(frozen=True)
class MatrixLayout:
    """How a matrix is written down, from its first byte on."""

    rows: int
    width: int
    stored: str
    """Name of the stored type: float16, bfloat16, float32 or float64."""
    byte_order: str = "<"
    column_major: bool = False

    @property
    def dtype(self) -> np.dtype:
        """Type of the raw numbers; bfloat16 is read as its bits."""
        return np.dtype(self.byte_order + STORED_AS[self.stored].str[1:])

    @property
    def bytes(self) -> int:
        """Size of the whole matrix."""
        return self.rows * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """Size of one row."""
        return self.width * self.dtype.itemsize

    def native(self, raw: NDArray[np.generic]) -> np.ndarray:
        """Turn raw numbers into floats of this machine, without a copy where they are already."""
        native = raw.astype(raw.dtype.newbyteorder("="), copy=False)
        return widen_bfloat16(native) if self.stored == "bfloat16" else native


def fill(file: BinaryIO, buffer: np.ndarray, where: str) -> None:
    """Read until the buffer is full, or say that the file ended before."""
    view = memoryview(buffer.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    done = 0
    while done < len(view):
        got = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not got:
            raise DataError(
                f"{where} ends early: {len(view) - done:,} bytes are missing "
                "(truncated, or changed while it was read)"
            )
        done += got


def row_batches(
    file: BinaryIO, layout: MatrixLayout, where: str
) -> Iterator[tuple[int, np.ndarray]]:
    """Read a row-major matrix from the current position on: first row and rows of each batch."""
    step = rows_per_batch(layout.width)
    for first in range(0, layout.rows, step):
        rows = min(step, layout.rows - first)
        # A fresh array for every batch: threads may still be computing on the last ones, and a
        # batch that was given out is never written to again.
        raw = np.empty((rows, layout.width), layout.dtype)
        fill(file, raw, where)
        yield first, layout.native(raw)


def column_batches(
    file: BinaryIO, layout: MatrixLayout, where: str, offset: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Read rows of a column-major matrix that starts at ``offset``: one stretch per column."""
    step = rows_per_batch(layout.width)
    size = layout.dtype.itemsize
    for first in range(0, layout.rows, step):
        rows = min(step, layout.rows - first)
        raw = np.empty((layout.width, rows), layout.dtype)
        for column in range(layout.width):
            file.seek(offset + (column * layout.rows + first) * size)
            fill(file, raw[column], where)
        yield first, np.ascontiguousarray(layout.native(raw).T)


def some_rows(
    file: BinaryIO, layout: MatrixLayout, where: str, offset: int, indices: NDArray[np.int64]
) -> np.ndarray:
    """Read some rows of a matrix that starts at ``offset``, with one seek for near neighbours."""
    size = layout.dtype.itemsize
    chosen = np.empty((len(indices), layout.width), layout.dtype)
    if layout.column_major:
        for column in range(layout.width):
            start = offset + column * layout.rows * size
            fill_runs(file, chosen[:, column : column + 1], where, start, indices)
    else:
        fill_runs(file, chosen, where, offset, indices)
    return layout.native(chosen)


def fill_runs(
    file: BinaryIO, chosen: np.ndarray, where: str, start: int, indices: NDArray[np.int64]
) -> None:
    """Fill an array with some of the rows that lie one after the other from ``start`` on."""
    width = chosen.shape[1]
    row_size = width * chosen.itemsize
    done = 0
    for run in near_runs(indices, GAP // row_size, max(LONGEST_RUN // row_size, 1)):
        first = int(run[0])
        rows = np.empty((int(run[-1]) + 1 - first, width), chosen.dtype)
        file.seek(start + first * row_size, os.SEEK_SET)
        fill(file, rows, where)
        chosen[done : done + len(run)] = rows[run - first]
        done += len(run)


def near_runs(indices: NDArray[np.int64], gap: int, longest: int) -> list[NDArray[np.int64]]:
    """Cut sorted indices where more than ``gap`` are left out, and into runs not too long."""
    if not len(indices):
        return []
    cut = (np.diff(indices) > gap + 1) | (np.diff(indices // longest) > 0)
    return np.split(indices, np.flatnonzero(cut) + 1)


class MatrixFileCloud(FileCloud):
    """A matrix inside an uncompressed file.

    Parameters
    ----------
    location : Location
        The file.
    layout : MatrixLayout
        Shape and type of the matrix.
    offset : int
        Byte at which the matrix starts.
    name : str
        What results call the cloud.
    labeller : callable, optional
        Gives the labels of rows [first, last).
    """

    def __init__(
        self,
        location: Location,
        layout: MatrixLayout,
        offset: int,
        name: str,
        labeller: Callable[[int, int], Labels] | None = None,
    ) -> None:
        super().__init__(location, name, layout.rows, layout.width, layout.stored)
        self._layout, self._offset = layout, offset
        self._labeller = labeller

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order."""
        with readable(self.where), self._location.open() as file:
            if self._layout.column_major:
                batches = column_batches(file, self._layout, self.where, self._offset)
            else:
                file.seek(self._offset, os.SEEK_SET)
                batches = row_batches(file, self._layout, self.where)
            for first, vectors in batches:
                yield Batch(vectors, first, self._labels(first, len(vectors)))

    def _labels(self, first: int, count: int) -> Labels:
        """Return the labels of some rows, which are numbered as in the file."""
        if self._labeller is None:
            return NO_LABELS
        return self._labeller(self.start + first, self.start + first + count)

    def read_rows(self, indices: NDArray[np.int64]) -> np.ndarray | None:
        """Return some rows; only they and near neighbours are read."""
        check_rows(indices, self.rows, self.where)
        with readable(self.where), self._location.open() as file:
            return some_rows(file, self._layout, self.where, self._offset, indices)

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return stretches of rows; rows that are spread over the file, column by column, stay."""
        if self._layout.column_major:
            return (self,)
        return self._pieces_from(self._offset, rows)

    def _pieces_from(self, offset: int, rows: int) -> list[Self]:
        """Return stretches of the rows that lie one after the other from ``offset`` on."""
        pieces = []
        for piece, first, last in self._even_pieces(rows):
            piece._layout = replace(self._layout, rows=last - first)
            piece._offset = offset + first * self._layout.row_bytes
            pieces.append(piece)
        return pieces
