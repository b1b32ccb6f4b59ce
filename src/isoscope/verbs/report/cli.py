"""``isoscope report``: several results as one table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.streams import print_text

EXAMPLES = """Examples:

isoscope report minilm.json glove.json --columns mean_cosine,i1_scaled

isoscope report runs/*.json --format latex --correction none,center --references

isoscope report minilm.json glove.json --html page.html

isoscope report profile.json --figures pictures

isoscope report run.json --rows part --columns 'i1*' --format csv --out table.csv
"""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(options.Options):
    """What ``isoscope report`` takes."""

    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT.json…", help="Results that --out wrote.", show_default=False
        ),
    ]
    format: Annotated[
        Literal["markdown", "csv", "latex"],
        typer.Option(help="csv has all digits; latex needs the package booktabs."),
    ] = "markdown"
    rows: Annotated[
        str,
        typer.Option(
            help="What lines differ in, with commas: some of model, part, correction, protocol."
        ),
    ] = "model,part"
    columns: Annotated[
        str,
        typer.Option(help="Measures, with commas; * stands for any letters, as in 'i1*'."),
    ] = "*"
    corrections: Annotated[
        str,
        typer.Option(
            "--correction",
            help="Corrections, with commas; of several, each has its columns.",
        ),
    ] = "none"
    references: Annotated[
        bool,
        typer.Option("--references", help="Append BibTeX of the measures and corrections shown."),
    ] = False
    pictures: options.Pictures
    out: Annotated[
        Path | None, typer.Option(help="Write the table to this file instead of printing it.")
    ] = None
    digits: Annotated[
        int, typer.Option(help="Digits behind the point, but for csv.", min=0, max=17)
    ] = 4
    debug: options.Debug = False


@options.command
def report_command(given: ReportOptions) -> None:
    """Show several results as one table, for a page or a paper; or as one page of pictures."""
    pictures = given.pictures
    text = isoscope.report(**given.arguments(), html=pictures.html, figures=pictures.figures)
    if given.out is not None:
        return
    if pictures.wanted:  # a page was asked for, not a table
        places = [str(place) for place in (pictures.html, pictures.figures) if place]
        text = f"written: {', '.join(places)}"
    print_text(text)
