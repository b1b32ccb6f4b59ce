"""Vectors with a few bytes between them: word2vec's binary form and ``.fvecs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isoscope.clouds.contract import NO_LABELS, Batch, Cloud, rows_per_batch
from isoscope.clouds.matrix_file import fill
from isoscope.clouds.packages import refuse_column
from isoscope.clouds.streams import readable
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.clouds.location import Location

LONGEST_WORD = 10_000
WIDEST = 1_000_000
"""More dimensions than this are a sign of a file of another kind."""


class Word2VecCloud(Cloud):
    """word2vec's binary form: a header line, then word, space and float32 numbers a row."""

    population = True  # a vocabulary

    def __init__(self, location: Location, rows: int, width: int) -> None:
        super().__init__(location.stem, rows, width, "float32")
        self._location = location

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order, with the label ``word``."""
        where, step = str(self._location), rows_per_batch(self.width)
        rows = self.rows or 0
        with readable(where), self._location.stream() as file:
            file.readline()
            for first in range(0, rows, step):
                count = min(step, rows - first)
                vectors = np.empty((count, self.width), "<f4")
                words = []
                for row in range(count):
                    words.append(as_word(read_word(file, where, first + row)))
                    fill(file, vectors[row], where)
                labels = {"word": np.array(words, dtype=object)}
                yield Batch(vectors.astype(np.float32, copy=False), first, labels)
            if file.read().strip():
                raise DataError(f"{where} holds more than the {rows:,} vectors of its header")


def read_word(file: BinaryIO, where: str, row: int) -> bytes:
    """Read up to the space behind a word; some writers put a line feed before it."""
    letters = bytearray()
    while (letter := file.read(1)) != b" ":
        if not letter or len(letters) > LONGEST_WORD:
            raise DataError(f"{where}: row {row} has no word in front of its vector")
        letters += letter
    return bytes(letters)


def as_word(letters: bytes) -> str:
    """Decode a word; bytes that are no UTF-8 are shown as such, never dropped."""
    return letters.lstrip(b"\n").decode("utf-8", "backslashreplace")


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

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order."""
        where, step = str(self._location), rows_per_batch(self.width)
        first = 0
        with readable(where), self._location.stream() as file:
            while block := file.read(step * 4 * (self.width + 1)):
                if len(block) % (4 * (self.width + 1)):
                    raise DataError(f"{where} ends in the middle of a vector")
                yield Batch(self._vectors(block, first), first, NO_LABELS)
                first += len(block) // (4 * (self.width + 1))

    def _vectors(self, block: bytes, first: int) -> NDArray[np.float32]:
        words = np.frombuffer(block, "<i4").reshape(-1, self.width + 1)
        other = np.flatnonzero(words[:, 0] != self.width)
        if len(other):
            raise DataError(
                f"{self._location}: row {first + other[0]} says it has {words[other[0], 0]} "
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
    rows = None
    if not location.compression:
        rows, rest = divmod(location.size(), 4 * (width + 1))
        if rest:
            raise DataError(f"{location} ends in the middle of a vector")
        if rows < 2:
            raise DataError(f"{location} holds a single vector; a cloud needs at least two")
    return FvecsCloud(location, rows, width)
