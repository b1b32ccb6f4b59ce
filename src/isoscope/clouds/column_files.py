"""Files of columns, read by Arrow: Parquet, and Arrow IPC files (Feather)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isoscope.clouds.streams import first_line, readable
from isoscope.errors import DataError, IsoscopeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from isoscope.clouds.location import Location

BUFFER = 1 << 20
"""Bytes of a Parquet column read at a time: a row group may be as large as the file."""


class OpenColumns(ABC):
    """A file of columns, open; it is read in stretches, whose rows lie together."""

    @property
    @abstractmethod
    def schema(self) -> Any:
        """Names and types of the columns."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows in all."""

    @property
    @abstractmethod
    def stretches(self) -> list[int]:
        """Number of rows of each stretch."""

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of stretches."""

    @abstractmethod
    def read(self, stretch: int, column: str, step: int) -> Iterator[Any]:
        """Yield one column of one stretch as Arrow arrays of at most ``step`` rows."""


class ColumnFile(ABC):
    """A file of columns that can be opened any number of times."""

    def __init__(self, location: Location) -> None:
        self.location = location

    @abstractmethod
    def opened(self) -> AbstractContextManager[OpenColumns]:
        """Open the file; what goes wrong until it is closed is one clear line."""


class ParquetColumns(OpenColumns):
    """An open Parquet file; its stretches are row groups."""

    def __init__(self, file: Any) -> None:
        self._file = file

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self._file.schema_arrow

    @property
    def rows(self) -> int:
        """Number of rows, from the footer."""
        return int(self._file.metadata.num_rows)

    @cached_property
    def stretches(self) -> list[int]:
        """Number of rows of each row group, from the footer."""
        meta = self._file.metadata
        return [meta.row_group(k).num_rows for k in range(meta.num_row_groups)]

    @property
    def count(self) -> int:
        """Number of row groups."""
        return int(self._file.metadata.num_row_groups)

    def read(self, stretch: int, column: str, step: int) -> Iterator[Any]:
        """Yield one column of one row group."""
        for batch in self._file.iter_batches(step, row_groups=[stretch], columns=[column]):
            # By name: asked for "v", Arrow gives a column called "v.x" too.
            yield batch.column(column)


class ParquetFile(ColumnFile):
    """A Parquet file."""

    @contextmanager
    def opened(self) -> Iterator[OpenColumns]:
        """Open the file."""
        from pyarrow import parquet

        with arrow_input(self.location) as source:
            yield ParquetColumns(parquet.ParquetFile(source, buffer_size=BUFFER))


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


def column_size(kind: Any) -> int:
    """Return bits a row of a type, for choosing; lists and texts are the largest."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 1 << 30
