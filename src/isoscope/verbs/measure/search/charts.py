"""What a search notices: neighbours that corrections keep, what indexes and codes still find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.charts.chart import INTERVAL, Figure
from isoscope.results.charts.forms import dots, spans
from isoscope.results.charts.marks import Marks, finite, mark_of, series_style, with_interval
from isoscope.results.charts.vega import BEFORE, Spec, layer, logarithmic, name, number, tooltip
from isoscope.results.fields import UNCORRECTED
from isoscope.results.numbers import shown
from isoscope.results.tables import grouped
from isoscope.verbs.measure.search import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row


KEPT_PANEL, OWN_PANEL = "of the neighbours as they are", "of the exact ones in the same space"
EXACT = "exact search"

CODES = {
    names.INT8: "int8 codes",
    names.INT8_RESCORED: "int8, rescored",
    names.BINARY: "binary codes",
    names.BINARY_RESCORED: "binary, rescored",
}

# Shares of neighbours that are found, by what they are shares of; hubness is no share.
FIGURES = {
    names.measure_name(figure): place
    for figure, place in {
        names.KEPT: (KEPT_PANEL, EXACT),
        **{f"{code}/{names.ORIGINAL}": (KEPT_PANEL, words) for code, words in CODES.items()},
        names.HNSW: (OWN_PANEL, "HNSW"),
        names.IVF: (OWN_PANEL, "IVF"),
        **{code: (OWN_PANEL, words) for code, words in CODES.items()},
    }.items()
}

WAYS = {
    names.REDUCED_KEPT: "by the short vectors alone",
    names.REDUCED_RESCORED: "rescored by the full vectors",
}
WHOLE = {"domain": [0, 1]}
PANEL_HEIGHT = 220


def search_figures(result: Result) -> list[Figure]:
    """Draw what is found with corrections, and with shorter vectors."""
    found = []
    for subject, own in grouped(result.rows, lambda row: row.subject).items():
        found += neighbour_figure(subject, names.rows_about(names.NEIGHBOURS, own))
        found += shorter_figure(subject, names.rows_about(names.REDUCE, own))
    return found


def neighbour_figure(subject: str, rows: Sequence[Row]) -> list[Figure]:
    """Draw shares of neighbours for every correction."""
    every = Marks(
        mark_of(row, label, row.correction, panel)
        for measure, (panel, label) in FIGURES.items()
        for row in rows
        if row.measure == measure
    )
    points = every.known
    corrections = points.series
    drawn = points.only(series=corrections)
    if not drawn:
        return []
    titles = {"panel": "found", "label": "search", "series": "correction"}
    left = every.omitted(drawn)
    hubs = [
        f"{row.correction} {shown(row.value)}"
        for row in rows
        if row.measure == names.measure_name(names.HUBNESS) and finite(row.value) is not None
    ]
    left += f" Hubness, which is no share: {', '.join(hubs)}." if hubs else ""
    return [
        Figure.of(
            ("neighbours", subject),
            f"What a search would notice: {subject}",
            f"Shares of the nearest neighbours of {subject} that are found, for every correction. "
            f"{neighbour_words(points)}{left}",
            dots(drawn, corrections, {**titles, "value": "share found"}, scale=WHOLE),
            points,
            {**titles, "value": "share", **INTERVAL},
        )
    ]


def neighbour_words(points: Marks) -> str:
    """Say what corrections keep, and for every search without and with them."""
    said = []
    places = points.by("panel", "label")
    for (panel, label), own in places.items():
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
    sizes = {
        (row.correction, row.part): finite(row.value)
        for row in rows
        if row.measure == names.REDUCED_BYTES
    }
    points = Marks()
    for row in rows:
        size = sizes.get((row.correction, row.part))
        if row.measure in WAYS and size and finite(row.value) is not None:
            way = str(row.extra.get("way", row.correction))
            mark = mark_of(row, row.part, way, WAYS[row.measure])
            components = str(row.extra.get("components", ""))
            points.append({**mark, "bytes": size, "components": components})
    ways = points.series
    drawn = points.only(series=ways)
    if not drawn:
        return []
    return [
        Figure.of(
            ("shorter-vectors", subject),
            f"What shorter vectors keep: {subject}",
            f"Share of the nearest neighbours of {subject} kept, against the bytes of a vector, by "
            f"way of shortening and by code. {shorter_words(points)}"
            f"{points.omitted(drawn)}",
            shorter_chart(drawn, ways),
            points,
            {"panel": "search", "series": "way", "components": "components", "label": "code",
             "bytes": "bytes", "value": "share kept", **INTERVAL},
        )
    ]  # fmt: skip


def shorter_words(points: Marks) -> str:
    """Say what the fewest and the most bytes keep at best."""
    said = []
    for panel, own in points.by("panel").items():
        for size in dict.fromkeys((min(m["bytes"] for m in own), max(m["bytes"] for m in own))):
            best = own.only(bytes=[size]).highest
            said.append(
                f"{panel}, {shown(size)} bytes: {with_interval(best)} ({best['series']}, "
                f"{best['components']} components as {best['label']})"
            )
    return "; ".join(said) + "."


def shorter_chart(points: Marks, ways: Sequence[str]) -> Spec:
    """Return marks with intervals; colours are ways, shapes codes."""
    x = number("bytes", "bytes of a vector", scale=logarithmic(base=2))
    colour = series_style(ways, points, "way", ("color",))
    hover = tooltip(
        {"series": "way", "components": "components", "label": "code"},
        {"bytes": "bytes", "value": "share kept", "low": "interval from", "high": "to"},
    )
    y = number("value", "share kept", scale=WHOLE)
    ends = {"y": {**y, "field": "start"}, "y2": {"field": "end"}}
    codes = name("label", "code", legend={"symbolFillColor": BEFORE})
    dot = {"type": "point", "size": 60, "opacity": 0.8}
    layers = [
        layer("rule", x=x, **ends, **colour, tooltip=hover),
        layer(dot, x=x, y=y, **colour, shape=codes, tooltip=hover),
    ]
    # The same axes, so that panels can be compared.
    return spans(points, layers, "search", PANEL_HEIGHT, own_axes=())
