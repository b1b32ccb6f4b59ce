"""Pages and pictures as files, without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.data.output import cannot_be_written, write_atomically
from isoscope.errors import UsageError, require
from isoscope.results.charts.registry import figures_of
from isoscope.results.charts.vega import themed
from isoscope.verbs.report.page import NEEDED, page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result


FORMATS = ("png", "svg", "pdf")

# Pixels of a PNG for each of a chart's: sharp in print and on dense screens.
SCALE = 2.0


def save_page(results: Sequence[Result], path: str | Path, title: str = "") -> None:
    """Write a page to a file; atomically."""
    write_atomically(Path(path), page(results, title))


def save_figures(
    results: Sequence[Result], folder: str | Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write every figure of some results into a folder, in every format.

    Parameters
    ----------
    results : sequence of Result
        What is drawn.
    folder : str or Path
        Made where it is not there.
    formats : sequence of str
        Some of png, svg, pdf.

    Returns
    -------
    list of Path
        The files.
    """
    vl_convert = require("vl_convert", NEEDED)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(cannot_be_written(folder, error)) from error
    made = []
    for figure in figures_of(*results):
        spec = json.dumps({**themed(figure.spec), "title": figure.title})
        for name in formats:
            path = folder / f"{figure.name}.{name}"
            draw = getattr(vl_convert, f"vegalite_to_{name}")
            write_atomically(path, draw(spec, scale=SCALE) if name == "png" else draw(spec))
            made.append(path)
    return made
