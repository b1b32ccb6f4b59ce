"""Whether the header of a GGUF file fits into the file, looked at before its library reads it.

The library believes every length that it meets: 405 bytes that promise an array of a billion values
kept it busy for minutes and took all memory, since a read behind the end of a file gives nothing
and no error. Here every length is compared with what is left of the file, so that the work is
bounded by its size. The layout is that of ``docs/gguf.md`` in ggml.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Final

from isoscope.errors import DataError

MAGIC = b"GGUF"
TEXT, ARRAY = 8, 9
# Bytes of a value, by the number of its type: whole numbers, float32, truth values, float64.
SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

# Arrays in arrays, and dimensions of a tensor; files have one and at most four.
DEEPEST, MOST_DIMENSIONS = 4, 8

# Values of all arrays, each of which the library keeps as an array of its own. A vocabulary of
# 262,144 tokens with scores, types and merges has 1.3 million.
MOST_VALUES = 1 << 22

# The least that a text, and the description of a tensor without dimensions, takes.
LEAST_TEXT, LEAST_TENSOR = 8, 24


def check_header(path: Path) -> None:
    """Refuse a file whose header promises more than the file holds."""
    with path.open("rb") as file:
        size = path.stat().st_size
        if size < len(MAGIC) or file.read(len(MAGIC)) != MAGIC:
            raise DataError(f"{path} is not a GGUF file: it does not begin with GGUF")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                Walk(content).through()
            except (struct.error, ValueError) as error:
                why = "it is cut off" if isinstance(error, struct.error) else error
                raise DataError(f"{path} is not a whole GGUF file: {why}") from error


class Walk:
    """Passes over a header, value by value."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._at, self._values = content, len(MAGIC), 0
        # Files of machines with the other order of bytes are told by their version.
        (version,) = struct.unpack_from("<I", content, self._at)
        self._order = ">" if version & 0xFFFF == 0 else "<"
        self._at += 4

    def through(self) -> None:
        """Pass over all fields and the descriptions of all tensors."""
        tensors, fields = self._number("Q"), self._number("Q")
        self._room(fields, LEAST_TEXT, "fields")
        for _ in range(fields):
            self._text()
            self._value(self._number("I"))
        self._room(tensors, LEAST_TENSOR, "tensors")
        for _ in range(tensors):
            self._text()
            dimensions = self._number("I")
            if dimensions > MOST_DIMENSIONS:
                raise ValueError(f"a tensor has {dimensions:,} dimensions")
            self._skip(8 * dimensions + 4 + 8)

    def _value(self, kind: int, depth: int = 0) -> None:
        if kind == TEXT:
            self._text()
        elif kind == ARRAY:
            self._array(depth)
        elif kind in SIZES:
            self._skip(SIZES[kind])
        else:
            raise ValueError(f"a value has the type {kind:,}, which is none")

    def _array(self, depth: int) -> None:
        kind, count = self._number("I"), self._number("Q")
        if depth == DEEPEST:
            raise ValueError("it is nested too deeply")
        self._room(count, SIZES.get(kind, LEAST_TEXT), "values of an array")
        self._values += count
        if self._values > MOST_VALUES:
            raise ValueError(f"its arrays have more than {MOST_VALUES:,} values")
        if kind in SIZES:
            self._skip(SIZES[kind] * count)
            return
        for _ in range(count):
            self._value(kind, depth + 1)

    def _text(self) -> None:
        self._skip(self._number("Q"))

    def _number(self, letter: str) -> int:
        (found,) = struct.unpack_from(self._order + letter, self._content, self._at)
        self._at += struct.calcsize(letter)
        return int(found)

    def _room(self, count: int, size: int, what: str) -> None:
        if count * size > len(self._content) - self._at:
            raise ValueError(f"it promises {count:,} {what}, and is cut off before")

    def _skip(self, size: int) -> None:
        self._room(size, 1, "bytes")
        self._at += size
