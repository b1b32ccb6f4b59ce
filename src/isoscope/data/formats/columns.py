"""Vectors in a column of lists: Parquet, and Arrow IPC files (Feather)."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow

from isoscope.data.base import Batch, Cloud, LazyLabels, check_rows, checked_shape, rows_per_batch
from isoscope.data.formats.registry import KEY, choose
from isoscope.data.location import Location, first_line, readable
from isoscope.data.unpacking import COLUMN_RATIO, Unpacked
from isoscope.errors import DataError, IsoscopeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.data.rewrite import Rewrite


class OpenColumns(ABC):
    """A file of columns, open; it is read in stretches, whose rows lie together."""

    schema: Any
    """Names and types of the columns."""
    count: int
    """Number of stretches."""

    @abstractmethod
    def __init__(self, source: Any) -> None:
        """Read the head of a file that Arrow has opened."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows in all."""

    @property
    @abstractmethod
    def stretches(self) -> list[int]:
        """Number of rows of each stretch."""

    @abstractmethod
    def read(self, stretch: int, column: str, step: int) -> Iterator[Any]:
        """Yield one column of one stretch as Arrow arrays of at most ``step`` rows."""


@dataclass(frozen=True)
class ColumnFile:
    """A file of columns that can be opened any number of times; it can be pickled."""

    location: Location
    kind: type[OpenColumns]

    @contextmanager
    def opened(self) -> Iterator[OpenColumns]:
        """Open the file; what goes wrong until it is closed is one clear line."""
        with arrow_input(self.location) as source:
            yield self.kind(source)

    def mark(self) -> str | None:
        """Return what the file says of its corrections."""
        with self.opened() as opened:
            mark = (opened.schema.metadata or {}).get(KEY.encode())
        return None if mark is None else mark.decode("utf-8", "replace")


@contextmanager
def arrow_input(location: Location) -> Iterator[Any]:
    """Open a file for Arrow: its own reader where the file is here, ours where it is not."""
    where = str(location)
    with readable(where), arrow_errors(where):
        if location.is_remote:
            with location.open() as raw, pyarrow.PythonFile(raw, "r") as source:
                yield source
        else:
            with pyarrow.OSFile(str(location.path)) as source:
                yield source


@contextmanager
def arrow_errors(where: str) -> Iterator[None]:
    """Turn what Arrow raises for damaged files into one clear line.

    Its own exceptions are mixed with Python's: a name that is no UTF-8, a length that overflows.
    """
    try:
        yield
    except IsoscopeError:
        raise
    except (pyarrow.ArrowException, LookupError, MemoryError, OverflowError, ValueError) as error:
        raise DataError(f"{where} cannot be read: {first_line(error)}") from error


def column_size(kind: Any) -> int:
    """Return bits a row of a type, for choosing; lists and texts are the largest."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 1 << 30


# Rows in which the first vector is looked for at once.
FIRST_ROWS = 16

# Arrow's names of the floating types.
STORED = {"halffloat": "float16", "float": "float32", "double": "float64"}


class ColumnCloud(Cloud):
    """A column of lists of one length; the other columns are labels."""

    column: str
    nullable = True

    def __init__(self, file: ColumnFile, opened: OpenColumns, column: str) -> None:
        where = f"{file.location}:{column}"
        self._file, self.column, self._where = file, column, where
        self._others = [name for name in opened.schema.names if name != column]
        stored = STORED[str(opened.schema.field(column).type.value_type)]
        rows, width = checked_shape((opened.rows, self._width(opened)), where)
        super().__init__(f"{file.location.stem}:{column}", rows, width, stored)
        self._some: range | None = None
        """Row groups or record batches of a piece; None of a file that is read to its end."""

    @property
    def location(self) -> Location:
        """The file."""
        return self._file.location

    @property
    def where(self) -> str:
        """The file and the column."""
        return self._where

    def _width(self, opened: OpenColumns) -> int:
        """Return the length of the first list that there is."""
        for stretch in range(opened.count):
            for some in opened.read(stretch, self.column, FIRST_ROWS):
                for size in some.value_lengths().drop_null():
                    return int(size.as_py())
        if opened.rows:
            raise DataError(f"{self._where}: all {opened.rows:,} rows are null")
        raise DataError(f"{self._where} has no rows")

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order, with the other columns as labels."""
        first, step = 0, rows_per_batch(self.width)
        unpacked = Unpacked(self._where, self.location.size, COLUMN_RATIO)
        row_bytes = self.width * np.dtype(self.dtype).itemsize
        with self._file.opened() as opened:
            for stretch in self._stretches(opened.count):
                within = 0
                for array in opened.read(stretch, self.column, step):
                    unpacked.add((len(array) - array.null_count) * row_bytes)
                    vectors = vectors_of(array, self.width, self._where, self.start + first)
                    labels = self._labels(stretch, within, len(vectors))
                    yield Batch(vectors, first, labels, null_rows(array))
                    first += len(vectors)
                    within += len(vectors)
        if first != self.rows:
            behind = f" from row {self.start:,} on" if self.start else ""
            raise DataError(
                f"{self._where}: the file promises {self.rows:,} rows{behind}, but has {first:,}"
            )

    def read_rows(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return some rows; only row groups or record batches that hold one are read."""
        check_rows(indices, self.rows, self._where)
        chosen = [np.empty((0, self.width), self.dtype)]
        with self._file.opened() as opened:
            stretches = self._stretches(opened.count)
            counts = [opened.stretches[stretch] for stretch in stretches]
            ends = np.cumsum(counts)
            for k in np.unique(np.searchsorted(ends, indices, side="right")):
                first, stretch = int(ends[k]) - counts[k], stretches[k]
                for array in opened.read(stretch, self.column, rows_per_batch(self.width)):
                    low, high = np.searchsorted(indices, (first, first + len(array)))
                    if low < high:
                        vectors = vectors_of(array, self.width, self._where, self.start + first)
                        chosen.append(vectors[indices[low:high] - first])
                    first += len(array)
                    if high == len(indices):
                        break
        return np.concatenate(chosen)

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return whole row groups or record batches, as many as ``rows`` allows, at least one."""
        if self.rows is None or self.rows <= rows:
            return (self,)
        stretches = self._stretches(len(self._counts))
        pieces, start = [], self.start
        for run in together([self._counts[stretch] for stretch in stretches], rows):
            piece = copy.copy(self)
            piece._some = stretches[run.start : run.stop]
            piece.rows, piece.start = sum(self._counts[stretch] for stretch in piece._some), start
            start += piece.rows
            pieces.append(piece)
        return pieces

    def _stretches(self, count: int) -> range:
        """Return which are read of so many row groups or record batches."""
        return range(count) if self._some is None else self._some

    @cached_property
    def _counts(self) -> list[int]:
        """Rows of each row group or record batch of the file, found once: Arrow reads for them."""
        with self._file.opened() as opened:
            return opened.stretches

    def _labels(self, stretch: int, start: int, count: int) -> LazyLabels:
        return LazyLabels(
            {name: partial(self._label, name, stretch, start, count) for name in self._others}
        )

    def _label(self, name: str, stretch: int, start: int, count: int) -> NDArray[Any]:
        """Read one other column of the stretch: few readers want labels, so this may be slow."""
        with self._file.opened() as opened:
            parts = [part.to_pylist() for part in opened.read(stretch, name, 65_536)]
        values = [value for part in parts for value in part]
        labels = np.empty(count, dtype=object)
        labels[:] = values[start : start + count]
        return labels


def together(counts: Sequence[int], most: int) -> list[range]:
    """Put neighbours together that have ``most`` rows or fewer; none is left without any row."""
    runs, first, rows = [], 0, 0
    for k, count in enumerate(counts):
        if rows and count and rows + count > most:
            runs.append(range(first, k))
            first, rows = k, 0
        rows += count
    return [*runs, range(first, len(counts))]


def vectors_of(array: Any, width: int, where: str, first: int) -> NDArray[Any]:
    """Turn an array of lists into a matrix, or name the first row that does not fit.

    Null rows and null numbers become NaN.
    """
    lengths = array.value_lengths().fill_null(width).to_numpy(zero_copy_only=False)
    other = np.flatnonzero(lengths != width)
    if len(other):
        raise DataError(
            f"{where}: row {first + other[0]} has {lengths[other[0]]} numbers, "
            f"the first has {width}"
        )
    values = array.flatten()  # without those of null rows
    numbers = np.asarray(values.to_numpy(zero_copy_only=False)).reshape(-1, width)
    if not array.null_count:
        return numbers
    vectors = np.full((len(array), width), np.nan, numbers.dtype)
    vectors[~are_null(array)] = numbers
    return vectors


def null_rows(array: Any) -> NDArray[np.bool_] | None:
    """Tell which lists are null, or hold a null; None where there are none, as nearly always."""
    values = array.flatten()
    if not array.null_count and not values.null_count:
        return None
    nulls = are_null(array)
    present = np.flatnonzero(~nulls)
    if values.null_count:
        nulls[present[are_null(values).reshape(len(present), -1).any(axis=1)]] = True
    return nulls


def are_null(array: Any) -> NDArray[np.bool_]:
    """Tell which values of an array are null."""
    return np.array(array.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)


def is_vector_column(kind: Any) -> bool:
    """Whether a column holds lists of floats."""
    types = pyarrow.types
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(test(kind) for test in lists) and str(kind.value_type) in STORED


def open_columns(file: ColumnFile, column: str | None) -> Cloud:
    """Open the column of vectors of a file, named or the only one."""
    with file.opened() as opened:
        schema = opened.schema
        everything = {field.name: str(field.type) for field in schema}
        candidates = [field.name for field in schema if is_vector_column(field.type)]
        chosen = choose(column, candidates, everything, str(file.location))
        if chosen not in candidates:
            raise DataError(
                f"{file.location}: column {chosen} holds {everything[chosen]}; vectors are lists "
                "of float16, float32 or float64"
            )
        return ColumnCloud(file, opened, chosen)


def changed_schema(schema: Any, rewrite: Rewrite) -> tuple[Any, int]:
    """Return the schema of the new file, and which of its columns holds the vectors."""
    position = schema.get_field_index(rewrite.cloud.column)
    if position < 0:
        raise DataError(f"{rewrite.location} has two columns called {rewrite.cloud.column!r}")
    field = schema.field(position)
    if pyarrow.types.is_fixed_size_list(field.type):
        kind = pyarrow.list_(field.type.value_field, rewrite.change.new_width)
        schema = schema.set(position, field.with_type(kind))
    note = {KEY.encode(): rewrite.mark.encode()}
    return schema.with_metadata({**(schema.metadata or {}), **note}), position


def changed_batch(batch: Any, rewrite: Rewrite, schema: Any, position: int, first: int) -> Any:
    """Return a record batch, which may be large, with its vectors changed a few rows at a time."""
    cloud, columns = rewrite.cloud, batch.columns
    where, step = f"{rewrite.location}:{cloud.column}", rows_per_batch(cloud.width)
    rows = np.empty((batch.num_rows, rewrite.change.new_width), cloud.dtype)
    for start in range(0, batch.num_rows, step):
        lists = columns[position].slice(start, step)
        vectors = vectors_of(lists, cloud.width, where, first + start)
        absent = are_null(lists) if lists.null_count else None
        refuse_null_numbers(lists, where, first + start)
        rows[start : start + step] = rewrite.changed(vectors, first + start, absent=absent)
    changed = as_lists(rows, schema.field(position).type)
    columns[position] = with_nulls_of(columns[position], changed)
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def refuse_null_numbers(lists: Any, where: str, first: int) -> None:
    """Refuse a vector of which a number is missing: it can be neither corrected nor left out."""
    if not lists.flatten().null_count:
        return
    nulls = null_rows(lists)
    assert nulls is not None
    row = first + int(np.flatnonzero(nulls & ~are_null(lists))[0])
    raise DataError(
        f"{where}: row {row} holds a null number, which cannot be corrected; remove it from the "
        "file first"
    )


def with_nulls_of(old: Any, new: Any) -> Any:
    """Return new lists with a null wherever an old one is null."""
    if not old.null_count:
        return new
    places = np.arange(len(new))
    return new.take(pyarrow.array(places, mask=are_null(old)))


def as_lists(rows: NDArray[Any], kind: Any) -> Any:
    """Return rows as an array of lists of a given type, without copying the numbers."""
    values = pyarrow.array(rows.reshape(-1), kind.value_type)
    if pyarrow.types.is_fixed_size_list(kind):
        return pyarrow.FixedSizeListArray.from_arrays(values, type=kind)
    large = pyarrow.types.is_large_list(kind)
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int64 if large else np.int32) * width
    maker = pyarrow.LargeListArray if large else pyarrow.ListArray
    return maker.from_arrays(offsets.astype(np.int64 if large else np.int32), values, type=kind)
