"""``.npz`` files: several ``.npy`` arrays in a zip archive, compressed or not.

Written again, one array is changed and all others are copied.
"""

from __future__ import annotations

import lzma
import shutil
import struct
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from isoscope.data.base import NO_LABELS, Batch, Cloud, check_rows, is_cloud
from isoscope.data.formats.matrix import (
    MatrixFileCloud,
    MatrixLayout,
    column_batches,
    row_batches,
    some_rows,
)
from isoscope.data.formats.npy import matrix_layout, read_header, write_rows
from isoscope.data.formats.registry import choose
from isoscope.data.location import Location, first_line
from isoscope.data.unpacking import check_ratio
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.data.rewrite import Rewrite


# What the standard library raises for damaged, encrypted or unsupported archives.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    UnicodeDecodeError,
)

ENCRYPTED = 1

# Bytes before a member's name; the last four tell the length of the name and of what follows.
LOCAL_HEADER = 30

# Stands for the first byte of a whole array, which the archive finds; pieces know theirs.
IN_ARCHIVE = -1

Header = tuple[tuple[int, ...], bool, np.dtype]


@contextmanager
def broken(where: str, what: str) -> Iterator[None]:
    """Turn what a damaged archive raises into one clear line."""
    try:
        yield
    except BROKEN as error:
        raise DataError(f"{where} cannot be {what}: {first_line(error)}") from error


class ZippedCloud(MatrixFileCloud):
    """One array of a ``.npz`` file, decompressed as it is read; the archive checks its sum.

    Pieces of an array that is stored as it is are read where they lie. Nothing checks their sum:
    the archive has a single one, of the whole array.
    """

    def __init__(self, location: Location, member: str, layout: MatrixLayout, name: str) -> None:
        super().__init__(location, layout, IN_ARCHIVE, name)
        self._member = member

    @property
    def where(self) -> str:
        """The file and the array."""
        return f"{self._location}:{self._member.removesuffix('.npy')}"

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order."""
        where = self.where
        if self._offset != IN_ARCHIVE:
            yield from super().read()
            return
        with (
            broken(where, "decompressed"),
            self._location.open() as raw,
            zipfile.ZipFile(raw) as archive,
            archive.open(self._member) as opened,
        ):
            file = cast("BinaryIO", opened)
            read_header(file, where)
            for first, vectors in self._batches(file, where):
                yield Batch(vectors, first, NO_LABELS)

    def _batches(self, file: BinaryIO, where: str) -> Iterator[tuple[int, np.ndarray]]:
        if not self._layout.column_major:
            yield from row_batches(file, self._layout, where)
            refuse_more(file.read(1), where)
            return
        # Rows of a column-major array are spread over the whole stream, which cannot be sought in:
        # it is unpacked to disk, not to memory.
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if self._layout.bytes > free:
            raise DataError(
                f"{where} unpacks to {self._layout.bytes:,} bytes, and {tempfile.gettempdir()} has "
                f"{free:,} left; name another folder with TMPDIR, or save it row by row"
            )
        with tempfile.TemporaryFile() as unpacked:
            while piece := file.read(1 << 20):
                unpacked.write(piece)
                # At once: a forged archive may go on until the disk is full.
                refuse_more(unpacked.tell() > self._layout.bytes, where)
            yield from column_batches(cast("BinaryIO", unpacked), self._layout, where, 0)

    def read_rows(self, indices: NDArray[np.int64]) -> np.ndarray | None:
        """Return some rows of an array that is stored as it is; None of a compressed one."""
        check_rows(indices, self.rows, self.where)
        with self._stored() as (raw, offset):
            if offset is None:
                return None
            return some_rows(raw, self._layout, self.where, offset, indices)

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return stretches of an array that is stored as it is, row by row."""
        if self._layout.column_major or self._layout.rows <= rows:
            return (self,)
        with self._stored() as (_, offset):
            return (self,) if offset is None else self._pieces_from(offset, rows)

    @contextmanager
    def _stored(self) -> Iterator[tuple[BinaryIO, int | None]]:
        """Open the archive as a plain file, with the byte at which the rows start."""
        with broken(self.where, "read"), self._location.open() as raw:
            yield raw, self._stored_at(raw)

    def _stored_at(self, raw: BinaryIO) -> int | None:
        """Return the byte at which the rows start; None where they are not stored as they are."""
        if self._offset != IN_ARCHIVE:
            return self._offset
        with zipfile.ZipFile(raw) as archive:
            member = archive.getinfo(self._member)
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & ENCRYPTED:
                return None
            start = data_start(raw, member)
            raw.seek(start)
            read_header(raw, self.where)
            offset = raw.tell()
        # Of a member that is too short or too long, only a read of the whole says so.
        whole = offset - start + self._layout.bytes == member.file_size
        return offset if whole else None


def data_start(raw: BinaryIO, member: zipfile.ZipInfo) -> int:
    """Return where a member's bytes begin: behind its local header, whose length varies."""
    raw.seek(member.header_offset)
    header = raw.read(LOCAL_HEADER)
    if len(header) < LOCAL_HEADER:
        raise zipfile.BadZipFile("truncated file header")
    name, extra = struct.unpack("<HH", header[-4:])
    return int(member.header_offset + LOCAL_HEADER + name + extra)


def refuse_more(more: object, where: str) -> None:
    """Refuse a member that goes on behind its array."""
    if more:
        raise DataError(f"{where} holds more bytes than its header promises")


def open_npz(location: Location, column: str | None) -> Cloud:
    """Open one array of a ``.npz`` file."""
    headers: dict[str, Header | str] = {}
    members: dict[str, zipfile.ZipInfo] = {}
    try:
        with location.open() as raw, zipfile.ZipFile(raw) as archive:
            for member in archive.namelist():
                if member.endswith(".npy"):
                    name = member.removesuffix(".npy")
                    headers[name] = member_header(archive, member)
                    members[name] = archive.getinfo(member)
    except BROKEN as error:
        raise DataError(f"{location} is not a whole .npz file: {first_line(error)}") from error
    everything = {name: describe(header) for name, header in headers.items()}
    candidates = [
        name
        for name, header in headers.items()
        if not isinstance(header, str) and is_cloud(header[0], header[2])
    ]
    chosen = choose(column, candidates, everything, str(location))
    header = headers[chosen]
    if isinstance(header, str):
        raise DataError(f"{location}:{chosen}: {header}")
    layout = matrix_layout(*header, f"{location}:{chosen}")
    check_member(location, members[chosen])
    cloud = ZippedCloud(location, f"{chosen}.npy", layout, f"{location.stem}:{chosen}")
    cloud.column = chosen
    return cloud


def member_header(archive: zipfile.ZipFile, member: str) -> Header | str:
    """Return the header of a member, or what is wrong with it: another may be the one wanted."""
    try:
        with archive.open(member) as file:
            return read_header(cast("BinaryIO", file), member)
    except DataError as error:
        return str(error)


def check_member(location: Location, member: zipfile.ZipInfo) -> None:
    """Refuse a member that unpacks to too much; more than it says is never read of it."""
    where = f"{location}:{member.filename.removesuffix('.npy')}"
    # What it says of its compressed size may be forged: it is no larger than the archive.
    check_ratio(where, member.file_size, lambda: min(member.compress_size, location.size()))


def describe(header: Header | str) -> str:
    """Describe a member in a few characters for a message."""
    return "unreadable" if isinstance(header, str) else f"{header[2]} {header[0]}"


def write_npz(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write an archive with the same members, in the same order and compression."""
    where, changed = str(rewrite.location), f"{rewrite.cloud.column}.npy"
    with (
        broken(where, "copied"),
        rewrite.location.open() as raw,
        zipfile.ZipFile(raw) as source,
        zipfile.ZipFile(file, "w") as target,
    ):
        target.comment = source.comment
        for member in source.infolist():
            check_member(rewrite.location, member)
            with (
                source.open(member) as old,
                # No size is known beforehand, so that every one must be allowed for.
                target.open(like(member), "w", force_zip64=True) as new,
            ):
                if member.filename == changed:
                    _, _, dtype = read_header(cast("BinaryIO", old), f"{where}:{changed}")
                    write_rows(rewrite, dtype, cast("BinaryIO", new))
                else:
                    shutil.copyfileobj(old, new, 1 << 20)


def like(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Describe a member with the name, date, rights and compression of another."""
    entry = zipfile.ZipInfo(member.filename, member.date_time)
    entry.compress_type, entry.external_attr = member.compress_type, member.external_attr
    entry.comment, entry.create_system = member.comment, member.create_system
    return entry
