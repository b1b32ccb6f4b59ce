"""Files that appear whole or not at all: written under another name, then renamed."""

from __future__ import annotations

import gzip
import io
import os
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from isoscope.clouds.location import remote
from isoscope.errors import UsageError
from isoscope.files import PREFIX, atomic_file, cannot_be_written, check_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.clouds.location import Location

GZIP_LEVEL = 6
"""gzip's own default; Python's takes three times as long for one percent."""


class Target(io.RawIOBase):
    """An output file whose failures say which file it was.

    Closing it leaves the file below open: some writers close what they are given.
    """

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name

    def writable(self) -> bool:
        """Say that this can be written to."""
        return True

    def seekable(self) -> bool:
        """Whether the file can go back, as zip archives like to."""
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return the current byte."""
        return int(self._file.tell())

    def write(self, data: Any) -> int:
        """Write all bytes."""
        try:
            self._file.write(data)
        except OSError as error:
            raise UsageError(cannot_be_written(self._name, error)) from error
        return memoryview(data).nbytes


@contextmanager
def atomic_output(location: Location) -> Iterator[BinaryIO]:
    """Give out a file that takes the place of ``location`` when all went well.

    Otherwise what was there stays, and nothing is left over.
    """
    with remote_file(location) if location.is_remote else atomic_file(location.path) as file:
        yield cast("BinaryIO", Target(file, str(location)))


@contextmanager
def remote_file(location: Location) -> Iterator[BinaryIO]:
    """Write beside an address, then move: closing a broken upload would publish half of it."""
    filesystem, path = remote(str(location))
    folder, _, last = path.rpartition("/")
    temporary = f"{folder}/{PREFIX}{secrets.token_hex(8)}-{last}"
    try:
        try:
            file = filesystem.open(temporary, "wb")
        except OSError as error:
            raise UsageError(cannot_be_written(location, error)) from error
        with file:
            yield file
        filesystem.mv(temporary, path)
    except BaseException:
        with suppress(Exception):  # what went wrong first is what matters
            filesystem.rm(temporary)
        raise


@contextmanager
def compressed(file: BinaryIO, compression: str) -> Iterator[BinaryIO]:
    """Compress what goes into a file, as ``Location.stream`` takes it out again."""
    if compression == ".gz":
        with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed:
            yield cast("BinaryIO", packed)
    elif compression == ".zst":
        import pyarrow

        with pyarrow.CompressedOutputStream(file, "zstd") as packed:
            yield packed
    else:
        yield file


def check_target(location: Location) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if location.is_remote:
        remote(str(location))
    else:
        check_place(location.path)
