"""How the cosines of random pairs are spread, before and after corrections.

A curve through the quantiles that were measured: the share of pairs below each cosine. A density
would need more than five quantiles; between two points the curve is only a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.panels import (
    Cloud,
    Sheet,
    cloud_of,
    reach,
    sheets,
    telling_apart,
    told_of,
)
from isoscope.report.vega import number, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

QUANTILES = "cosine_quantiles/"
MEDIAN, HIGH = 50.0, 99.0
"""The percentages that a sentence tells: an ordinary cosine, and one that is rare by chance."""

AXIS = {"tickCount": 4}
Curves = dict[tuple[Cloud, str], dict[float, "Row"]]


def cosine_distribution_figures(result: Result) -> list[Figure]:
    """Draw a curve per space through the quantiles of the cosines of random pairs."""
    curves: Curves = {}
    for row in result.rows:
        percent = percent_of(row.measure)
        if percent is not None and row.value is not None:
            curves.setdefault((cloud_of(row), row.correction), {})[percent] = row
    return [drawn(sheet, curves) for sheet in sheets(curves)]


def percent_of(measure: str) -> float | None:
    """Return which quantile a row is; None where it is none."""
    if not (measure.startswith(QUANTILES) and measure.endswith("%")):
        return None
    try:
        return float(measure.removeprefix(QUANTILES).removesuffix("%"))
    except ValueError:
        return None


def drawn(sheet: Sheet, curves: Curves) -> Figure:
    """Draw one figure."""
    shown_curves = {key: curve for key, curve in curves.items() if sheet.shows(*key)}
    points: list[dict[str, Any]] = [
        {**sheet.place(*key), "percent": percent, "cosine": row.value, "space": key[1]}
        for key, curve in shown_curves.items()
        for percent, row in sorted(curve.items())
    ]
    said = told_of([sentence(sheet.named(*key), curve) for key, curve in shown_curves.items()])
    line = telling_apart(points, "series", sheet.legend)
    axes = {
        "x": number(
            "cosine", "cosine of a random pair",
            scale={"domain": reach((p["cosine"] for p in points), 0.05)}, axis=AXIS,
        ),
        "y": number("percent", "random pairs below (%)", scale={"domain": [0, 100]}),
        "color": line["color"],
    }  # fmt: skip
    hover = told(
        {"panel": sheet.apart, "space": "correction"},
        {"percent": "random pairs below (%)", "cosine": "cosine"},
    )
    order = number("percent", "random pairs below (%)")
    layers = [
        {"mark": "line", "encoding": {**axes, "strokeDash": line["strokeDash"], "order": order}},
        {"mark": "point", "encoding": {**axes, "tooltip": hover}},
    ]
    return Figure(
        file_name("cosines", sheet.of),
        f"Cosines of random pairs of {sheet.of}",
        f"Share of random pairs of {sheet.of} below each cosine: a curve through measured "
        f"quantiles, with straight lines between them. {said}.{sheet.left_out}",
        sheet.spec(points, layers),
        [sheet.apart, "correction", "random pairs below (%)", "cosine"],
        [[p["panel"], p["space"], shown(p["percent"]), shown(p["cosine"])] for p in points],
    )


def sentence(of: str, curve: dict[float, Row]) -> str:
    """Say what is ordinary in a space, and what is rare."""
    known = [
        f"{words} {shown(curve[percent].value)}"
        for percent, words in ((MEDIAN, "median"), (HIGH, f"{HIGH:g} % below"))
        if percent in curve
    ]
    return f"{of}: {', '.join(known) or 'no median'}"
