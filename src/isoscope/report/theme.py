"""One look for all charts, on light and on dark pages.

Colours are those of Okabe & Ito (2008), which people with any common kind of colour blindness tell
apart; ordered scales are viridis and, around zero, blue to orange.
"""

from __future__ import annotations

from typing import Any

CATEGORIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
BEFORE, AFTER = "#7F7F7F", "#0072B2"
"""Colours of the space as it is, and of a corrected one."""

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
