"""``isoscope report``: several results as one table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import isoscope
from isoscope.cli import options
from isoscope.cli.output import print_screen, within
from isoscope.cli.streams import console, print_text
from isoscope.registry import load

EXAMPLES = """Examples:

isoscope measure package:glove --out glove.json; isoscope report glove.json

isoscope report glove.json --format latex --references

isoscope report minilm.json glove.json --columns mean_cosine,i1_scaled

isoscope report runs/*.json --format latex --correction none,center --references

isoscope report minilm.json glove.json --html page.html

isoscope report profile.json --figures pictures

isoscope report run.json --rows part --columns 'i1*' --format csv --out table.csv
"""


@dataclass(frozen=True, kw_only=True)
class ReportOptions(options.Options):
    """What ``isoscope report`` takes."""

    results: list[Path] = options.argument(
        "RESULT.json…", "Results that other commands wrote with --out."
    )
    format: Literal["markdown", "csv", "latex"] | None = options.option(
        None,
        "Print the whole table; csv has all digits, latex needs the package booktabs. Default: "
        "one screen of main numbers; with --out, markdown.",
    )
    rows: str = options.option(
        "model,part",
        "Comma-separated fields that identify a row: model, part, correction, protocol.",
    )
    columns: str = options.option(
        "*", "Comma-separated measures; * stands for any characters: 'i1*'."
    )
    corrections: str = options.option(
        "none", "Comma-separated corrections; each has columns of its own.", "--correction"
    )
    references: bool = options.flag("Append BibTeX of the measures and corrections shown.")
    pictures: options.Pictures
    out: Path | None = options.option(None, "Write the table to this file instead of printing it.")
    digits: int = options.option(4, "Digits after the decimal point; csv has all.", min=0, max=17)
    limits: options.Limits
    debug: options.Debug = False


@options.command
def report_command(given: ReportOptions) -> None:
    """Combine results into a table, or into a page with pictures."""
    with within(given.limits):
        make_report(given)


def make_report(given: ReportOptions) -> None:
    """Print or write what is asked for."""
    pictures = given.pictures
    for_people = not (given.format or given.references or given.out or pictures.wanted)
    if for_people:
        show_results(given)
        return
    arguments = given.arguments() | {"format": given.format or "markdown"}
    text = isoscope.report(**arguments, html=pictures.html, figures=pictures.figures)
    if given.out is not None:
        return
    if pictures.wanted:  # a page was asked for, not a table
        places = [str(place) for place in (pictures.html, pictures.figures) if place]
        text = f"written: {', '.join(places)}"
    print_text(text)


def show_results(given: ReportOptions) -> None:
    """Print what results say, and their main numbers."""
    found = load("isoscope.verbs.report.api:screen")(
        given.results, given.rows, given.columns, given.corrections
    )
    print_screen(found, console())
