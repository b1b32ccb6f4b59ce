"""Small pieces of Vega-Lite, and one look for all charts on light and on dark pages.

Charts are plain data: the same data are drawn by a browser and, without one, by vl-convert. Colours
are those of Okabe & Ito (2008), which people with any common kind of colour blindness can tell
apart; ordered scales are viridis and, around zero, blue to orange.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, TypeAlias

Spec: TypeAlias = dict[str, Any]

# A name, not an address that anybody asks for.
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

# A line whose points cannot be seen, but be hovered over: a line alone tells its first one.
HOVERED_LINE: Spec = {"type": "line", "point": {"filled": True, "opacity": 0, "size": 80}}


def chart(values: Sequence[dict[str, Any]], mark: str | Spec, encoding: Spec, **more: Any) -> Spec:
    """Return a chart of one kind of mark."""
    return {
        "$schema": SCHEMA, "data": {"values": values}, "mark": mark, "encoding": encoding, **more,
    }  # fmt: skip


def layered(values: Sequence[dict[str, Any]], layers: list[Spec], **more: Any) -> Spec:
    """Return a chart of several kinds of marks on the same axes."""
    return {"$schema": SCHEMA, "data": {"values": values}, "layer": layers, **more}


def layer(mark: str | Spec, **encoding: Any) -> Spec:
    """Return one kind of marks of a layered chart."""
    return {"mark": mark, "encoding": encoding}


def number(field: str, title: str, **more: Any) -> Spec:
    """Return an axis, size or colour of numbers; every axis has a title, with its unit."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def name(field: str, title: str, **more: Any) -> Spec:
    """Return an axis or colour of names, in the order in which the data have them."""
    return {"field": field, "type": "nominal", "title": title, "sort": None, **more}


def logarithmic(**more: Any) -> Spec:
    """Return a logarithmic scale."""
    return {"type": "log", **more}


def tooltip(names: dict[str, str], numbers: dict[str, str] | None = None) -> list[Spec]:
    """Return what hovering tells: fields with their titles, numbers with four digits."""
    return [
        *({"field": field, "title": title, "type": "nominal"} for field, title in names.items()),
        *(
            {"field": field, "title": title, "type": "quantitative", "format": ".4~g"}
            for field, title in (numbers or {}).items()
        ),
    ]


CATEGORIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")

# Colours of the space as it is, and of a corrected one.
BEFORE, AFTER = "#7F7F7F", "#0072B2"

ORDERED, AROUND_ZERO = "viridis", "blueorange"
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
WIDTH, HEIGHT = 560, 320

INK = {"light": "#1b1f24", "dark": "#e6e8eb"}
FAINT = {"light": "#d8dce1", "dark": "#3a414a"}
PAPER = {"light": "#ffffff", "dark": "#15181c"}


def config(mode: str = "light") -> dict[str, Any]:
    """Return Vega-Lite's configuration for a light or a dark page."""
    ink, faint = INK[mode], FAINT[mode]
    text = {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": PAPER[mode],
        "font": FONT,
        "view": {"continuousWidth": WIDTH, "continuousHeight": HEIGHT, "stroke": faint},
        "axis": {**text, "gridColor": faint, "domainColor": faint, "tickColor": faint,
                 "titlePadding": 8, "labelLimit": 220},
        "legend": {**text, "orient": "bottom", "columns": 4, "labelLimit": 260,
                   "symbolBaseFillColor": ink, "symbolBaseStrokeColor": ink},
        "title": {"color": ink, "fontSize": 14, "anchor": "start", "subtitleColor": ink},
        "header": {"labelColor": ink, "titleColor": ink},
        "range": {"category": list(CATEGORIES), "heatmap": {"scheme": ORDERED},
                  "ramp": {"scheme": ORDERED}, "diverging": {"scheme": AROUND_ZERO}},
        "point": {"filled": True, "size": 30},
        "line": {"strokeWidth": 2},
        "bar": {"color": CATEGORIES[0]},
        "rule": {"color": ink},
        "text": {"color": ink},
    }  # fmt: skip


def themed(spec: dict[str, Any], mode: str = "light") -> dict[str, Any]:
    """Return a chart with its theme."""
    return {**spec, "config": config(mode)}


# Pixels of a line of text.
LINE_HEIGHT = 14

# An axis whose labels have several lines; its title stands above them, where it covers none.
IN_LINES = {
    "labelExpr": "split(datum.label, '\\n')", "labelLimit": 0, "titleAngle": 0,
    "titleAlign": "right", "titleBaseline": "bottom", "titleX": -8, "titleY": -6,
}  # fmt: skip


def in_lines(text: str, letters: int) -> str:
    """Break a label into lines, between words only."""
    lines = textwrap.wrap(text, letters, break_on_hyphens=False)
    return "\n".join(lines) or text


def step_for(labels: Sequence[str], between: int) -> Spec:
    """Return a height that has room for the label with most lines."""
    tallest = max(label.count("\n") + 1 for label in labels)
    return {"step": tallest * LINE_HEIGHT + between}
