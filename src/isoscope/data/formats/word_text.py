"""Word vectors as text: a word and its numbers a line, as GloVe, fastText and word2vec write them.

A first line of two whole numbers, count and width, is a header (word2vec, fastText); without one it
is GloVe's form. Arrow's CSV parser reads clean stretches at four times the speed of numpy's; a
stretch that it refuses is read line by line, which knows words with spaces and can name a line.
Written numbers have as many digits as float32 needs to come back the same.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from isoscope.data.base import Batch, Cloud, LazyLabels, StreamedCloud, rows_per_batch
from isoscope.data.location import Location, first_line, readable
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.data.rewrite import Rewrite


SEPARATORS = (b"\t", b" ")

# Bytes parsed at a time.
CHUNK = 1 << 23

# A line longer than this is not a vector but a file without line ends.
LONGEST_LINE = 1 << 24

# Arrow takes five kilobytes for a column, and a column for a dimension: a line of eight million
# numbers, which has sixteen megabytes, would take forty gigabytes.
MOST_COLUMNS = 1 << 14

# What some editors put in front of a UTF-8 file: no part of the first word.
SIGNATURE = b"\xef\xbb\xbf"

# Bytes of a word, and characters of an error, that a message shows: escapes of control characters
# make them up to four times as long.
LONGEST_WORD, LONGEST_ERROR = 24, 80

# No count of vectors or dimensions is longer.
MOST_DIGITS = 18


@dataclass(frozen=True)
class TextShape:
    """What the first two lines tell."""

    rows: int | None
    width: int
    separator: bytes
    header: bool


class WordCloud(StreamedCloud):
    """Words with their vectors, in a file that is compressed or not."""

    population = True  # a vocabulary

    def __init__(self, location: Location, rows: int | None, width: int) -> None:
        super().__init__(location, location.stem, rows, width, "float32")

    @abstractmethod
    def stretches(self) -> Iterator[tuple[int, list[bytes], NDArray[np.float32]]]:
        """Yield the first row, the words and the vectors of a few megabytes at a time."""

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order, with the label ``word``."""
        step = rows_per_batch(self.width)
        for first, words, vectors in self.stretches():
            for start in range(0, len(vectors), step):
                rows = slice(start, start + step)
                labels = LazyLabels({"word": partial(as_words, words[rows])})
                yield Batch(vectors[rows], first + start, labels)


class WordTextCloud(WordCloud):
    """Word vectors in a text file."""

    def __init__(self, location: Location, shape: TextShape) -> None:
        super().__init__(location, shape.rows, shape.width)
        self.shape = shape

    def stretches(self) -> Iterator[tuple[int, list[bytes], NDArray[np.float32]]]:
        """Yield the first row, the words and the vectors of a few megabytes at a time."""
        first = 0
        with self.stream() as file:
            skip_signature(file)
            if self.shape.header:
                file.readline()
            for lines in whole_lines(file, self.where):
                words, vectors = parse_lines(lines, self.shape, self.where, first)
                yield first, words, vectors
                first += len(vectors)
        if self.rows is not None and first != self.rows:
            raise DataError(
                f"{self.where}: its header promises {self.rows:,} vectors, {first:,} follow"
            )


def open_word_text(location: Location) -> Cloud:
    """Open word vectors in text form."""
    with readable(str(location)), location.stream() as file:
        skip_signature(file)
        lines = [file.readline(LONGEST_LINE) for _ in range(2)]
    return WordTextCloud(location, text_shape(lines, str(location)))


def skip_signature(file: BinaryIO) -> None:
    """Pass over a UTF-8 signature at the start of a file."""
    if file.peek(len(SIGNATURE)).startswith(SIGNATURE):  # type: ignore[attr-defined]
        file.read(len(SIGNATURE))


def text_shape(lines: list[bytes], where: str) -> TextShape:
    """Tell header, width and separator from the first two lines."""
    first, second = (line.rstrip() for line in lines)
    fields = first.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        rows, width = (int(field[:MOST_DIGITS]) for field in fields)
        for separator in SEPARATORS:
            numbers = second.rsplit(separator, width)[1:]
            if len(numbers) == width > 0 and all(is_number(number) for number in numbers):
                return TextShape(rows, width, separator, header=True)
        # Not even a word and a number, as the first line might be; or no line is that long.
        if len(second.split()) != 2 or width > LONGEST_LINE // 2:
            raise DataError(
                f"{where}: its header promises vectors of {width:,} numbers, which the line below "
                "it does not hold"
            )
    for separator in SEPARATORS:
        numbers = first.split(separator)[1:]
        if numbers and all(is_number(number) for number in numbers):
            return TextShape(None, len(numbers), separator, header=False)
    if not any(lines):
        raise DataError(f"{where} is empty")
    raise DataError(
        f"{where}: its first line is neither a word with numbers nor a count and a width; texts "
        f"are for a model: isoscope profile MODEL --text {where}"
    )


def is_number(field: bytes) -> bool:
    """Whether a field is a number."""
    try:
        as_number(field)
    except ValueError:
        return False
    return True


def as_number(field: bytes) -> float:
    """Turn a field into a number; 1_000 is one in Python only."""
    if b"_" in field:
        raise ValueError(f"could not convert string to float: {field!r}")
    return float(field)


def whole_lines(file: BinaryIO, where: str) -> Iterator[bytes]:
    """Yield stretches of a few megabytes that end with a line."""
    rest = b""
    while chunk := file.read(CHUNK):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield rest + chunk[:cut]
            rest = chunk[cut:]
        else:
            rest += chunk
            if len(rest) > LONGEST_LINE:
                raise DataError(f"{where} has a line of over {LONGEST_LINE:,} bytes")
    if rest.strip():
        yield rest + b"\n"


def parse_lines(
    lines: bytes, shape: TextShape, where: str, first: int
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Turn lines into words and vectors; ``first`` is the index of the first row."""
    import pyarrow
    from pyarrow import csv

    # word2vec's own program ends every line with a space.
    clean = lines.replace(b"\r\n", b"\n").replace(shape.separator + b"\n", b"\n")
    # Arrow would end a line at a carriage return and drop a signature, which are parts of words.
    if b"\r" in clean or clean.startswith(SIGNATURE) or shape.width > MOST_COLUMNS:
        return parse_slowly(clean, shape, where, first)
    names = [str(k) for k in range(shape.width)]
    types = {"word": pyarrow.binary(), **dict.fromkeys(names, pyarrow.float32())}
    try:
        table = csv.read_csv(
            io.BytesIO(clean),
            read_options=csv.ReadOptions(column_names=list(types), block_size=len(clean) + 1),
            parse_options=csv.ParseOptions(delimiter=shape.separator.decode(), quote_char=False),
            convert_options=csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pyarrow.ArrowInvalid:
        return parse_slowly(clean, shape, where, first)
    vectors = np.empty((len(table), shape.width), np.float32)
    for k in range(shape.width):
        vectors[:, k] = table.column(k + 1).to_numpy()
    return table.column(0).to_pylist(), vectors


def parse_slowly(
    lines: bytes, shape: TextShape, where: str, first: int
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Parse line by line: the last d fields are the vector, whatever is in the word."""
    words: list[bytes] = []
    rows: list[NDArray[np.float32]] = []
    for line in lines.split(b"\n"):
        if not line.strip():
            continue
        word, *fields = line.rsplit(shape.separator, shape.width)
        row = first + len(rows)
        if len(fields) != shape.width:
            raise DataError(
                f"{where}: row {row} has {len(fields)} numbers, the first has {shape.width}"
            )
        try:
            with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite
                rows.append(np.fromiter(map(as_number, fields), np.float32, shape.width))
        except ValueError as error:
            raise DataError(
                f"{where}: row {row} ({cut_word(word)!r}) holds something that is not a number: "
                f"{first_line(error):.{LONGEST_ERROR}}"
            ) from error
        words.append(word)
    return words, np.array(rows, np.float32).reshape(-1, shape.width)


def cut_word(word: bytes) -> str:
    """Return the beginning of a word for a message."""
    return word[:LONGEST_WORD].decode("utf-8", "replace")


def as_words(words: list[bytes]) -> NDArray[Any]:
    """Decode words; bytes that are no UTF-8 are shown as such, never dropped."""
    return np.array([word.decode("utf-8", "backslashreplace") for word in words], dtype=object)


def write_word_text(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write words, byte for byte, with changed vectors, and a header where there was one."""
    cloud = cast("WordTextCloud", rewrite.cloud)
    if cloud.shape.header:
        file.write(header_line(cloud.rows or 0, rewrite.change.new_width))
    for first, words, vectors in cloud.stretches():
        file.write(text_lines(words, rewrite.changed(vectors, first), cloud.shape.separator))


def header_line(rows: int, width: int) -> bytes:
    """Return the first line of word2vec's text form."""
    return f"{rows} {width}\n".encode()


def text_lines(words: Sequence[bytes], rows: NDArray[Any], separator: bytes) -> bytes:
    """Return a line for every word; Arrow turns numbers into text five times as fast as Python."""
    import pyarrow
    from pyarrow import compute

    numbers = compute.cast(pyarrow.array(rows.reshape(-1)), pyarrow.string())
    lists = pyarrow.FixedSizeListArray.from_arrays(numbers, rows.shape[1])
    lines = compute.binary_join(lists.cast(pyarrow.list_(pyarrow.string())), separator.decode())
    return b"".join(
        word + separator + line.encode() + b"\n"
        for word, line in zip(words, lines.to_pylist(), strict=True)
    )
