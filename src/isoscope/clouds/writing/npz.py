"""Writing ``.npz`` files: one array changed, all others copied."""

from __future__ import annotations

import shutil
import zipfile
from typing import TYPE_CHECKING, BinaryIO, cast

from isoscope.clouds.npy import read_header
from isoscope.clouds.npz import BROKEN
from isoscope.clouds.streams import first_line
from isoscope.clouds.writing.npy import write_rows
from isoscope.errors import DataError

if TYPE_CHECKING:
    from isoscope.clouds.writing.change import Rewrite


def write_npz(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write an archive with the same members, in the same order and compression."""
    where, changed = str(rewrite.location), f"{rewrite.cloud.column}.npy"
    try:
        with (
            rewrite.location.open() as raw,
            zipfile.ZipFile(raw) as source,
            zipfile.ZipFile(file, "w") as target,
        ):
            target.comment = source.comment
            for member in source.infolist():
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
    except BROKEN as error:
        raise DataError(f"{where} cannot be copied: {first_line(error)}") from error


def like(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Describe a member with the name, date, rights and compression of another."""
    entry = zipfile.ZipInfo(member.filename, member.date_time)
    entry.compress_type, entry.external_attr = member.compress_type, member.external_attr
    entry.comment, entry.create_system = member.comment, member.create_system
    return entry
