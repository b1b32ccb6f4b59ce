"""Numbers as dots with their intervals: things down, numbers across, series by colour and shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.report.figure import shown
from isoscope.report.theme import CATEGORIES
from isoscope.report.vega import SCHEMA, layered, name, number, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.report.vega import Spec

Point: TypeAlias = "dict[str, Any]"
"""A mark: ``label`` (what stands down), ``series``, ``panel``, ``value``, ``low``, ``high``."""

MOST_SERIES = len(CATEGORIES)
"""Series that colours tell apart."""

MOST_LINES = 60
"""Dots below each other in one panel: labels and offsets stay readable."""

PANEL_WIDTH, PANELS_ACROSS = 240, 2
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4], [4, 1], [1, 4])
OFFSET_STEP, LINE_STEP = 12, 24
SHORT_LABEL, LONG_LABEL = 140, 190
"""Pixels of a label beside one of two panels, and beside a chart: titles stand 200 away at most."""


def finite(value: Any) -> float | None:
    """Return a number that can be drawn, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def point(label: str, series: str, value: Any, low: Any, high: Any, panel: str = "") -> Point:
    """Return a mark; an interval needs both of its ends."""
    ends = {"low": finite(low), "high": finite(high)}
    both = ends if None not in ends.values() else {"low": None, "high": None}
    return {"label": label, "series": series, "panel": panel, "value": finite(value), **both}


def spanned(points: Sequence[Point]) -> list[Point]:
    """Return marks with a line or a band for each, of no length where there is no interval.

    Layers that draw all marks agree on the order of series, and so on colours.
    """
    return [
        {
            **mark,
            "start": mark["value"] if mark["low"] is None else mark["low"],
            "end": mark["value"] if mark["high"] is None else mark["high"],
        }
        for mark in points
    ]


def with_interval(mark: Point) -> str:
    """Return a number as text, with its interval behind it."""
    if mark["low"] is None:
        return shown(mark["value"])
    return f"{shown(mark['value'])} ({shown(mark['low'])} to {shown(mark['high'])})"


def first_series(names: Iterable[str]) -> list[str]:
    """Return the series that can be told apart, in order."""
    return list(dict.fromkeys(names))[:MOST_SERIES]


def left_words(left: int, what: str, whose: str = "") -> str:
    """Say what a chart leaves out: nothing where it is whole."""
    more = f" {whose}" if whose else ""
    return f" {left:,} more {what}{'s' if left > 1 else ''}{more} in the table only." * bool(left)


def told_apart(
    every: Sequence[str], points: Sequence[Point], title: str, kinds: Sequence[str]
) -> Spec:
    """Return colour, shape or dash of series, each the same in every chart of a result.

    Scales name their series: legends of two scales become one only where these are the same.
    """
    there = {mark["series"] for mark in points}
    names = [one for one in every if one in there]
    ranges: dict[str, Sequence[Any]] = {
        "color": CATEGORIES, "shape": SHAPES, "strokeDash": DASHES,
    }  # fmt: skip
    places = [list(every).index(one) for one in names]
    # Marks without the dashed outline of their lines, which would blur their shapes.
    legend = {"symbolOpacity": 1, "encode": {"symbols": {"update": {"strokeWidth": {"value": 0}}}}}
    return {
        kind: name(
            "series", title,
            scale={"domain": names, "range": [ranges[kind][place] for place in places]},
            legend=legend if len(names) > 1 and kind != "strokeDash" else None,
        )
        for kind in kinds
    }  # fmt: skip


def dots(
    points: Sequence[Point],
    every: Sequence[str],
    titles: dict[str, str],
    at: float | None = None,
    scale: Spec | None = None,
) -> Spec:
    """Return dots with intervals; in panels where points are of several.

    Parameters
    ----------
    points : sequence of dict
        Made by ``point``, with values that are known.
    every : sequence of str
        Series of all charts of a result, at most ``MOST_SERIES``: they decide on colours.
    titles : dict
        Titles of ``label``, ``series``, ``value`` and, where there are panels, ``panel``.
    at : float, optional
        Where a line across stands, such as 0 for a difference.
    scale : dict, optional
        Scale of the numbers.
    """
    panels = len({mark["panel"] for mark in points}) > 1
    several = len({mark["series"] for mark in points}) > 1
    axis = {"labelLimit": SHORT_LABEL if panels else LONG_LABEL}
    down: Spec = {"y": name("label", titles["label"], axis=axis)}
    if several:
        down["yOffset"] = {"field": "series", "type": "nominal", "sort": None}
    hover = told(
        {"label": titles["label"], "series": titles["series"]},
        {"value": titles["value"], "low": "interval from", "high": "to"},
    )
    style = told_apart(every, points, titles["series"], ("color", "shape"))
    of = {"scale": scale or {"zero": False}}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {
                **down, "x": number("start", titles["value"], **of), "x2": {"field": "end"},
                "color": style["color"], "tooltip": hover,
            },
        },
        {
            "mark": {"type": "point", "size": 55, "opacity": 0.9},
            "encoding": {
                **down, "x": number("value", titles["value"], **of), **style, "tooltip": hover,
            },
        },
    ]  # fmt: skip
    if at is not None:
        across = {"datum": at, "type": "quantitative", "title": titles["value"], **of}
        mark = {"type": "rule", "strokeDash": [4, 3], "opacity": 0.7}
        hint = {"value": f"{titles['value']}: {at:g}"}
        layers.insert(0, {"mark": mark, "encoding": {"x": across, "tooltip": hint}})
    size = {"height": {"step": OFFSET_STEP if several else LINE_STEP}}
    if not panels:
        return layered(spanned(points), layers, **size)
    return in_panels(
        spanned(points), {"layer": layers, "width": PANEL_WIDTH, **size}, titles["panel"]
    )


def in_panels(points: Sequence[Point], spec: Spec, title: str) -> Spec:
    """Return a chart for every panel, with axes of its own, in the order of the data."""
    order = {panel: k for k, panel in enumerate(dict.fromkeys(mark["panel"] for mark in points))}
    return {
        "$schema": SCHEMA,
        "data": {"values": [{**mark, "order": order[mark["panel"]]} for mark in points]},
        "facet": name("panel", title, sort={"field": "order", "op": "min"}),
        "columns": PANELS_ACROSS,
        "spec": spec,
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
    }
