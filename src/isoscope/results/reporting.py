"""A table of several results, for a paper or a page: Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import TYPE_CHECKING, Literal, get_args

from isoscope.errors import UsageError
from isoscope.measures.registry import all_measures
from isoscope.results.pivot import FIELDS, pivot
from isoscope.results.references import bibliography
from isoscope.results.render import SMALLEST_SHOWN, UNCORRECTED, base_name, escaped, markdown_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.pivot import Column, Pivot
    from isoscope.results.result import Result, Row

ReportFormat = Literal["markdown", "csv", "latex"]

DIGITS = 4
LARGE = 100
"""Numbers from here on get three digits less behind the point."""

LATEX_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip


def report(
    results: Sequence[Result],
    rows: Sequence[str] = ("model", "part"),
    columns: Sequence[str] = ("*",),
    corrections: Sequence[str] = (UNCORRECTED,),
    *,
    format: ReportFormat = "markdown",  # noqa: A002  as the command line calls it
    digits: int = DIGITS,
    references: bool = False,
) -> str:
    """Return one table of several results.

    Parameters
    ----------
    results : sequence of Result
        What to show, in order.
    rows : sequence of str
        What lines differ in: some of model, part, correction, protocol.
    columns : sequence of str
        Names of measures, or patterns such as ``i1*``.
    corrections : sequence of str
        Names of corrections, or patterns. Of several, each has its columns.
    format : {"markdown", "csv", "latex"}
        ``csv`` has all digits, and the decimal logarithm of what may be below the smallest double;
        ``latex`` needs the package booktabs.
    digits : int
        Digits behind the point, for Markdown and LaTeX.
    references : bool
        Append BibTeX of the measures and corrections shown.

    Returns
    -------
    str
        The table. A number that is undefined is a dash, one that no result has is left empty; in
        CSV both are empty.
    """
    table = pivot(results, rows, columns, corrections)
    if format == "csv":
        if references:
            raise UsageError("a CSV table has no place for references; use markdown or latex")
        return as_csv(table)
    if format not in get_args(ReportFormat):
        raise UsageError(f"there is no format {format!r}; use {', '.join(get_args(ReportFormat))}")
    text = as_markdown(table, digits) if format == "markdown" else as_latex(table, digits)
    if not references:
        return text
    entries = bibliography(
        [column.measure for column in table.columns], {row.correction for row in table.cells}
    )
    if format == "markdown":
        return f"{text}\n\n```bibtex\n{entries}\n```" if entries else text
    return text + "".join(f"\n% {line}".rstrip() for line in ["", *entries.split("\n")])


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
