"""Writing word vectors as text: word and numbers a line, with a header where there was one.

Numbers have as many digits as float32 needs to come back the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from isoscope.clouds.streams import readable
from isoscope.clouds.word_text import (
    LONGEST_LINE,
    parse_lines,
    skip_signature,
    text_shape,
    whole_lines,
)
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.clouds.writing.change import Rewrite


def write_word_text(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write words, byte for byte, with changed vectors."""
    where, location = str(rewrite.location), rewrite.location
    with readable(where):
        with location.stream() as source:
            skip_signature(source)
            shape = text_shape([source.readline(LONGEST_LINE) for _ in range(2)], where)
        with location.stream() as source:
            skip_signature(source)
            if shape.header:
                source.readline()
                file.write(header_line(shape.rows or 0, rewrite.change.new_width))
            first = 0
            for lines in whole_lines(source, where):
                words, vectors = parse_lines(lines, shape, where, first)
                file.write(text_lines(words, rewrite.changed(vectors, first), shape.separator))
                first += len(words)
    if shape.rows is not None and first != shape.rows:
        raise DataError(f"{where}: its header promises {shape.rows:,} vectors, {first:,} follow")


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
