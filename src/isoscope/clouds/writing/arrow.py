"""Writing Arrow IPC files (Feather): one column changed, all others kept, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from isoscope.clouds.column_files import ArrowFile, arrow_errors
from isoscope.clouds.columns import vectors_of
from isoscope.clouds.contract import rows_per_batch
from isoscope.clouds.streams import readable
from isoscope.clouds.writing.arrow_compression import body_compression
from isoscope.clouds.writing.change import STORED_AS
from isoscope.clouds.writing.lists import as_lists, changed_schema, schema_mark

if TYPE_CHECKING:
    from isoscope.clouds.location import Location
    from isoscope.clouds.writing.change import Rewrite


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
