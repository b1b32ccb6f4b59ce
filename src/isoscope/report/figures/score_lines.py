"""Scores layer by layer, or epoch by epoch: lines with a mark for each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dots import (
    PANEL_WIDTH,
    Point,
    finite,
    first_series,
    in_panels,
    left_words,
    point,
    spanned,
    told_apart,
)
from isoscope.report.vega import layered, number, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.vega import Spec
    from isoscope.results.result import Row

MOST_PANELS = 8
MOST_BANDS = 3
"""Lines whose intervals are drawn as bands; more would cover each other."""

PANEL_HEIGHT = 180
EPOCH = "epoch "


def score_lines(subject: str, rows: Sequence[Row]) -> list[Figure]:
    """Draw every score of a subject over its layers, a line for every correction."""
    known = [
        point(row.part, row.correction, row.value, row.low, row.high, row.measure)
        for row in rows
        if finite(row.value) is not None
    ]
    panels = list(dict.fromkeys(mark["panel"] for mark in known))
    corrections = first_series(mark["series"] for mark in known)
    marks = [
        mark
        for mark in known
        if mark["panel"] in panels[:MOST_PANELS] and mark["series"] in corrections
    ]
    if not marks:
        return []
    places = numbered(list(dict.fromkeys(mark["label"] for mark in known)))
    marks = [{**mark, "place": places[mark["label"]]} for mark in marks]
    where = "epoch" if all(mark["label"].startswith(EPOCH) for mark in marks) else "layer"
    left = left_words(len(known) - len(marks), "number")
    undefined = len(rows) - len(known)
    left += f" {undefined:,} undefined." if undefined else ""
    bands = " The bands are intervals." if has_bands(marks, corrections) else ""
    only = f": {panels[0]}" if len(panels) == 1 else ""
    return [
        Figure(
            file_name(f"scores-by-{where}", subject),
            f"Scores of {subject} {where} by {where}{only}",
            f"Scores of {subject} over its {where}s, a line for every correction.{bands} "
            f"{words(marks, panels[:MOST_PANELS])}{left}",
            lines(marks, corrections, where),
            ["score", where, "correction", "value", "low", "high"],
            [
                [
                    mark["panel"], mark["label"], mark["series"], shown(mark["value"]),
                    *("" if mark[end] is None else shown(mark[end]) for end in ("low", "high")),
                ]
                for mark in known
            ],
        )
    ]  # fmt: skip


def numbered(parts: Sequence[str]) -> dict[str, int]:
    """Return the number of every layer: its own, as of block 3, or else its place.

    The first may have none of its own: it is the input, layer 0.
    """
    ends = [re.search(r"(\d+)$", part) for part in parts]
    own = [int(end.group()) for end in ends if end is not None]
    if len(own) == len(parts) - 1 and ends[0] is None:
        own = [0, *own]
    if len(own) < len(parts) or len(set(own)) < len(own):
        own = list(range(len(parts)))
    return dict(zip(parts, own, strict=True))


def has_bands(marks: Sequence[Point], corrections: Sequence[str]) -> bool:
    """Whether intervals are drawn."""
    return len(corrections) <= MOST_BANDS and any(mark["low"] is not None for mark in marks)


def words(marks: Sequence[Point], panels: Sequence[str]) -> str:
    """Say where every score is highest."""
    said = []
    for panel in panels:
        best = max((m for m in marks if m["panel"] == panel), key=lambda m: float(m["value"]))
        where = f"in {best['label']} ({best['series']})"
        said.append(f"{panel}: highest {shown(best['value'])} {where}")
    return "; ".join(said) + "."


def lines(marks: Sequence[Point], corrections: Sequence[str], where: str) -> Spec:
    """Return lines with marks, and bands where there are few."""
    panels = list(dict.fromkeys(mark["panel"] for mark in marks))
    x = number("place", f"number of the {where}", axis={"tickMinStep": 1, "format": "d"})
    x["scale"] = {"zero": False}
    style = told_apart(corrections, marks, "correction", ("color", "shape", "strokeDash"))
    zoomed = {"scale": {"zero": False}}
    hover = told(
        {"panel": "score", "label": where, "series": "correction"},
        {"value": "value", "low": "interval from", "high": "to"},
    )
    y = number("value", "score", **zoomed)
    line = {key: style[key] for key in ("color", "strokeDash")}
    found: list[Spec] = [
        {"mark": "line", "encoding": {"x": x, "y": y, **line, "tooltip": hover}},
        {
            "mark": {"type": "point", "size": 45},
            "encoding": {
                "x": x, "y": y, "color": style["color"], "shape": style["shape"], "tooltip": hover,
            },
        },
    ]  # fmt: skip
    if has_bands(marks, corrections):
        band = {
            "mark": {"type": "area", "opacity": 0.15},
            "encoding": {
                "x": x, "y": number("start", "score", **zoomed), "y2": {"field": "end"},
                "color": style["color"], "tooltip": hover,
            },
        }  # fmt: skip
        found.insert(0, band)
    if len(panels) == 1:
        return layered(spanned(marks), found)
    spec = {"layer": found, "width": PANEL_WIDTH, "height": PANEL_HEIGHT}
    return in_panels(spanned(marks), spec, "score")
