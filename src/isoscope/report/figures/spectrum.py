"""Singular values before and after corrections, divided by the largest of each space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.theme import ORDERED
from isoscope.report.vega import HOVERED_LINE, chart, logarithmic, name, number, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Table

SPECTRUM = "spectrum"
FEW = 3
"""Parts of a model that have a chart each."""


def spectrum_figures(result: Result) -> list[Figure]:
    """Draw a chart per cloud, a line per space; of many layers one chart, a line per layer."""
    clouds: dict[str, dict[str, list[Table]]] = {}
    for table in result.tables:
        if table.measure == SPECTRUM and ratios(table):
            clouds.setdefault(table.subject, {}).setdefault(table.part, []).append(table)
    figures = []
    for subject, parts in clouds.items():
        if len(parts) > FEW:
            figures.append(of_layers(subject, [tables[0] for tables in parts.values()]))
        else:
            figures += [of_spaces(subject, part, tables) for part, tables in parts.items()]
    return figures


def of_spaces(subject: str, part: str, tables: list[Table]) -> Figure:
    """Draw the spectra of one cloud in several spaces."""
    of = " ".join(filter(None, (subject, part)))
    lines = {table.correction: ratios(table) for table in tables}
    return drawn(file_name(SPECTRUM, subject, part), of, "correction", lines, ordered=False)


def of_layers(subject: str, tables: list[Table]) -> Figure:
    """Draw the spectra of a model's layers as they are."""
    lines = {table.part: ratios(table) for table in tables}
    return drawn(file_name(SPECTRUM, subject), f"{subject}'s layers", "layer", lines, ordered=True)


def drawn(file: str, of: str, what: str, lines: dict[str, list[float]], *, ordered: bool) -> Figure:
    """Draw some spectra, each divided by its largest value."""
    points: list[dict[str, Any]] = [
        {"number": k, "ratio": ratio, "line": line}
        for line, values in lines.items()
        for k, ratio in enumerate(values, start=1)
    ]
    said = "; ".join(f"{line}: {shown(values[1])}" for line, values in lines.items() if values[1:])
    colour = name("line", what, **({"scale": {"scheme": ORDERED}} if ordered else {}))
    dash = {} if ordered else {"strokeDash": name("line", what)}
    return Figure(
        file,
        f"Spectrum of {of}",
        f"Singular values of {of}, each divided by the largest, on a logarithmic axis. The second "
        f"over the first: {said}.",
        chart(
            points,
            HOVERED_LINE,
            {
                "x": number(
                    "number", "number of the singular value", scale=logarithmic(nice=False)
                ),
                "y": number("ratio", "singular value / the largest"),
                "color": colour,
                **dash,
                "tooltip": told({"line": what}, {"number": "number", "ratio": "ratio"}),
            },
        ),
        [what, "number", "singular value / the largest"],
        [[p["line"], shown(p["number"]), shown(p["ratio"])] for p in points],
    )


def ratios(table: Table) -> list[float]:
    """Return singular values divided by the largest."""
    values = [float(row["singular_value"]) for row in table.rows]
    return [value / values[0] for value in values] if values and values[0] > 0 else []
