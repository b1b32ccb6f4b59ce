"""Parquet files, read by row groups; written again, all but the vectors is kept as it was."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow
from pyarrow import parquet

from isoscope.data.base import Cloud, rows_per_batch
from isoscope.data.formats.columns import (
    ColumnFile,
    OpenColumns,
    arrow_input,
    changed_batch,
    changed_schema,
    open_columns,
)
from isoscope.data.unpacking import COLUMN_RATIO, Unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.data.location import Location
    from isoscope.data.rewrite import Rewrite


# Bytes of a Parquet column read at a time: a row group may be as large as the file. Of a small file
# Arrow reads a row group of a column at once: with a buffer it takes memory for as many bytes as a
# page says it has, before it looks whether they are there.
BUFFER = 1 << 20
SMALL_FILE = 1 << 24


class ParquetColumns(OpenColumns):
    """An open Parquet file; its stretches are row groups."""

    def __init__(self, source: Any) -> None:
        # Pre-buffering would read all of a row group ahead, which may be as large as the file.
        buffer = BUFFER if source.size() > SMALL_FILE else 0
        self.file = parquet.ParquetFile(source, buffer_size=buffer, pre_buffer=False)
        self.schema, self.count = self.file.schema_arrow, self.file.num_row_groups

    @property
    def rows(self) -> int:
        """Number of rows, from the footer."""
        return int(self.file.metadata.num_rows)

    @cached_property
    def stretches(self) -> list[int]:
        """Number of rows of each row group, from the footer."""
        return [self.file.metadata.row_group(k).num_rows for k in range(self.count)]

    def read(self, stretch: int, column: str, step: int) -> Iterator[Any]:
        """Yield one column of one row group."""
        for batch in self.file.iter_batches(step, row_groups=[stretch], columns=[column]):
            # By name: asked for "v", Arrow gives a column called "v.x" too.
            yield batch.column(column)


def open_parquet(location: Location, column: str | None) -> Cloud:
    """Open a Parquet file."""
    return open_columns(ColumnFile(location, ParquetColumns), column)


# Bytes from which on a row group is cut: all of one is in memory before it is written.
LARGEST_ROW_GROUP = 1 << 26

CODECS = ("SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD")
VERSIONS = ("1.0", "2.4", "2.6")


def parquet_mark(location: Location) -> str | None:
    """Return what the file says of its corrections."""
    return ColumnFile(location, ParquetColumns).mark()


def write_parquet(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write the table with its row groups, large ones in pieces."""
    with arrow_input(rewrite.location) as opened:
        source = ParquetColumns(opened).file
        schema, position = changed_schema(source.schema_arrow, rewrite)
        with parquet.ParquetWriter(file, schema, **settings(source, position)) as writer:
            first = 0
            unpacked = Unpacked(str(rewrite.location), rewrite.location.size, COLUMN_RATIO)
            for group in range(source.num_row_groups):
                pending: list[Any] = []
                for batch in source.iter_batches(
                    rows_per_batch(rewrite.cloud.width), row_groups=[group]
                ):
                    unpacked.add(batch.nbytes)
                    pending.append(changed_batch(batch, rewrite, schema, position, first))
                    first += batch.num_rows
                    if sum(part.nbytes for part in pending) >= LARGEST_ROW_GROUP:
                        writer.write_table(pyarrow.Table.from_batches(pending, schema))
                        pending = []
                if pending:
                    writer.write_table(pyarrow.Table.from_batches(pending, schema))


def settings(source: Any, position: int) -> dict[str, Any]:
    """Return how a file was written, as far as it tells: codecs, dictionaries, names, version."""
    # Arrow ends the process where the description of a column is forged, unless it is read first,
    # which raises an error instead.
    next(source.iter_batches(1, row_groups=[0]), None)
    group = source.metadata.row_group(0)
    chunks = [group.column(k) for k in range(group.num_columns)]
    vectors = source.schema_arrow.names[position]
    split = [chunk for chunk in chunks if "BYTE_STREAM_SPLIT" in chunk.encodings]
    dictionaries = [
        chunk.path_in_schema
        for chunk in chunks
        if chunk.has_dictionary_page
        and chunk not in split
        and chunk.path_in_schema.split(".")[0] != vectors  # no two corrected numbers are equal
    ]
    version = source.metadata.format_version
    return {
        "compression": {
            chunk.path_in_schema: chunk.compression if chunk.compression in CODECS else "NONE"
            for chunk in chunks
        },
        "use_dictionary": dictionaries or False,
        "use_byte_stream_split": [chunk.path_in_schema for chunk in split] or False,
        "use_compliant_nested_type": not any(
            ".list.item" in chunk.path_in_schema for chunk in chunks
        ),
        "version": version if version in VERSIONS else VERSIONS[-1],
    }
