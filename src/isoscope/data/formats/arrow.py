"""Arrow IPC files (Feather), read and written by record batches.

How these are compressed pyarrow does not tell. The answer is in the flatbuffer in front of the
first one: Message → header (RecordBatch) → compression (BodyCompression) → codec. Numbers below are
the positions of these fields in Arrow's ``Message.fbs``.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isoscope.data.base import STORED_AS, Cloud, rows_per_batch
from isoscope.data.formats.columns import (
    ColumnFile,
    OpenColumns,
    arrow_errors,
    as_lists,
    changed_schema,
    column_size,
    open_columns,
    schema_mark,
    vectors_of,
)
from isoscope.data.location import Location, readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.data.rewrite import Rewrite


class ArrowColumns(OpenColumns):
    """An open Arrow IPC file; its stretches are record batches."""

    def __init__(self, source: Any) -> None:
        from pyarrow import ipc

        self._source = source
        self._file = ipc.open_file(source)
        self._readers: dict[int, Any] = {}

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self._file.schema

    @cached_property
    def rows(self) -> int:
        """Number of rows, from the heads of the record batches."""
        from pyarrow import dataset

        return int(dataset.IpcFileFormat().make_fragment(self._source).count_rows())

    @cached_property
    def stretches(self) -> list[int]:
        """Number of rows of each record batch, from the column that is read fastest."""
        sizes = [column_size(kind) for kind in self.schema.types]
        file = self._only(sizes.index(min(sizes)))
        return [file.get_batch(k).num_rows for k in range(self.count)]

    @property
    def count(self) -> int:
        """Number of record batches."""
        return int(self._file.num_record_batches)

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
        from pyarrow import ipc

        if position < 0:
            raise LookupError("several columns have the same name")
        if position not in self._readers:
            options = ipc.IpcReadOptions(included_fields=[position])
            self._readers[position] = ipc.open_file(self._source, options=options)
        return self._readers[position]


class ArrowFile(ColumnFile):
    """An Arrow IPC file, also called Feather."""

    @contextmanager
    def opened(self) -> Iterator[OpenColumns]:
        """Open the file."""
        with arrow_input(self.location) as source:
            yield ArrowColumns(source)


@contextmanager
def arrow_input(location: Location) -> Iterator[Any]:
    """Open a file for Arrow: its own reader where the file is here, ours where it is not."""
    import pyarrow

    where = str(location)
    with readable(where), arrow_errors(where):
        if location.is_remote:
            with location.open() as raw, pyarrow.PythonFile(raw, "r") as source:
                yield source
        else:
            with pyarrow.OSFile(str(location.path)) as source:
                yield source


def open_arrow(location: Location, column: str | None) -> Cloud:
    """Open an Arrow IPC (Feather) file."""
    return open_columns(ArrowFile(location), column)


MAGIC = 8
"""``ARROW1`` and two bytes; behind it a file is a stream of messages."""

HEADER, COMPRESSION, CODEC = 2, 3, 0
CODECS = {0: "lz4", 1: "zstd"}


def body_compression(file: BinaryIO) -> str | None:
    """Return lz4, zstd or None for a file that holds at least one record batch."""
    from pyarrow import ipc

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
    with ArrowFile(location).opened() as source:
        return schema_mark(source.schema)


def write_arrow(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write the table with its record batches, compressed as they were."""
    import pyarrow
    from pyarrow import ipc

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
                columns = batch.columns
                columns[position] = changed_lists(
                    columns[position], schema.field(position).type, rewrite, first
                )
                writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
                first += batch.num_rows


def changed_lists(array: Any, kind: Any, rewrite: Rewrite, first: int) -> Any:
    """Change the vectors of one record batch, which may be large, a few rows at a time."""
    cloud = rewrite.cloud
    where, step = f"{rewrite.location}:{cloud.column}", rows_per_batch(cloud.width)
    rows = np.empty((len(array), rewrite.change.new_width), STORED_AS[cloud.dtype])
    for start in range(0, len(array), step):
        vectors = vectors_of(array.slice(start, step), cloud.width, where, first + start)
        rows[start : start + step] = rewrite.changed(vectors, first + start)
    return as_lists(rows, kind)
