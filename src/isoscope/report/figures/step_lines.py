"""Lines over the steps of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.report.figures.dots import PANEL_WIDTH, in_panels, spanned, told_apart
from isoscope.report.vega import layered, logarithmic, number, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.figures.dots import Point
    from isoscope.report.vega import Spec

WIDE = 200
"""Times the first step after 0 that the last one must be for steps to stand by their powers."""

PANEL_HEIGHT = 200


def step_lines(
    points: Sequence[Point],
    series: Sequence[str],
    label: str,
    apart: str,
    *,
    by_power: bool = False,
) -> Spec:
    """Return lines with marks, and bands where points have ends.

    Parameters
    ----------
    points : sequence of dict
        ``step``, ``value``, ``low``, ``high``, ``series`` and ``panel`` of every mark.
    series : sequence of str
        What the lines are, in order.
    label : str
        Title of the numbers.
    apart : str
        What lines differ in: title of the legend.
    by_power : bool
        Whether numbers stand by their logarithm.
    """
    scale: Spec = {"zero": False}
    if by_power and all(lowest(point) > 0 for point in points):
        scale = logarithmic(nice=False)
    x = number("step", "step of the training", **step_axis(points))
    style = told_apart(series, points, apart, ("color", "shape", "strokeDash"))
    hover = told(
        {"series": apart}, {"step": "step", "value": label, "low": "band from", "high": "to"}
    )
    y = number("value", label, scale=scale)
    layers: list[Spec] = [
        {
            "mark": "line",
            "encoding": {
                "x": x, "y": y, "color": style["color"], "strokeDash": style["strokeDash"],
                "tooltip": hover,
            },
        },
        {
            "mark": {"type": "point", "size": 45},
            "encoding": {
                "x": x, "y": y, "color": style["color"], "shape": style["shape"], "tooltip": hover,
            },
        },
    ]  # fmt: skip
    if any(point["low"] is not None for point in points):
        band = {
            "mark": {"type": "area", "opacity": 0.18},
            "encoding": {
                "x": x, "y": number("start", label, scale=scale), "y2": {"field": "end"},
                "color": style["color"], "tooltip": hover,
            },
        }  # fmt: skip
        layers.insert(0, band)
    if len({point["panel"] for point in points}) == 1:
        return layered(spanned(points), layers)
    spec = {"layer": layers, "width": PANEL_WIDTH, "height": PANEL_HEIGHT}
    found = in_panels(spanned(points), spec, "models")
    found.pop("resolve")  # The same axes, so that panels can be compared.
    return found


def lowest(point: Point) -> float:
    """Return the lowest end of a mark."""
    return float(point["value"] if point["low"] is None else min(point["low"], point["value"]))


def step_axis(points: Sequence[Point]) -> Spec:
    """Return an axis of steps; by powers of ten where checkpoints are, which 0 stands beside."""
    steps = sorted({float(point["step"]) for point in points})
    after = [step for step in steps if step > 0]
    if not after or after[-1] < WIDE * after[0]:
        return {"axis": {"format": ",~f"}}
    powers = [10.0**k for k in range(12) if after[0] <= 10**k <= after[-1]]
    return {
        "scale": {"type": "symlog", "constant": after[0]},
        "axis": {"values": [0.0, *powers] if steps[0] == 0 else powers, "format": "~s"},
    }
