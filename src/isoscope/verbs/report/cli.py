"""``isoscope report``: several results as one table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import isoscope
from isoscope.cli import options
from isoscope.cli.streams import print_text

EXAMPLES = """Examples:

isoscope measure package:glove --out glove.json; isoscope report glove.json --columns 'i1*'

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

    results: list[Path] = options.argument("RESULT.json…", "Results that --out wrote.")
    format: Literal["markdown", "csv", "latex"] = options.option(
        "markdown", "csv has all digits; latex needs the package booktabs."
    )
    rows: str = options.option(
        "model,part",
        "What lines differ in, with commas: some of model, part, correction, protocol.",
    )
    columns: str = options.option(
        "*", "Measures, with commas; * stands for any letters, as in 'i1*'."
    )
    corrections: str = options.option(
        "none", "Corrections, with commas; of several, each has its columns.", "--correction"
    )
    references: bool = options.flag("Append BibTeX of the measures and corrections shown.")
    pictures: options.Pictures
    out: Path | None = options.option(None, "Write the table to this file instead of printing it.")
    digits: int = options.option(4, "Digits behind the point, but for csv.", min=0, max=17)
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
