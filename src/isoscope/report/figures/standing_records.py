"""Which rows and tables of a result are about models as they are, and have what a chart needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.results.result import Result, Row, Table

NONE = "none"
OVER_TRAINING = ("revision", "step", "factor", "factors")
"""Fields of rows and tables about checkpoints or effects on a training: other charts have them."""

Entry: TypeAlias = dict[str, Any]


def is_standing(record: Row | Table) -> bool:
    """Whether a row or a table is about a model as it is, not about a step of its training."""
    return not any(name in record.extra for name in OVER_TRAINING)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def standing_rows(result: Result) -> Iterator[Row]:
    """Go through the rows about models as they are that have a number."""
    return (row for row in result.rows if is_standing(row) and is_number(row.value))


def entries_of(table: Table, numbers: Sequence[str], names: Sequence[str] = ()) -> list[Entry]:
    """Return the rows of a table that have all numbers and names which a chart needs."""
    return [
        row
        for row in table.rows
        if all(is_number(row.get(name)) for name in numbers) and all(name in row for name in names)
    ]


def standing_tables(result: Result, measure: str) -> list[Table]:
    """Return the tables of one measure about models as they are, without a correction."""
    return [
        table
        for table in result.tables
        if table.measure == measure and table.correction == NONE and is_standing(table)
    ]


def interval_of(row: Row) -> dict[str, float]:
    """Return the ends of a row's interval as fields of a mark; none where it has no interval."""
    if is_number(row.low) and is_number(row.high):
        return {"low": row.low, "high": row.high}
    return {}


def of(*words: str) -> str:
    """Return what a figure is of, for titles and sentences."""
    return " ".join(word for word in words if word)
