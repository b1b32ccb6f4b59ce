"""Texts in a column of a Parquet file.

In a module of its own, which is loaded with the first such file: other texts need no Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

import pyarrow

from isoscope.data.formats.columns import ColumnFile, OpenColumns
from isoscope.data.formats.parquet import ParquetColumns
from isoscope.data.location import Location
from isoscope.data.texts.base import FileTexts, TextRow, TextSource, choose_column
from isoscope.errors import DataError

# Rows turned into strings at a time.
STEP = 1_024


class ParquetTexts(FileTexts):
    """The texts of one column; nulls count as blank."""

    column: str

    def rows(self) -> Iterator[TextRow]:
        """Yield the rows in order."""
        first = 1
        with ColumnFile(self.location, ParquetColumns).opened() as opened:
            for stretch, count in enumerate(opened.stretches):
                documents: Iterator[Any] = repeat(None)
                if self.document is not None:
                    documents = cells(opened, stretch, self.document, self.where, first)
                texts = cells(opened, stretch, self.column, self.where, first)
                yield from zip(texts, documents, strict=False)
                first += count


def cells(opened: OpenColumns, stretch: int, column: str, where: str, first: int) -> Iterator[Any]:
    """Yield the values of one column of one row group.

    The first row that is no UTF-8 is named, which Arrow does not check.
    """
    for array in opened.read(stretch, column, STEP):
        try:
            yield from array.to_pylist()
        except UnicodeDecodeError as error:
            row = first + next(k for k in range(len(array)) if not is_decodable(array[k]))
            raise DataError(
                f"{where}: row {row} is not UTF-8 in {column!r}; write the column as UTF-8"
            ) from error
        first += len(array)


def is_decodable(value: Any) -> bool:
    """Whether Arrow's string is one."""
    try:
        value.as_py()
    except UnicodeDecodeError:
        return False
    return True


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is text, stored as it is or as a dictionary of values."""
    if pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind) in ("string", "large_string", "string_view")


def open_parquet_texts(location: Location, column: str | None, document: str | None) -> TextSource:
    """Open the column of texts of a Parquet file, named or the only one that could be meant."""
    with ColumnFile(location, ParquetColumns).opened() as opened:
        columns = {field.name: is_text(field.type) for field in opened.schema}
    chosen = choose_column(column, document, columns, str(location))
    return ParquetTexts(location, chosen, document)
