"""The format ``.fvecs``: before every vector its width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isoscope.data.base import NO_LABELS, Batch, Cloud, StreamedCloud, check_rows, rows_per_batch
from isoscope.data.formats.matrix import fill_runs
from isoscope.data.formats.word2vec import WIDEST
from isoscope.data.location import Location, readable
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.data.rewrite import Rewrite


class FvecsCloud(StreamedCloud):
    """``.fvecs``: before every vector its width as a 32-bit number, then float32 numbers."""

    def __init__(self, location: Location, rows: int | None, width: int) -> None:
        super().__init__(location, location.stem, rows, width, "float32")
        self._stop: int | None = None
        """Row behind the last one of a piece; None of a whole file, which is read to its end."""

    @property
    def _row_bytes(self) -> int:
        return 4 * (self.width + 1)

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order."""
        step, row = rows_per_batch(self.width), self.start
        with self.stream() as file:
            if row:
                file.seek(row * self._row_bytes)
            while block := file.read(self._rows_ahead(row, step) * self._row_bytes):
                count, rest = divmod(len(block), self._row_bytes)
                vectors = self._vectors(block[: len(block) - rest], row)
                if rest:
                    raise DataError(f"{self.where} ends in the middle of row {row + count}")
                yield Batch(vectors, row - self.start, NO_LABELS)
                row += count

    def _rows_ahead(self, row: int, step: int) -> int:
        """Return how many rows to read next."""
        return step if self._stop is None else min(step, self._stop - row)

    def read_rows(self, indices: NDArray[np.int64]) -> NDArray[np.float32] | None:
        """Return some rows; None where the file is compressed."""
        if self.rows is None:
            return None
        check_rows(indices, self.rows, self.where)
        raw = np.empty((len(indices), self.width + 1), "<i4")
        with readable(self.where), self._location.open() as file:
            fill_runs(file, raw, self.where, self.start * self._row_bytes, indices)
        return self._checked(raw, self.start + indices)

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return stretches of rows; a compressed file stays whole."""
        if self.rows is None:
            return (self,)
        pieces = []
        for piece, _, last in self._even_pieces(rows):
            piece._stop = self.start + last
            pieces.append(piece)
        return pieces

    def _vectors(self, block: bytes, first: int) -> NDArray[np.float32]:
        words = np.frombuffer(block, "<i4").reshape(-1, self.width + 1)
        return self._checked(words, np.arange(first, first + len(words)))

    def _checked(self, words: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors behind the widths, all of which must be the same."""
        other = np.flatnonzero(words[:, 0] != self.width)
        if len(other):
            raise DataError(
                f"{self._location}: row {rows[other[0]]} says it has {words[other[0], 0]} "
                f"numbers, the first has {self.width}"
            )
        vectors: NDArray[Any] = words[:, 1:].view("<f4")
        return np.ascontiguousarray(vectors, dtype=np.float32)


def open_fvecs(location: Location) -> Cloud:
    """Open an ``.fvecs`` file."""
    with readable(str(location)), location.stream() as file:
        width = int.from_bytes(file.read(4), "little", signed=True)
    if not 0 < width <= WIDEST:
        raise DataError(f"{location} is not an .fvecs file: its first vector has {width} numbers")
    if location.compression:
        return FvecsCloud(location, None, width)
    rows, rest = divmod(location.size(), 4 * (width + 1))
    cloud = FvecsCloud(location, rows, width)
    if rest:
        for _ in cloud.read():  # which names the row that is too short or too long
            pass
    if rows < 2:
        raise DataError(f"{location} holds a single vector; a cloud needs at least two")
    return cloud


def write_fvecs(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write the new width before every vector."""
    width = rewrite.change.new_width
    for batch in rewrite.batches():
        words = np.empty((len(batch.vectors), width + 1), "<i4")
        words[:, 0] = width
        words[:, 1:] = batch.vectors.view("<i4")
        file.write(words.data)
