"""Lines with bands for their intervals, alone or in panels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figures.space_colours import listed, own_colour
from isoscope.report.vega import SCHEMA, name, number

if TYPE_CHECKING:
    from isoscope.report.vega import Spec

PANEL_WIDTH, PANEL_HEIGHT = 240, 180
BAND_OPACITY = 0.2


def interval_lines(
    points: list[dict[str, Any]],
    series: tuple[str, str],
    colours: dict[str, str],
    title: str,
    **axis: Any,
) -> list[Spec]:
    """Return the layers of a chart with a line, and a band where there is one, for every series.

    A band ends where a point has no interval, instead of hiding that it has none; the rule shows
    the interval of a point between two without. Marks without an end are not drawn.

    Parameters
    ----------
    points : list of dict
        Marks with ``value``, ``colour``, and ``low`` and ``high`` where there is an interval.
    series : tuple of str
        Field that tells lines apart, and its title.
    colours : dict
        Of the series, in the order of the points.
    title : str
        Of the vertical axis.
    axis : dict
        Further settings of the vertical axis.
    """
    y = number("value", title, **axis)
    layers: list[Spec] = []
    if any("low" in point for point in points):
        ends = {"y": number("low", title, **axis), "y2": {"field": "high"}}
        layers += [
            {
                "mark": {"type": "area", "opacity": BAND_OPACITY},
                "encoding": {**ends, "fill": own_colour(), "detail": {"field": series[0]}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 1},
                "encoding": {**ends, "stroke": own_colour()},
            },
        ]
    line = {"y": y, "color": name(*series, **listed(colours)), "strokeDash": name(*series)}
    return [
        *layers,
        {"mark": {"type": "line"}, "encoding": line},
        {"mark": {"type": "point", "opacity": 1}, "encoding": {"y": y, "fill": own_colour()}},
    ]


def panels(
    points: list[dict[str, Any]], field: str, title: str, layers: list[Spec], encoding: Spec
) -> Spec:
    """Return small charts of the same axes, one for each value of a field, sorted by ``place``."""
    inner = {
        "width": PANEL_WIDTH, "height": PANEL_HEIGHT, "encoding": encoding, "layer": layers,
    }  # fmt: skip
    return {
        "$schema": SCHEMA,
        "data": {"values": points},
        "facet": name(field, title, sort={"field": "place", "op": "min"}),
        "columns": 2,
        "spec": inner,
    }
