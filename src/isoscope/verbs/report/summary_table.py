"""Several results as one table, for a paper or a page: what they are about down, measures across.

It is written as Markdown, CSV or LaTeX.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from isoscope.errors import DataError, UsageError, unknown_name
from isoscope.measures.registry import all_measures, find_measure
from isoscope.results.fields import UNCORRECTED, base_name
from isoscope.results.numbers import SMALLEST_SHOWN
from isoscope.results.render import escaped, markdown_table

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row


# What rows of a table can be told apart by, and the field of a result's row that says it.
FIELDS = {
    "model": "subject",
    "part": "part",
    "correction": "correction",
    "protocol": "protocol",
}


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
        f"they differ in {' and '.join(differing)}; tell them apart with "
        f"--rows {','.join([*fields, *differing])}"
        if differing
        else "they come from two results; name one of them"
    )
    return UsageError(f"there are two values of {one.measure} for {where}; {advice}")


ReportFormat = Literal["markdown", "csv", "latex"]

DIGITS = 4

# Numbers from here on get three digits less behind the point.
LARGE = 100

LATEX_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip


def as_csv(table: Pivot) -> str:
    """Return comma-separated values that parse back to the same numbers."""
    logarithms = {
        column
        for _, line in table.lines
        for column, row in zip(table.columns, line, strict=True)
        if row is not None and row.log10 is not None
    }
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    header = list(table.fields)
    for column in table.columns:
        name = column.measure if column.is_plain else f"{column.measure}@{column.correction}"
        header += [name, f"{name} log10"] if column in logarithms else [name]
    writer.writerow(header)
    for key, line in table.lines:
        cells = list(key)
        for column, row in zip(table.columns, line, strict=True):
            cells.append(exact(row.value if row else None))
            if column in logarithms:
                cells.append(exact(row.log10 if row else None))
        writer.writerow(cells)
    return file.getvalue().removesuffix("\n")


def exact(number: float | None) -> str:
    """Return a number with all its digits; nothing for what is undefined."""
    return "" if number is None or not math.isfinite(number) else repr(float(number))


def as_markdown(table: Pivot, digits: int) -> str:
    """Return a Markdown table with notes below."""
    fields, keys = told(table)
    body = [
        [*(one_line(word) for word in key), *(shown(row, digits) for row in line)]
        for key, (_, line) in zip(keys, table.lines, strict=True)
    ]
    header = [*fields, *(title(column, table) for column in table.columns)]
    notes = "\n".join(f"- {escaped(one_line(note))}" for note in notes_on(table))
    whole = markdown_table([header, *body], left=len(fields))
    return f"{whole}\n\n{notes}" if notes else whole


def as_latex(table: Pivot, digits: int) -> str:
    """Return a tabular of booktabs, with notes as comments."""
    fields, keys = told(table)
    header = [latex(text) for text in [*fields, *(title(c, table) for c in table.columns)]]
    body = [
        [*(latex(word) for word in key), *(latex_number(shown(row, digits)) for row in line)]
        for key, (_, line) in zip(keys, table.lines, strict=True)
    ]
    lines = [" & ".join(row) + r" \\" for row in [header, *body]]
    return "\n".join(
        [
            *(f"% {one_line(note)}" for note in notes_on(table)),
            rf"\begin{{tabular}}{{{'l' * len(fields)}{'r' * len(table.columns)}}}",
            r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}",
        ]
    )  # fmt: skip


def told(table: Pivot) -> tuple[list[str], list[list[str]]]:
    """Return the fields that say something, and what they say of each line.

    One cloud has no parts, and parts of a run may have no model: a column of blanks tells nothing.
    """
    kept = [k for k in range(len(table.fields)) if any(key[k] for key, _ in table.lines)] or [0]
    return [table.fields[k] for k in kept], [[key[k] for k in kept] for key, _ in table.lines]


def title(column: Column, table: Pivot) -> str:
    """Return the heading of a column."""
    if column.is_plain and not table.several_corrections:
        return column.measure
    return f"{column.measure} ({column.correction})"


def shown(row: Row | None, digits: int) -> str:
    """Return a number as a person reads it: tiny ones by their power of ten."""
    if row is None:
        return ""
    if row.value is None or not math.isfinite(row.value):
        return "–"
    size = abs(row.value)
    if row.log10 is not None and size < SMALLEST_SHOWN:
        return f"10^{row.log10:.{digits if row.log10 > -LARGE else max(digits - 3, 0)}f}"
    if size == 0:
        return "0"
    if size < SMALLEST_SHOWN or size >= 1e6:
        return f"{row.value:.{max(digits - 2, 0)}e}"
    return f"{row.value:.{digits if size < LARGE else max(digits - 3, 0)}f}"


def notes_on(table: Pivot) -> list[str]:
    """Say what depends on length, and how the numbers of each model were taken."""
    dependent = {item.name for item in all_measures() if item.length_dependent}
    names = [column.measure for column in table.columns if base_name(column.measure) in dependent]
    notes = []
    if names:
        notes.append(
            "depending on the length of the vectors, to be compared only at equal scale: "
            f"{', '.join(dict.fromkeys(names))}"
        )
    if "protocol" not in table.fields:
        protocols: dict[str, dict[str, None]] = {}
        for row in table.cells:
            if row.protocol:
                protocols.setdefault(row.protocol, {})[getattr(row, FIELDS["model"])] = None
        for protocol, models in protocols.items():
            about = ", ".join(model for model in models if model)
            notes.append(f"{about}: {protocol}" if about else protocol)
    return notes


def one_line(text: str) -> str:
    """Return text without line ends."""
    return " ".join(text.split())


def latex(text: str) -> str:
    """Return text in which LaTeX sees no commands."""
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in one_line(text))


def latex_number(text: str) -> str:
    """Return a number as mathematics, so that its minus is one; a dash as a dash."""
    if text in ("", "–"):
        return text.replace("–", "--")
    power = re.fullmatch(r"10\^(.*)", text)
    if power:
        return f"$10^{{{power[1]}}}$"
    mantissa, e, exponent = text.partition("e")
    return rf"${mantissa} \cdot 10^{{{int(exponent)}}}$" if e else f"${text}$"
