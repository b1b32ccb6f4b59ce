"""How far a compressed file may unpack.

A few kilobytes can unpack to more than anybody would wait for. What comes out is therefore counted:
a small amount is always allowed, and beyond it a multiple of the size of the file, which vectors
and texts that somebody wrote for a purpose do not reach. ``ISOSCOPE_MAX_RATIO`` sets another.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from isoscope.errors import DataError, UsageError

VARIABLE = "ISOSCOPE_MAX_RATIO"

LARGEST_RATIO = 100

# The same for columns, of which most rows may be null, or one of a few values.
COLUMN_RATIO = 1_000

# Bytes that a file may unpack to whatever its size is.
SMALL = 1 << 28

# Bytes unpacked at a time.
BUFFER = 1 << 17


def largest_ratio(ratio: int = LARGEST_RATIO) -> int:
    """Return how many times its size a file may unpack to: what the user names, or ``ratio``."""
    named = os.environ.get(VARIABLE)
    if not named:
        return ratio
    if not (named.isascii() and named.isdigit() and len(named) < 10 and int(named)):
        raise UsageError(f"{VARIABLE} must be a whole number of at least 1, got {named!r:.40}")
    return int(named)


def too_much(where: str, ratio: int) -> DataError:
    """Say that a file unpacks to more than is allowed, and what to do."""
    return DataError(
        f"{where} unpacks to more than {ratio:,} times its size; if this is intended, set "
        f"{VARIABLE} to a larger number, or store it uncompressed"
    )


def check_ratio(
    where: str, unpacked: int, size: Callable[[], int], ratio: int = LARGEST_RATIO
) -> None:
    """Refuse so many bytes that are unpacked of so many, which are asked for only if it is many."""
    if unpacked > SMALL and unpacked > (most := largest_ratio(ratio)) * size():
        raise too_much(where, most)


class Unpacked:
    """Counts what came out of a file so far.

    Parameters
    ----------
    where : str
        Names the file in messages.
    size : callable
        Returns the number of its bytes; called only if much comes out.
    ratio : int
        How many times its size may come out, unless the user names another number.
    """

    def __init__(self, where: str, size: Callable[[], int], ratio: int = LARGEST_RATIO) -> None:
        self._where, self._size, self._ratio = where, size, ratio
        self._given, self._next = 0, SMALL

    def add(self, given: int) -> None:
        """Count some bytes, and refuse the file where they are too many."""
        self._given += given
        if self._given > self._next:
            check_ratio(self._where, self._given, self._size, self._ratio)
            self._next = self._given + SMALL


def counted(stream: Any, where: str, size: Callable[[], int]) -> BinaryIO:
    """Read a decompressed stream until it has given too much.

    Parameters
    ----------
    stream : file
        What decompresses.
    where : str
        Names the file in messages.
    size : callable
        Returns the number of compressed bytes; called only if much comes out.
    """
    return cast("BinaryIO", io.BufferedReader(Counted(stream, where, size), BUFFER))


class Counted(io.RawIOBase):
    """Counts what a decompressor gives."""

    def __init__(self, stream: Any, where: str, size: Callable[[], int]) -> None:
        self._stream, self._unpacked = stream, Unpacked(where, size)

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as there is something left."""
        given = int(self._stream.readinto(buffer))
        self._unpacked.add(given)
        return given

    def close(self) -> None:
        """Close the decompressor as well."""
        if not self.closed:
            super().close()
            self._stream.close()
