"""Vectors with a few bytes between them: word2vec's binary form and ``.fvecs``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isoscope.clouds.checks import check_rows
from isoscope.clouds.contract import NO_LABELS, Batch, Cloud, LazyLabels, rows_per_batch
from isoscope.clouds.location import steady
from isoscope.clouds.matrix_file import fill_runs
from isoscope.clouds.packages import refuse_column
from isoscope.clouds.streams import readable
from isoscope.clouds.word_text import as_words
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.clouds.location import Location

LONGEST_WORD = 10_000
CHUNK = 1 << 21
"""Bytes read at a time."""

WIDEST = 1_000_000
"""More dimensions than this are a sign of a file of another kind."""


class Word2VecCloud(Cloud):
    """word2vec's binary form: a header line, then word, space and float32 numbers a row."""

    population = True  # a vocabulary

    def __init__(self, location: Location, rows: int, width: int) -> None:
        super().__init__(location.stem, rows, width, "float32")
        self._location = location
        self._size = location.size()

    @property
    def where(self) -> str:
        """The file."""
        return str(self._location)

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order, with the label ``word``."""
        where, step = self.where, rows_per_batch(self.width)
        rows = self.rows or 0
        with steady(self._location, self._size), self._location.stream() as file:
            file.readline()
            stream = WordStream(file, 4 * self.width, where)
            for first in range(0, rows, step):
                words, numbers = stream.take(min(step, rows - first), first)
                vectors = np.frombuffer(numbers, "<f4").reshape(-1, self.width)
                labels = LazyLabels({"word": partial(as_words, words)})
                yield Batch(vectors.astype(np.float32, copy=False), first, labels)
            if stream.has_more():
                raise DataError(f"{where} holds more than the {rows:,} vectors of its header")


class WordStream:
    """Words and vectors, one after the other, out of a stream of bytes."""

    def __init__(self, file: BinaryIO, size: int, where: str) -> None:
        self._file, self._size, self._where = file, size, where
        self._buffer, self._position = b"", 0

    def take(self, count: int, first: int) -> tuple[list[bytes], bytes]:
        """Return the next words and their vectors' bytes; ``first`` is the row they start at."""
        words: list[bytes] = []
        vectors: list[memoryview] = []
        view = memoryview(self._buffer)
        while len(words) < count:
            space = self._buffer.find(b" ", self._position, self._position + LONGEST_WORD)
            last = space + 1 + self._size
            if space < 0 or last > len(self._buffer):
                self._fill(first + len(words), space)
                view = memoryview(self._buffer)
                continue
            # Some writers put a line feed behind a vector.
            word = self._buffer[self._position : space].lstrip(b"\n")
            if not word:
                raise self._no_word(first + len(words))
            words.append(word)
            vectors.append(view[space + 1 : last])
            self._position = last
        return words, b"".join(vectors)

    def _fill(self, row: int, space: int) -> None:
        """Read on, because this row is not in the buffer as a whole."""
        rest = self._buffer[self._position :]
        if space < 0 and len(rest) >= LONGEST_WORD:
            raise self._no_word(row)
        more = self._file.read(max(CHUNK, self._size))
        if not more and space < 0:
            raise self._no_word(row)
        if not more:
            raise DataError(f"{self._where} ends early: in the middle of row {row}")
        self._buffer, self._position = rest + more, 0

    def _no_word(self, row: int) -> DataError:
        return DataError(
            f"{self._where}: row {row} has no word in front of its vector; the file may be "
            "truncated, or a vector before it too short"
        )

    def has_more(self) -> bool:
        """Whether anything but white space follows."""
        return bool(self._buffer[self._position :].strip() or self._file.read().strip())


def open_word2vec(location: Location, column: str | None) -> Cloud:
    """Open word2vec's binary form."""
    refuse_column(str(location), column)
    with readable(str(location)), location.stream() as file:
        fields = file.readline(100).split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        raise DataError(
            f"{location} is not in word2vec's binary form: it does not begin with count and width"
        )
    rows, width = int(fields[0]), int(fields[1])
    if rows < 2 or not 0 < width <= WIDEST:
        raise DataError(f"{location}: its header promises {rows:,} vectors of {width:,} numbers")
    return Word2VecCloud(location, rows, width)


class FvecsCloud(Cloud):
    """``.fvecs``: before every vector its width as a 32-bit number, then float32 numbers."""

    def __init__(self, location: Location, rows: int | None, width: int) -> None:
        super().__init__(location.stem, rows, width, "float32")
        self._location = location
        self._size = location.size()
        self._stop: int | None = None
        """Row behind the last one of a piece; None of a whole file, which is read to its end."""

    @property
    def where(self) -> str:
        """The file."""
        return str(self._location)

    @property
    def _row_bytes(self) -> int:
        return 4 * (self.width + 1)

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order."""
        step, row = rows_per_batch(self.width), self.start
        with steady(self._location, self._size), self._location.stream() as file:
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


def open_fvecs(location: Location, column: str | None) -> Cloud:
    """Open an ``.fvecs`` file."""
    refuse_column(str(location), column)
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
