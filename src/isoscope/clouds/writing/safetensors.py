"""Writing ``.safetensors`` files: one tensor changed, all others and the metadata copied."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

from isoscope.clouds.safetensors import METADATA, read_whole_header, whole_numbers
from isoscope.clouds.streams import readable
from isoscope.clouds.writing.marks import KEY
from isoscope.errors import DataError

if TYPE_CHECKING:
    from isoscope.clouds.location import Location
    from isoscope.clouds.writing.change import Rewrite

ALIGNMENT = 8
"""The header is filled up with spaces so that the first tensor starts at such a byte."""

PIECE = 1 << 20
"""Bytes copied at a time."""


def safetensors_mark(location: Location) -> str | None:
    """Return what the file says of its corrections."""
    with readable(str(location)):
        mark = metadata_of(read_whole_header(location)[0]).get(KEY)
    return mark if mark is None else str(mark)


def metadata_of(header: dict[str, Any]) -> dict[str, Any]:
    """Take the metadata out of a header."""
    metadata = header.pop(METADATA, None)
    return metadata if isinstance(metadata, dict) else {}


def write_safetensors(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write all tensors in the order in which they lie in the file."""
    location, change = rewrite.location, rewrite.change
    with readable(str(location)), location.open() as source:
        entries, start = read_whole_header(location)
        metadata = metadata_of(entries)
        order = sorted(entries, key=lambda name: begin_of(entries[name], f"{location}:{name}"))
        header: dict[str, Any] = {METADATA: {**metadata, KEY: rewrite.mark}}
        position = 0
        for name in order:
            begin, end = entries[name]["data_offsets"]
            shape, size = entries[name]["shape"], end - begin
            if name == rewrite.cloud.column:
                shape = [shape[0], change.new_width]
                size = size // change.width * change.new_width
            header[name] = {
                **entries[name],
                "shape": shape,
                "data_offsets": [position, position + size],
            }
            position += size
        write_header(header, file)
        for name in order:
            if name == rewrite.cloud.column:
                for batch in rewrite.batches():
                    file.write(batch.vectors.data)
            else:
                begin, end = entries[name]["data_offsets"]
                source.seek(start + begin)
                copy_bytes(source, file, end - begin, str(location))


def begin_of(entry: Any, where: str) -> int:
    """Return the first byte of a tensor, for sorting, or refuse a damaged entry."""
    offsets: Any = entry.get("data_offsets") if isinstance(entry, dict) else None
    if not whole_numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise DataError(f"{where} has a malformed header entry")
    begin: int = offsets[0]
    return begin


def write_header(header: dict[str, Any], file: BinaryIO) -> None:
    """Write the header behind its length."""
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    file.write(len(text).to_bytes(8, "little") + text)


def copy_bytes(source: BinaryIO, target: BinaryIO, count: int, where: str) -> None:
    """Copy so many bytes from where a file stands."""
    while count:
        piece = source.read(min(PIECE, count))
        if not piece:
            raise DataError(f"{where} ends early: {count:,} bytes are missing")
        target.write(piece)
        count -= len(piece)
