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
from isoscope.data.unpacking import COLUMN_RATIO, largest_ratio, too_much
from isoscope.errors import DataError

# Rows turned into strings at a time: fewer where each of them could be the longest text of its
# row group, which a dictionary stores once, and all of them would take more than these bytes.
STEP, LEAST_STEP = 1_024, 8
STEP_BYTES = 1 << 28

# Characters that a file may unpack to whatever its size is; beyond it ``COLUMN_RATIO`` counts. One
# long text and a dictionary make gigabytes of a few kilobytes.
SMALL_TEXTS = 1 << 24


class ParquetTexts(FileTexts):
    """The texts of one column; nulls count as blank."""

    column: str

    def rows(self) -> Iterator[TextRow]:
        """Yield the rows in order."""
        ratio = largest_ratio(COLUMN_RATIO)
        characters, most = 0, max(SMALL_TEXTS, ratio * self.location.size())
        for text, document in self._rows():
            characters += len(text or "")
            if characters > most:
                raise too_much(self.where, ratio)
            yield text, document

    def _rows(self) -> Iterator[TextRow]:
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
    for array in opened.read(stretch, column, safe_step(opened, stretch)):
        try:
            yield from array.to_pylist()
        except UnicodeDecodeError as error:
            row = first + next(k for k in range(len(array)) if not is_decodable(array[k]))
            raise DataError(
                f"{where}: row {row} is not UTF-8 in {column!r}; write the column as UTF-8"
            ) from error
        first += len(array)


def safe_step(opened: OpenColumns, stretch: int) -> int:
    """Return how many rows of a row group may be unpacked at a time, as all its columns are long.

    Arrow tells the length of one column as well, but ends the process if the column is forged.
    """
    group = opened.file.metadata.row_group(stretch)  # type: ignore[attr-defined]
    unpacked = group.total_byte_size
    return min(max(STEP_BYTES // max(int(unpacked), 1), LEAST_STEP), STEP)


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
