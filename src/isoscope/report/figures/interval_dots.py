"""Dots with their intervals: some things down, a dot for each space beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figures.layer_order import FITTED
from isoscope.report.figures.space_colours import listed, own_colour
from isoscope.report.vega import layered, name, number, told

if TYPE_CHECKING:
    from isoscope.report.vega import Spec

ROOM = 60
"""Pixels for the dots of one thing."""


def interval_dots(
    points: list[dict[str, Any]],
    thing: str,
    value: str,
    kind: str,
    colours: dict[str, str],
    **axis: Any,
) -> Spec:
    """Return a chart of dots.

    Parameters
    ----------
    points : list of dict
        Marks with ``thing``, ``kind``, ``value``, ``colour``, and ``low`` and ``high`` where there
        is an interval.
    thing, value, kind : str
        Titles of the vertical axis, of the horizontal one, and of the legend.
    colours : dict
        Of the kinds, in the order of the points.
    axis : dict
        Further settings of the horizontal axis.
    """
    x = number("value", value, **axis)
    layers: list[Spec] = []
    if any("low" in point for point in points):
        ends = {"x": number("low", value, **axis), "x2": {"field": "high"}}
        layers.append(
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {**ends, "stroke": own_colour()},
            }
        )
    by_kind = {"color": name("kind", kind, **listed(colours)), "shape": name("kind", kind)}
    layers.append(
        {"mark": {"type": "point", "size": 80, "opacity": 1}, "encoding": {"x": x, **by_kind}}
    )
    return layered(
        points,
        layers,
        encoding={
            "y": name("thing", thing, scale={"type": "band", "paddingInner": 0.4}),
            "yOffset": name("kind", kind),
            "tooltip": told(
                {"thing": thing, "kind": kind}, {"value": value, "low": "low", "high": "high"}
            ),
        },
        height=ROOM * len({point["thing"] for point in points}),
        **FITTED,
    )
