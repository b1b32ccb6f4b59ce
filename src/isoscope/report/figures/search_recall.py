"""What a search notices: neighbours that corrections keep, what indexes and codes still find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dots import (
    PANEL_WIDTH,
    dots,
    finite,
    first_series,
    in_panels,
    left_words,
    point,
    spanned,
    told_apart,
    with_interval,
)
from isoscope.report.theme import BEFORE
from isoscope.report.vega import layered, logarithmic, name, number, told
from isoscope.results.neighboured import (
    BINARY,
    BINARY_RESCORED,
    HNSW,
    INT8,
    INT8_RESCORED,
    IVF,
    KEPT,
    ORIGINAL,
    is_neighbour_row,
    measure_name,
)
from isoscope.results.reduced import BYTES, RESCORED, is_reduction_row
from isoscope.results.reduced import KEPT as KEPT_OF_SHORTER
from isoscope.results.render import UNCORRECTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.figures.dots import Point
    from isoscope.report.vega import Spec
    from isoscope.results.result import Result, Row

KEPT_PANEL, OWN_PANEL = "of the neighbours as they are", "of the exact ones in the same space"
EXACT = "exact search"
FIGURES = {
    measure_name(KEPT): (KEPT_PANEL, EXACT),
    measure_name(f"{INT8}/{ORIGINAL}"): (KEPT_PANEL, "int8 codes"),
    measure_name(f"{INT8_RESCORED}/{ORIGINAL}"): (KEPT_PANEL, "int8, rescored"),
    measure_name(f"{BINARY}/{ORIGINAL}"): (KEPT_PANEL, "binary codes"),
    measure_name(f"{BINARY_RESCORED}/{ORIGINAL}"): (KEPT_PANEL, "binary, rescored"),
    measure_name(HNSW): (OWN_PANEL, "HNSW"),
    measure_name(IVF): (OWN_PANEL, "IVF"),
    measure_name(INT8): (OWN_PANEL, "int8 codes"),
    measure_name(INT8_RESCORED): (OWN_PANEL, "int8, rescored"),
    measure_name(BINARY): (OWN_PANEL, "binary codes"),
    measure_name(BINARY_RESCORED): (OWN_PANEL, "binary, rescored"),
}
"""Shares of neighbours that are found, by what they are shares of; hubness is no share."""

WAYS = {KEPT_OF_SHORTER: "by the short vectors alone", RESCORED: "rescored by the full vectors"}
WHOLE = {"domain": [0, 1]}
PANEL_HEIGHT = 220


def search_figures(result: Result) -> list[Figure]:
    """Draw what is found with corrections, and with shorter vectors."""
    found = []
    for subject in dict.fromkeys(row.subject for row in result.rows):
        own = [row for row in result.rows if row.subject == subject]
        found += neighbour_figure(subject, [row for row in own if is_neighbour_row(row)])
        found += shorter_figure(subject, [row for row in own if is_reduction_row(row)])
    return found


def neighbour_figure(subject: str, rows: Sequence[Row]) -> list[Figure]:
    """Draw shares of neighbours for every correction."""
    points = [
        point(label, row.correction, row.value, row.low, row.high, panel)
        for measure, (panel, label) in FIGURES.items()
        for row in rows
        if row.measure == measure and finite(row.value) is not None
    ]
    corrections = first_series(mark["series"] for mark in points)
    drawn = [mark for mark in points if mark["series"] in corrections]
    if not drawn:
        return []
    titles = {
        "label": "search", "series": "correction", "panel": "found", "value": "share found",
    }  # fmt: skip
    undefined = sum(row.measure in FIGURES and finite(row.value) is None for row in rows)
    left = left_words(len(points) - len(drawn), "number")
    left += f" {undefined} undefined." if undefined else ""
    hubs = [
        f"{row.correction} {shown(row.value)}"
        for row in rows
        if row.measure == measure_name("hubness") and finite(row.value) is not None
    ]
    left += f" Hubness, which is no share: {', '.join(hubs)}." if hubs else ""
    return [
        Figure(
            file_name("neighbours", subject),
            f"What a search would notice: {subject}",
            f"Shares of the nearest neighbours of {subject} that are found, for every correction. "
            f"{neighbour_words(points)}{left}",
            dots(drawn, corrections, titles, scale=WHOLE),
            ["found", "search", "correction", "share", "low", "high"],
            [
                [
                    mark["panel"], mark["label"], mark["series"], shown(mark["value"]),
                    *("" if mark[end] is None else shown(mark[end]) for end in ("low", "high")),
                ]
                for mark in points
            ],
        )
    ]  # fmt: skip


def neighbour_words(points: Sequence[Point]) -> str:
    """Say what corrections keep, and for every search without and with them."""
    said = []
    for panel, label in dict.fromkeys((mark["panel"], mark["label"]) for mark in points):
        own = [mark for mark in points if (mark["panel"], mark["label"]) == (panel, label)]
        plain = [shown(mark["value"]) for mark in own if mark["series"] == UNCORRECTED]
        others = [mark["value"] for mark in own if mark["series"] != UNCORRECTED]
        ends = dict.fromkeys((shown(min(others)), shown(max(others)))) if others else {}
        corrected = [f"corrected {' to '.join(ends)}"] if others else []
        said.append(f"{label} {', '.join([*plain, *corrected])}")
        if panel == KEPT_PANEL and label == EXACT:
            said[-1] = "neighbours kept: " + ", ".join(
                f"{mark['series']} {shown(mark['value'])}" for mark in own
            )
        elif panel == KEPT_PANEL:
            said[-1] += " (of those as they are)"
    return "; ".join(said) + "."


def shorter_figure(subject: str, rows: Sequence[Row]) -> list[Figure]:
    """Draw neighbours kept against the bytes of a vector."""
    sizes = {(row.correction, row.part): finite(row.value) for row in rows if row.measure == BYTES}
    points: list[dict[str, Any]] = []
    for row in rows:
        size = sizes.get((row.correction, row.part))
        if row.measure in WAYS and size and finite(row.value) is not None:
            way = str(row.extra.get("way", row.correction))
            mark = point(row.part, way, row.value, row.low, row.high, WAYS[row.measure])
            components = str(row.extra.get("components", ""))
            points.append({**mark, "bytes": size, "components": components})
    ways = first_series(mark["series"] for mark in points)
    drawn = [mark for mark in points if mark["series"] in ways]
    if not drawn:
        return []
    return [
        Figure(
            file_name("shorter-vectors", subject),
            f"What shorter vectors keep: {subject}",
            f"Share of the nearest neighbours of {subject} kept, against the bytes of a vector, by "
            f"way of shortening and by code. {shorter_words(points)}"
            f"{left_words(len(points) - len(drawn), 'number')}",
            shorter_chart(drawn, ways),
            ["search", "way", "components", "code", "bytes", "share kept", "low", "high"],
            [
                [
                    mark["panel"], mark["series"], mark["components"], mark["label"],
                    shown(mark["bytes"]), shown(mark["value"]),
                    *("" if mark[end] is None else shown(mark[end]) for end in ("low", "high")),
                ]
                for mark in points
            ],
        )
    ]  # fmt: skip


def shorter_words(points: Sequence[Point]) -> str:
    """Say what the fewest and the most bytes keep at best."""
    said = []
    for panel in dict.fromkeys(mark["panel"] for mark in points):
        own = [mark for mark in points if mark["panel"] == panel]
        for size in dict.fromkeys((min(m["bytes"] for m in own), max(m["bytes"] for m in own))):
            best = max((m for m in own if m["bytes"] == size), key=lambda m: float(m["value"]))
            said.append(
                f"{panel}, {shown(size)} bytes: {with_interval(best)} ({best['series']}, "
                f"{best['components']} components as {best['label']})"
            )
    return "; ".join(said) + "."


def shorter_chart(points: Sequence[Point], ways: Sequence[str]) -> Spec:
    """Return marks with intervals; colours are ways, shapes codes."""
    x = number("bytes", "bytes of a vector", scale=logarithmic(base=2))
    colour = told_apart(ways, points, "way", ("color",))
    hover = told(
        {"series": "way", "components": "components", "label": "code"},
        {"bytes": "bytes", "value": "share kept", "low": "interval from", "high": "to"},
    )
    layers: list[Spec] = [
        {
            "mark": "rule",
            "encoding": {
                "x": x, "y": number("start", "share kept", scale=WHOLE), "y2": {"field": "end"},
                **colour, "tooltip": hover,
            },
        },
        {
            "mark": {"type": "point", "size": 60, "opacity": 0.8},
            "encoding": {
                "x": x, "y": number("value", "share kept", scale=WHOLE), **colour,
                "shape": name("label", "code", legend={"symbolFillColor": BEFORE}),
                "tooltip": hover,
            },
        },
    ]  # fmt: skip
    if len({mark["panel"] for mark in points}) == 1:
        return layered(spanned(points), layers)
    spec = {"layer": layers, "width": PANEL_WIDTH, "height": PANEL_HEIGHT}
    found = in_panels(spanned(points), spec, "search")
    found.pop("resolve")  # The same axes, so that panels can be compared.
    return found
