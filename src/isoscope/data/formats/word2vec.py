"""word2vec's binary form: words with their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from isoscope.data.base import Cloud, rows_per_batch
from isoscope.data.formats.word_text import WordCloud, header_line
from isoscope.data.location import Location, readable
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.data.rewrite import Rewrite


LONGEST_WORD = 10_000

# Bytes read at a time.
CHUNK = 1 << 21

# More dimensions than this are a sign of a file of another kind.
WIDEST = 1_000_000


class Word2VecCloud(WordCloud):
    """word2vec's binary form: a header line, then word, space and float32 numbers a row."""

    def stretches(self) -> Iterator[tuple[int, list[bytes], NDArray[np.float32]]]:
        """Yield the first row, the words and the vectors of every batch."""
        rows, step = self.rows or 0, rows_per_batch(self.width)
        with self.stream() as file:
            file.readline()
            stream = WordStream(file, 4 * self.width, self.where)
            for first in range(0, rows, step):
                words, numbers = stream.take(min(step, rows - first), first)
                vectors = np.frombuffer(numbers, "<f4").reshape(-1, self.width)
                yield first, words, vectors.astype(np.float32, copy=False)
            if stream.has_more():
                raise DataError(f"{self.where} holds more than the {rows:,} vectors of its header")


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


def open_word2vec(location: Location) -> Cloud:
    """Open word2vec's binary form."""
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


def write_word2vec(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write words, byte for byte, with changed vectors."""
    cloud = cast("Word2VecCloud", rewrite.cloud)
    file.write(header_line(cloud.rows or 0, rewrite.change.new_width))
    for first, words, vectors in cloud.stretches():
        rows = rewrite.changed(vectors, first)
        file.write(
            b"".join(word + b" " + row.tobytes() for word, row in zip(words, rows, strict=True))
        )
