"""Columns of lists: the types of a table and its arrays once the vectors in it have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.writing.marks import KEY
from isoscope.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.clouds.writing.change import Rewrite


def schema_mark(schema: Any) -> str | None:
    """Return what a schema says of corrections."""
    mark = (schema.metadata or {}).get(KEY.encode())
    return None if mark is None else mark.decode("utf-8", "replace")


def changed_schema(schema: Any, rewrite: Rewrite) -> tuple[Any, int]:
    """Return the schema of the new file, and which of its columns holds the vectors."""
    import pyarrow

    position = schema.get_field_index(rewrite.cloud.column)
    if position < 0:
        raise DataError(f"{rewrite.location} has two columns called {rewrite.cloud.column!r}")
    field = schema.field(position)
    if pyarrow.types.is_fixed_size_list(field.type):
        kind = pyarrow.list_(field.type.value_field, rewrite.change.new_width)
        schema = schema.set(position, field.with_type(kind))
    note = {KEY.encode(): rewrite.mark.encode()}
    return schema.with_metadata({**(schema.metadata or {}), **note}), position


def as_lists(rows: NDArray[Any], kind: Any) -> Any:
    """Return rows as an array of lists of a given type, without copying the numbers."""
    import pyarrow

    values = pyarrow.array(rows.reshape(-1), kind.value_type)
    if pyarrow.types.is_fixed_size_list(kind):
        return pyarrow.FixedSizeListArray.from_arrays(values, type=kind)
    large = pyarrow.types.is_large_list(kind)
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int64 if large else np.int32) * width
    maker = pyarrow.LargeListArray if large else pyarrow.ListArray
    return maker.from_arrays(offsets.astype(np.int64 if large else np.int32), values, type=kind)
