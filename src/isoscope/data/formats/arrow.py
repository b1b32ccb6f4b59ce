"""Arrow IPC files (Feather), read and written by record batches.

How these are compressed pyarrow does not tell. The answer is in the flatbuffer in front of the
first one: Message → header (RecordBatch) → compression (BodyCompression) → codec. Numbers below are
the positions of these fields in Arrow's ``Message.fbs``.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from pyarrow import dataset, ipc

from isoscope.data.base import Cloud
from isoscope.data.formats.columns import (
    ColumnFile,
    OpenColumns,
    arrow_errors,
    changed_batch,
    changed_schema,
    column_size,
    open_columns,
)
from isoscope.data.location import Location, readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.data.rewrite import Rewrite


class ArrowColumns(OpenColumns):
    """An open Arrow IPC file; its stretches are record batches."""

    def __init__(self, source: Any) -> None:
        self._source = source
        file = ipc.open_file(source)
        self.schema, self.count = file.schema, file.num_record_batches
        self._readers: dict[int, Any] = {}

    @cached_property
    def rows(self) -> int:
        """Number of rows, from the heads of the record batches."""
        return int(dataset.IpcFileFormat().make_fragment(self._source).count_rows())

    @cached_property
    def stretches(self) -> list[int]:
        """Number of rows of each record batch, from the column that is read fastest."""
        sizes = [column_size(kind) for kind in self.schema.types]
        file = self._only(sizes.index(min(sizes)))
        return [file.get_batch(k).num_rows for k in range(self.count)]

    def read(self, stretch: int, column: str, step: int) -> Iterator[Any]:
        """Yield one column of one record batch."""
        position = self.schema.get_field_index(column)
        batch = self._only(position).get_batch(stretch)
        batch.validate(full=True)  # Arrow trusts the offsets of a file, and crashes on wrong ones
        array = batch.column(0)
        for first in range(0, len(array), step):
            yield array.slice(first, step)

    def _only(self, position: int) -> Any:
        """Return a reader of one column."""
        if position < 0:
            raise LookupError("several columns have the same name")
        if position not in self._readers:
            options = ipc.IpcReadOptions(included_fields=[position])
            self._readers[position] = ipc.open_file(self._source, options=options)
        return self._readers[position]


def open_arrow(location: Location, column: str | None) -> Cloud:
    """Open an Arrow IPC (Feather) file."""
    return open_columns(ColumnFile(location, ArrowColumns), column)


# ``ARROW1`` and two bytes; behind it a file is a stream of messages.
MAGIC = 8

HEADER, COMPRESSION, CODEC = 2, 3, 0
CODECS = {0: "lz4", 1: "zstd"}


def body_compression(file: BinaryIO) -> str | None:
    """Return lz4, zstd or None for a file that holds at least one record batch."""
    file.seek(MAGIC)
    for message in ipc.MessageReader.open_stream(file):
        if message.type == "record batch":
            return codec_of(message.metadata.to_pybytes())
    return None


def codec_of(metadata: bytes) -> str | None:
    """Find the codec in the flatbuffer of a record batch."""
    (root,) = struct.unpack_from("<I", metadata, 0)
    header = followed(metadata, root, HEADER)
    compression = None if header is None else followed(metadata, header, COMPRESSION)
    if compression is None:
        return None
    position = field(metadata, compression, CODEC)
    return CODECS.get(0 if position is None else metadata[position])


def field(metadata: bytes, table: int, number: int) -> int | None:
    """Return where a field of a table lies; None where it has its default."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    (size,) = struct.unpack_from("<H", metadata, vtable)
    entry = 4 + 2 * number
    if entry >= size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, vtable + entry)
    return table + offset if offset else None


def followed(metadata: bytes, table: int, number: int) -> int | None:
    """Return the table that a field points to."""
    position = field(metadata, table, number)
    if position is None:
        return None
    return int(position + struct.unpack_from("<I", metadata, position)[0])


def arrow_mark(location: Location) -> str | None:
    """Return what the file says of its corrections."""
    return ColumnFile(location, ArrowColumns).mark()


def write_arrow(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write the table with its record batches, compressed as they were."""
    where = str(rewrite.location)
    with readable(where), arrow_errors(where), rewrite.location.open() as raw:
        options = ipc.IpcWriteOptions(compression=body_compression(raw))
        raw.seek(0)
        source = ipc.open_file(raw)
        schema, position = changed_schema(source.schema, rewrite)
        with ipc.new_file(file, schema, options=options) as writer:
            first = 0
            for number in range(source.num_record_batches):
                batch = source.get_batch(number)
                batch.validate(full=True)  # Arrow trusts the offsets of a file, and crashes
                writer.write_batch(changed_batch(batch, rewrite, schema, position, first))
                first += batch.num_rows
