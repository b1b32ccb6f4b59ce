"""Lines, fields and tables of data files, with errors that name the file and the line.

Benchmarks have tabs and quote nothing; tables of the user's own are TSV, CSV or JSON lines.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from isoscope.data.formats.word_text import LONGEST_LINE
from isoscope.errors import DataError, UsageError, cut, plain_reason
from isoscope.tasks.registry import LabelledText

Number = TypeVar("Number", int, float)

# What is taken off the ends of a text; other space, such as Latin-1's 0x85, may be a character.
BLANKS = " \t\r\n"


def read_text(path: Path) -> str:
    """Return a file's text: UTF-8 with or without a mark, else Latin-1."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if "\0" in text:
        raise DataError(f"{path} is not a text file: it holds zero bytes")
    return text


def text_lines(path: Path) -> list[str]:
    """Return the lines of a file, without an empty one behind the last line feed.

    Only a line feed ends a line, with or without a carriage return before it: other separators,
    such as U+0085, are found inside of words.
    """
    lines = read_text(path).removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines]


def parallel_lines(path: Path, beside: Path) -> Iterator[tuple[int, str, str]]:
    """Give out the lines of two files that belong together, blank ones too."""
    lines, others = text_lines(path), text_lines(beside)
    if len(lines) != len(others):
        raise DataError(f"{path} has {len(lines):,} lines, but {beside} has {len(others):,}")
    for number, (line, other) in enumerate(zip(lines, others, strict=True), start=1):
        yield number, line, other


def filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give out number and text of every line that is not blank."""
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            yield number, line


def tab_rows(path: Path, columns: tuple[int, int], wanted: str) -> Iterator[tuple[int, list[str]]]:
    """Give out number and fields of every line that is not blank; ``tab_fields`` cuts it."""
    for number, line in filled_lines(path):
        yield number, tab_fields(line, columns, wanted, f"{path}: line {number}")


def tab_fields(line: str, columns: tuple[int, int], wanted: str, where: str) -> list[str]:
    """Cut a line at its tabs; nothing is quoted, and a quotation mark is a character.

    Parameters
    ----------
    line : str
        The line.
    columns : tuple of int
        Fewest and most fields.
    wanted : str
        What the columns are, for the error.
    where : str
        File and number of the line, for the error.
    """
    fields = [field.strip(BLANKS) for field in line.split("\t")]
    if not columns[0] <= len(fields) <= columns[1]:
        raise wrong_columns(len(fields), columns, wanted, where)
    return fields


def wrong_columns(
    found: int, columns: tuple[int, int], wanted: str, where: str, between: str = "tabs"
) -> DataError:
    """Build the error for a line with too few or too many columns."""
    fewest, most = columns
    count = str(fewest) if fewest == most else f"{fewest} to {most}"
    return DataError(
        f"{where} has {found} columns with {between} between them; expected {count}: {wanted}"
    )


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give out number and object of every line that is not blank."""
    for number, line in filled_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
            raise DataError(
                f"{path}: line {number} is not valid JSON: {plain_reason(error)}"
            ) from error
        if not isinstance(row, dict):
            raise DataError(f"{path}: line {number} should be a JSON object")
        yield number, row


def json_text(row: dict[str, Any], key: str, where: str) -> str:
    """Return a text out of a JSON object."""
    value = row.get(key)
    if not isinstance(value, str):
        held = (
            f"{type(value).__name__} there" if key in row else f"only {', '.join(row) or 'nothing'}"
        )
        raise DataError(f"{where} needs a text under {key!r}; it has {held}")
    return value.strip(BLANKS)


def as_number(
    field: str,
    kind: Callable[[str], Number] = float,  # type: ignore[assignment]
) -> Number | None:
    """Return a number, or None where there is none; ``kind`` is ``int`` for whole ones."""
    try:
        return kind(field)
    except ValueError:
        return None


# Digits of a number that counts something.
MOST_DIGITS = 18


def as_count(field: str) -> int | None:
    """Return a whole number from 0 on; None where there is none, or a larger one than any count."""
    return int(field) if field.isdecimal() and len(field) <= MOST_DIGITS else None


def as_score(field: str, scale: tuple[float, float], where: str) -> float:
    """Return a score, or say that it is none or out of its scale."""
    score = as_number(field)
    low, high = scale
    if score is None or not math.isfinite(score) or not low <= score <= high:
        raise DataError(
            f"{where}: the score should be a number from {low:g} to {high:g}, not {field!r}"
        )
    return score


def as_label(field: str, labels: Collection[str], where: str) -> str:
    """Return a label, or say that the task knows no such label."""
    if field not in labels:
        raise DataError(f"{where}: the label {cut(field)!r} is unknown; expected {one_of(labels)}")
    return field


def labelled_text(
    texts: tuple[str, ...], label: str, labels: Collection[str], where: str, part: str
) -> LabelledText:
    """Return one text or two with their class, or say that a text is empty or the class unknown."""
    check_texts(texts, where)
    second = texts[1] if len(texts) > 1 else None
    return LabelledText(texts[0], second, as_label(label, labels, where), part)


def check_texts(texts: Sequence[str], where: str) -> None:
    """Refuse a row without a text where there should be one."""
    if not all(texts):
        raise DataError(f"{where} has an empty text")


def one_of(names: Collection[str]) -> str:
    """Write names as a choice."""
    *some, last = names
    return f"{', '.join(some)} or {last}" if some else last


JSON_ENDINGS = (".jsonl", ".ndjson", ".json")


# Characters that are kept of a list or an object, which no column should hold.
LONGEST_VALUE = 1_000


class OwnTable(NamedTuple):
    """The rows of a file, all with the same fields.

    Attributes
    ----------
    names : tuple of str or None
        Names of the fields in JSON lines; None for a table, whose first row may be a header.
    rows : list of (int, list of str)
        The line on which each row begins, and its fields.
    """

    names: tuple[str, ...] | None
    rows: list[tuple[int, list[str]]]


def read_table(path: Path) -> OwnTable:
    """Read a table; what stands between its columns is a tab if its first line has one.

    With tabs nothing is quoted; with commas, quotes hold a field together, line ends included.
    """
    if path.suffix.lower() in JSON_ENDINGS:
        return read_objects(path)
    lines = list(filled_lines(path))
    if not lines:
        raise DataError(f"{path} is empty")
    commas = "\t" not in lines[0][1] and path.suffix.lower() == ".csv"
    rows = (
        list(comma_rows(path))
        if commas
        else [
            (number, [field.strip(BLANKS) for field in line.split("\t")]) for number, line in lines
        ]
    )
    if not rows:  # quotes around nothing but line ends
        raise DataError(f"{path} is empty")
    width = len(rows[0][1])
    for number, fields in rows:
        if len(fields) != width:
            between = "commas" if commas else "tabs"
            raise DataError(
                f"{path}: line {number} has {len(fields)} columns with {between} between them, "
                f"line {rows[0][0]} has {width}"
            )
    return OwnTable(None, rows)


def comma_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Cut lines at their commas, outside of quotes."""
    # The module's own limit of 128 KB is for the whole process, and less than an article may have.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    lines = (line + "\n" for line in text_lines(path))
    reader = csv.reader(lines, strict=True, skipinitialspace=True)
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
        try:
            rows.append((number, [written(row.get(name, "")) for name in names]))
        except RecursionError as error:
            raise DataError(f"{path}: line {number} is nested too deeply") from error
    if names is None:
        raise DataError(f"{path} is empty")
    return OwnTable(names, rows)


def written(value: Any) -> str:
    """Write a JSON value as a table would."""
    if isinstance(value, dict | list):
        return json.dumps(value)[:LONGEST_VALUE]
    return value.strip(BLANKS) if isinstance(value, str) else json.dumps(value)
