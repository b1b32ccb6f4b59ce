"""Rows of several results as one table: what they are about down, measures across."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from isoscope.errors import DataError, UsageError, unknown_name
from isoscope.measures.registry import find_measure
from isoscope.results.render import UNCORRECTED, base_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.results.result import Result, Row

FIELDS = {
    "model": "subject",
    "part": "part",
    "correction": "correction",
    "protocol": "protocol",
}
"""What rows of a table can be told apart by, and the field of a result's row that says it."""


@dataclass(frozen=True)
class Column:
    """A measure, of the cloud as it is or after a correction."""

    measure: str
    correction: str | None
    """None where the rows of the table tell the correction."""

    @property
    def is_plain(self) -> bool:
        """Whether the name of the measure says it all."""
        return self.correction in (None, UNCORRECTED)


@dataclass(frozen=True)
class Pivot:
    """A table of rows of results."""

    fields: tuple[str, ...]
    """Names of the first columns."""
    columns: tuple[Column, ...]
    lines: list[tuple[tuple[str, ...], list[Row | None]]]
    """What each line is about, and its cells; None where there is no such number."""

    @property
    def cells(self) -> Iterable[Row]:
        """All numbers, line by line."""
        return (row for _, line in self.lines for row in line if row is not None)

    @property
    def several_corrections(self) -> bool:
        """Whether the columns differ in more than their measure."""
        return len({column.correction for column in self.columns}) > 1


def pivot(
    results: Sequence[Result],
    rows: Sequence[str],
    columns: Sequence[str],
    corrections: Sequence[str],
) -> Pivot:
    """Arrange the rows of results.

    Parameters
    ----------
    results : sequence of Result
        What to show, in order.
    rows : sequence of str
        What lines differ in: some of model, part, correction, protocol.
    columns : sequence of str
        Names of measures, or patterns such as ``i1*``.
    corrections : sequence of str
        Names of corrections, or patterns.
    """
    everything = [row for result in results for row in result.rows]
    if not everything:
        raise DataError("these results hold no numbers")
    fields = checked_fields(rows)
    measures = matching(columns, [row.measure for row in everything], "measure", in_full)
    spaces = matching(corrections, [row.correction for row in everything], "correction", str)
    chosen = [row for row in everything if row.measure in measures and row.correction in spaces]
    across: list[str | None] = [None] if "correction" in fields else list(spaces)
    shown = tuple(Column(name, space) for name in measures for space in across)
    found: dict[tuple[str, ...], dict[Column, Row]] = {}
    for row in chosen:
        key = tuple(str(getattr(row, FIELDS[name])) for name in fields)
        column = Column(row.measure, None if "correction" in fields else row.correction)
        line = found.setdefault(key, {})
        other = line.setdefault(column, row)
        if (other.value, other.log10) != (row.value, row.log10):
            raise ambiguous(other, row, fields)
    if not found:
        raise UsageError(
            f"no result has {', '.join(measures)} with the correction {', '.join(spaces)}"
        )
    lines = [(key, [line.get(column) for column in shown]) for key, line in found.items()]
    return Pivot(fields, shown, lines)


def checked_fields(rows: Sequence[str]) -> tuple[str, ...]:
    """Return what lines differ in, without repeats."""
    for name in rows:
        if name not in FIELDS:
            raise unknown_name("kind of row", name, FIELDS)
    if not rows:
        raise UsageError(f"--rows names nothing; it takes {', '.join(FIELDS)}")
    return tuple(dict.fromkeys(rows))


def matching(
    patterns: Sequence[str], names: Iterable[str], kind: str, full: Callable[[str], str]
) -> list[str]:
    """Return the names that patterns match, in the order of patterns, then of names."""
    known = list(dict.fromkeys(names))
    found: dict[str, None] = {}
    for pattern in patterns:
        wanted = full(pattern)
        # A name alone also means the measure with options, where there is none without.
        matched = [name for name in known if fnmatchcase(name, wanted)] or [
            name for name in known if fnmatchcase(base_name(name), wanted)
        ]
        if not matched:
            raise unknown_name(f"{kind} in these results", pattern, known)
        found.update(dict.fromkeys(matched))
    if not found:
        raise UsageError(f"name at least one {kind}; these results hold {', '.join(known)}")
    return list(found)


def in_full(name: str) -> str:
    """Return the name of a measure for its alias; other names and patterns as they are."""
    with suppress(UsageError):
        return find_measure(name).text
    return name


def ambiguous(one: Row, other: Row, fields: Sequence[str]) -> UsageError:
    """Say that two numbers claim the same cell, and what would tell them apart."""
    where = " ".join(word for word in (one.subject, one.part) if word)
    differing = [
        name
        for name, field in FIELDS.items()
        if name not in fields and getattr(one, field) != getattr(other, field)
    ]
    advice = (
        f"they differ in {' and '.join(differing)}: add it to --rows"
        if differing
        else "they come from two results; name one of them"
    )
    return UsageError(f"there are two values of {one.measure} for {where}; {advice}")
