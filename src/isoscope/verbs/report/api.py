"""``report()``: several results as one table, a page or pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from isoscope.data.output import check_place, refuse_read, write_atomically
from isoscope.errors import UsageError
from isoscope.results.fields import UNCORRECTED
from isoscope.results.result import Result, load_result, shown
from isoscope.results.screen.blocks import Screen
from isoscope.verbs.report.pictures import save_figures, save_page
from isoscope.verbs.report.references import bibliography
from isoscope.verbs.report.screen import report_screen
from isoscope.verbs.report.summary_table import (
    DIGITS,
    Pivot,
    ReportFormat,
    as_csv,
    as_latex,
    as_markdown,
    pivot,
)
from isoscope.wording import listed, visible


def report(
    results: Sequence[Result | str | Path],
    rows: Sequence[str] | str = ("model", "part"),
    columns: Sequence[str] | str = ("*",),
    corrections: Sequence[str] | str = (UNCORRECTED,),
    *,
    format: ReportFormat = "markdown",  # noqa: A002  as the command line calls it
    digits: int = DIGITS,
    references: bool = False,
    html: str | Path | None = None,
    figures: str | Path | None = None,
    out: str | Path | None = None,
) -> str:
    """Return one table of several results, and draw them where a page or pictures are wanted.

    Parameters
    ----------
    results : sequence of Result or path
        What to show, in order: results, or files that they were saved to.
    rows : sequence of str
        What lines differ in, also with commas: some of model, part, correction, protocol.
    columns : sequence of str
        Names of measures, or patterns such as ``i1*``, also with commas.
    corrections : sequence of str
        Names of corrections, or patterns, also with commas. Of several, each has its columns.
    format : {"markdown", "csv", "latex"}
        ``csv`` has all digits, and the decimal logarithm of what may be below the smallest double;
        ``latex`` needs the package booktabs.
    digits : int
        Digits behind the point, for Markdown and LaTeX.
    references : bool
        Append BibTeX of the measures and corrections shown.
    html : path, optional
        File for a page with pictures.
    figures : path, optional
        Folder for pictures, as ``.png``, ``.svg`` and ``.pdf``.
    out : path, optional
        File for the table.

    Returns
    -------
    str
        The table. A number that is undefined is a dash, one that no result has is left empty; in
        CSV both are empty. Nothing where a page or pictures were asked for, and no file for the
        table.
    """
    if out is not None:
        check_place(Path(out))
        refuse_read(out, [one for one in results if not isinstance(one, Result)])
    loaded = [one if isinstance(one, Result) else load_result(Path(one)) for one in results]
    if html is not None:
        page = html
        shown(lambda: save_page(loaded, page))
    if figures is not None:
        folder = figures
        shown(lambda: save_figures(loaded, folder))
    if out is None and not (html is None and figures is None):
        return ""

    def tabulated() -> str:
        table = pivot(loaded, listed(rows, ()), listed(columns, ()), listed(corrections, ()))
        return written(table, format, digits, references=references)

    text = visible(shown(tabulated))
    if out is not None:
        write_atomically(Path(out), text + "\n")
    return text


def screen(
    results: Sequence[Result | str | Path],
    rows: Sequence[str] | str = ("model", "part"),
    columns: Sequence[str] | str = ("*",),
    corrections: Sequence[str] | str = (UNCORRECTED,),
) -> Screen:
    """Return what a terminal shows of several results; parameters as for ``report``."""
    loaded = [one if isinstance(one, Result) else load_result(Path(one)) for one in results]
    files = [str(one) for one in results if not isinstance(one, Result)]
    wanted = listed(columns, ())

    def arranged() -> Screen:
        table = pivot(loaded, listed(rows, ()), wanted, listed(corrections, ()))
        return report_screen(loaded, table, files, chosen=wanted != ["*"])

    return shown(arranged)


def written(table: Pivot, format: str, digits: int, *, references: bool) -> str:  # noqa: A002
    """Write a table in one of the formats, with BibTeX of what it shows where that is wanted."""
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
