"""Vectors in a column of lists: Parquet, and Arrow IPC files (Feather)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.candidates import choose
from isoscope.clouds.checks import checked_shape
from isoscope.clouds.contract import Batch, Cloud, LazyLabels, rows_per_batch
from isoscope.clouds.streams import first_line, readable
from isoscope.errors import DataError, IsoscopeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.clouds.location import Location

STORED = {"halffloat": "float16", "float": "float32", "double": "float64"}
"""Arrow's names of the floating types."""

READ_BUFFER = 1 << 20
"""Bytes of a Parquet column read at a time; without a buffer Arrow loads whole column chunks."""


class ColumnFile(ABC):
    """A file of columns that can be read in stretches, a few columns at a time."""

    def __init__(self, location: Location) -> None:
        self.location = location

    @abstractmethod
    def schema(self) -> Any:
        """Return the names and types of the columns."""

    @abstractmethod
    def stretches(self) -> Sequence[int]:
        """Return the number of rows of each stretch."""

    @abstractmethod
    def read(self, stretch: int, column: str, step: int) -> Iterator[Any]:
        """Yield one column of one stretch as Arrow arrays of at most ``step`` rows."""


class ParquetFile(ColumnFile):
    """A Parquet file; its stretches are row groups."""

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open the file so that a row group is never in memory as a whole, however large."""
        from pyarrow import parquet

        with (
            readable(str(self.location)),
            arrow_errors(str(self.location)),
            self.location.open() as raw,
        ):
            yield parquet.ParquetFile(raw, buffer_size=READ_BUFFER, pre_buffer=False)

    def schema(self) -> Any:
        """Return the names and types of the columns."""
        with self.opened() as file:
            return file.schema_arrow

    def stretches(self) -> Sequence[int]:
        """Return the number of rows of each row group."""
        with self.opened() as file:
            meta = file.metadata
            return [meta.row_group(k).num_rows for k in range(meta.num_row_groups)]

    def read(self, stretch: int, column: str, step: int) -> Iterator[Any]:
        """Yield one column of one row group."""
        with self.opened() as file:
            for batch in file.iter_batches(step, row_groups=[stretch], columns=[column]):
                yield batch.column(0)


class ArrowFile(ColumnFile):
    """An Arrow IPC file, also called Feather; its stretches are record batches."""

    @contextmanager
    def _opened(self, *columns: int) -> Iterator[Any]:
        from pyarrow import ipc

        options = ipc.IpcReadOptions(included_fields=list(columns))
        with (
            readable(str(self.location)),
            arrow_errors(str(self.location)),
            self.location.open() as raw,
        ):
            yield ipc.open_file(raw, options=options)

    def schema(self) -> Any:
        """Return the names and types of the columns."""
        with self._opened() as file:
            return file.schema

    def stretches(self) -> Sequence[int]:
        """Return the number of rows of each record batch."""
        with self._opened(0) as file:
            return [file.get_batch(k).num_rows for k in range(file.num_record_batches)]

    def read(self, stretch: int, column: str, step: int) -> Iterator[Any]:
        """Yield one column of one record batch."""
        position = self.schema().names.index(column)
        with self._opened(position) as file:
            batch = file.get_batch(stretch)
            batch.validate(
                full=True
            )  # Arrow trusts the offsets of a file, and crashes on wrong ones
            array = batch.column(column)
            for first in range(0, len(array), step):
                yield array.slice(first, step)


@contextmanager
def arrow_errors(where: str) -> Iterator[None]:
    """Turn what Arrow raises for damaged files into one clear line.

    Its own exceptions are mixed with Python's: a name that is no UTF-8, a length that overflows.
    """
    import pyarrow

    try:
        yield
    except IsoscopeError:
        raise
    except (pyarrow.ArrowException, LookupError, MemoryError, OverflowError, ValueError) as error:
        raise DataError(f"{where} cannot be read: {first_line(error)}") from error


class ColumnCloud(Cloud):
    """A column of lists of one length; the other columns are labels."""

    column: str

    def __init__(self, file: ColumnFile, column: str) -> None:
        schema = file.schema()
        where = f"{file.location}:{column}"
        stored = STORED[str(schema.field(column).type.value_type)]
        self._file, self.column = file, column
        self._stretches = file.stretches()
        self._others = [name for name in schema.names if name != column]
        rows, width = checked_shape((sum(self._stretches), self._width(where)), where)
        super().__init__(f"{file.location.stem}:{column}", rows, width, stored)

    def _width(self, where: str) -> int:
        """Return the length of the first list."""
        for stretch, rows in enumerate(self._stretches):
            if rows:
                for first in self._file.read(stretch, self.column, 1):
                    return len(vectors_of(first, None, where, 0)[0])
        raise DataError(f"{where} has no rows")

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order, with the other columns as labels."""
        first = 0
        where = f"{self._file.location}:{self.column}"
        step = rows_per_batch(self.width)
        for stretch in range(len(self._stretches)):
            within = 0
            for array in self._file.read(stretch, self.column, step):
                vectors = vectors_of(array, self.width, where, first)
                yield Batch(vectors, first, self._labels(stretch, within, len(vectors)))
                first += len(vectors)
                within += len(vectors)
        if first != self.rows:
            raise DataError(f"{where}: the file promises {self.rows:,} rows, but has {first:,}")

    def _labels(self, stretch: int, start: int, count: int) -> LazyLabels:
        return LazyLabels(
            {name: partial(self._label, name, stretch, start, count) for name in self._others}
        )

    def _label(self, name: str, stretch: int, start: int, count: int) -> NDArray[Any]:
        """Read one other column of the stretch: few readers want labels, so this may be slow."""
        parts = [part.to_pylist() for part in self._file.read(stretch, name, 65_536)]
        values = [value for part in parts for value in part]
        labels = np.empty(count, dtype=object)
        labels[:] = values[start : start + count]
        return labels


def vectors_of(array: Any, width: int | None, where: str, first: int) -> NDArray[Any]:
    """Turn an array of lists into a matrix, or name the first row that does not fit."""
    if array.null_count:
        row = first + int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(f"{where}: row {row} has no vector (null)")
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    expected = int(lengths[0]) if width is None else width
    other = np.flatnonzero(lengths != expected)
    if len(other):
        raise DataError(
            f"{where}: row {first + other[0]} has {lengths[other[0]]} numbers, "
            f"the first has {expected}"
        )
    values = array.flatten()
    if values.null_count:
        position = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(f"{where}: row {first + position // expected} holds a null number")
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(lengths), expected)


def is_vector_column(kind: Any) -> bool:
    """Whether a column holds lists of floats."""
    import pyarrow

    lists = (
        pyarrow.types.is_list,
        pyarrow.types.is_large_list,
        pyarrow.types.is_fixed_size_list,
    )
    return any(test(kind) for test in lists) and str(kind.value_type) in STORED


def open_columns(file: ColumnFile, column: str | None) -> Cloud:
    """Open the column of vectors of a file, named or the only one."""
    with arrow_errors(str(file.location)):
        schema = file.schema()
        everything = {field.name: str(field.type) for field in schema}
        candidates = [field.name for field in schema if is_vector_column(field.type)]
    chosen = choose(column, candidates, everything, str(file.location))
    if chosen not in candidates:
        raise DataError(
            f"{file.location}: column {chosen} holds {everything[chosen]}; vectors are lists of "
            "float16, float32 or float64"
        )
    with arrow_errors(str(file.location)):
        return ColumnCloud(file, chosen)


def open_parquet(location: Location, column: str | None) -> Cloud:
    """Open a Parquet file."""
    return open_columns(ParquetFile(location), column)


def open_arrow(location: Location, column: str | None) -> Cloud:
    """Open an Arrow IPC (Feather) file."""
    return open_columns(ArrowFile(location), column)
