"""Tables of the user's own: rows of fields out of TSV, CSV and JSON lines."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.data.formats.word_text import LONGEST_LINE
from isoscope.errors import DataError
from isoscope.tasks.text_file import BLANKS, json_rows, text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


JSON_ENDINGS = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True)
class OwnTable:
    """The rows of a file, all with the same fields.

    Attributes
    ----------
    path : Path
        The file.
    names : tuple of str or None
        Names of the fields in JSON lines; None for a table, whose first row may be a header.
    rows : list of (int, list of str)
        The line on which each row begins, and its fields.
    """

    path: Path
    names: tuple[str, ...] | None
    rows: list[tuple[int, list[str]]]


def read_table(path: Path) -> OwnTable:
    """Read a table; what stands between its columns is a tab if its first line has one.

    With tabs nothing is quoted; with commas, quotes hold a field together, line ends included.
    """
    if path.suffix.lower() in JSON_ENDINGS:
        return read_objects(path)
    lines = text_lines(path)
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise DataError(f"{path} is empty")
    commas = "\t" not in first and path.suffix.lower() == ".csv"
    rows = list(comma_rows(lines, path) if commas else tabbed_rows(lines))
    width = len(rows[0][1])
    for number, fields in rows:
        if len(fields) != width:
            between = "commas" if commas else "tabs"
            raise DataError(
                f"{path}: line {number} has {len(fields)} columns with {between} between them, "
                f"line {rows[0][0]} has {width}"
            )
    return OwnTable(path, None, rows)


def tabbed_rows(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Cut every line that is not blank at its tabs."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, [field.strip(BLANKS) for field in line.split("\t")]


def comma_rows(lines: list[str], path: Path) -> Iterator[tuple[int, list[str]]]:
    """Cut lines at their commas, outside of quotes."""
    # The module's own limit of 128 KB is for the whole process, and less than an article may have.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    reader = csv.reader((line + "\n" for line in lines), strict=True, skipinitialspace=True)
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{path}: line {number}: {error}") from error
        if any(field.strip() for field in fields):
            yield number, [field.strip(BLANKS) for field in fields]


def read_objects(path: Path) -> OwnTable:
    """Read JSON lines; the first object says which fields there are, an absent one is empty."""
    names: tuple[str, ...] | None = None
    rows = []
    for number, row in json_rows(path):
        names = tuple(row) if names is None else names
        rows.append((number, [written(row.get(name, "")) for name in names]))
    if names is None:
        raise DataError(f"{path} is empty")
    return OwnTable(path, names, rows)


def written(value: Any) -> str:
    """Write a JSON value as a table would."""
    return value.strip(BLANKS) if isinstance(value, str) else json.dumps(value)
