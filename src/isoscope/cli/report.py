"""``isoscope report``: several results as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoscope.cli import options
from isoscope.cli.output import silence_stdout
from isoscope.cli.pictures import pictures_of
from isoscope.data.output import check_place, write_atomically
from isoscope.results.loading import load_results
from isoscope.results.measuring import listed
from isoscope.results.render import UNCORRECTED
from isoscope.results.reporting import DIGITS, ReportFormat, report

REPORT_EXAMPLES = """Examples:

isoscope report minilm.json glove.json --columns mean_cosine,i1_scaled

isoscope report runs/*.json --format latex --correction none,center --references

isoscope report minilm.json glove.json --html page.html

isoscope report profile.json --figures pictures

isoscope report run.json --rows part --columns 'i1*' --format csv --out table.csv
"""


def report_command(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT.json…", help="Results that --out wrote.", show_default=False
        ),
    ],
    format: Annotated[  # noqa: A002  the option's name
        ReportFormat,
        typer.Option(help="csv has all digits; latex needs the package booktabs."),
    ] = "markdown",
    rows: Annotated[
        str,
        typer.Option(
            help="What lines differ in, with commas: some of model, part, correction, protocol."
        ),
    ] = "model,part",
    columns: Annotated[
        str,
        typer.Option(help="Measures, with commas; * stands for any letters, as in 'i1*'."),
    ] = "*",
    correction: Annotated[
        str,
        typer.Option(help="Corrections, with commas; of several, each has its columns."),
    ] = UNCORRECTED,
    references: Annotated[
        bool,
        typer.Option("--references", help="Append BibTeX of the measures and corrections shown."),
    ] = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the table to this file instead of printing it.")
    ] = None,
    digits: Annotated[
        int, typer.Option(help="Digits behind the point, but for csv.", min=0, max=17)
    ] = DIGITS,
    debug: options.Debug = False,
) -> None:
    """Show several results as one table, for a page or a paper; or as one page of pictures."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    if out is not None:
        check_place(out)
    loaded = load_results(results)
    pictures.draw(loaded)
    if out is None and pictures.wanted:
        # A page was asked for, not a table.
        typer.echo(f"written: {', '.join(str(place) for place in (html, figures) if place)}")
        return
    text = report(
        loaded,
        listed(rows, ()),
        listed(columns, ()),
        listed(correction, ()),
        format=format,
        digits=digits,
        references=references,
    )
    if out is not None:
        write_atomically(out, text + "\n")
        return
    try:
        print(text, flush=True)
    except BrokenPipeError:
        silence_stdout()
