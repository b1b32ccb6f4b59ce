"""``.npz`` files: several ``.npy`` arrays in a zip archive, compressed or not."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

from isoscope.clouds.candidates import choose
from isoscope.clouds.contract import NO_LABELS, Batch, Cloud
from isoscope.clouds.matrix_file import MatrixLayout, column_batches, row_batches
from isoscope.clouds.npy import matrix_layout, read_header
from isoscope.clouds.streams import first_line
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.clouds.location import Location

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What the standard library raises for damaged, encrypted or unsupported archives."""


class ZippedCloud(Cloud):
    """One array of a ``.npz`` file, decompressed as it is read; the archive checks its sum."""

    def __init__(self, location: Location, member: str, layout: MatrixLayout, name: str) -> None:
        super().__init__(name, layout.rows, layout.width, layout.stored)
        self._location, self._member, self._layout = location, member, layout

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order."""
        where = f"{self._location}:{self._member}"
        try:
            with (
                self._location.open() as raw,
                zipfile.ZipFile(raw) as archive,
                archive.open(self._member) as opened,
            ):
                file = cast("BinaryIO", opened)
                read_header(file, where)
                for first, vectors in self._batches(file, where):
                    yield Batch(vectors, first, NO_LABELS)
                if opened.read(1):
                    raise DataError(f"{where} holds more bytes than its header promises")
        except BROKEN as error:
            raise DataError(f"{where} cannot be decompressed: {first_line(error)}") from error

    def _batches(self, file: BinaryIO, where: str) -> Iterator[tuple[int, object]]:
        if not self._layout.column_major:
            yield from row_batches(file, self._layout, where)
            return
        # Rows of a column-major array are spread over the whole stream, which cannot be sought in:
        # it is unpacked to disk, not to memory.
        with tempfile.TemporaryFile() as unpacked:
            shutil.copyfileobj(file, unpacked, 1 << 20)
            yield from column_batches(cast("BinaryIO", unpacked), self._layout, where, 0)


def open_npz(location: Location, column: str | None) -> Cloud:
    """Open one array of a ``.npz`` file."""
    headers: dict[str, tuple[tuple[int, ...], bool, object]] = {}
    try:
        with location.open() as raw, zipfile.ZipFile(raw) as archive:
            for member in archive.namelist():
                if member.endswith(".npy"):
                    with archive.open(member) as file:
                        header = read_header(cast("BinaryIO", file), f"{location}:{member}")
                    headers[member.removesuffix(".npy")] = header
    except BROKEN as error:
        raise DataError(f"{location} is not a whole .npz file: {first_line(error)}") from error
    everything = {name: f"{dtype} {shape}" for name, (shape, _, dtype) in headers.items()}
    candidates = [
        name
        for name, (shape, _, dtype) in headers.items()
        if len(shape) == 2 and getattr(dtype, "kind", "") in "fV"
    ]
    chosen = choose(column, candidates, everything, str(location))
    layout = matrix_layout(*headers[chosen], f"{location}:{chosen}")  # type: ignore[arg-type]
    return ZippedCloud(location, f"{chosen}.npy", layout, f"{location.stem}:{chosen}")
