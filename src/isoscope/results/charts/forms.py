"""Forms of charts: dots, lines and maps, alone or in panels.

A form gets marks and titles and returns a chart in Vega-Lite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoscope.results.charts import vega
from isoscope.results.charts.layer_axis import FITTED
from isoscope.results.charts.marks import Marks, colour_scale, own_colour, series_style
from isoscope.results.charts.vega import Spec, layer, layered, name, number, tooltip

PANEL_WIDTH, PANELS_ACROSS = 240, 2
OFFSET_STEP, LINE_STEP = 12, 24

# Pixels of a label beside one of two panels, and beside a chart: titles stand 200 away at most.
SHORT_LABEL, LONG_LABEL = 140, 190

# A line across a chart at a number that marks are compared with.
DASHED: Spec = {"type": "rule", "strokeDash": [4, 3], "opacity": 0.7}


def facet(marks: Marks, by: Spec, spec: Spec, own_axes: Sequence[str] = ()) -> Spec:
    """Return small charts side by side; axes that are not their own are the same in all."""
    found = {
        "$schema": vega.SCHEMA, "data": {"values": marks}, "facet": by, "columns": PANELS_ACROSS,
        "spec": spec,
    }  # fmt: skip
    own = {"resolve": {"scale": dict.fromkeys(own_axes, "independent")}}
    return {**found, **own} if own_axes else found


def in_panels(marks: Marks, spec: Spec, title: str, own_axes: Sequence[str] = ("x", "y")) -> Spec:
    """Return a chart for every ``panel`` of marks, in the order of the data."""
    order = marks.names("panel")
    placed = Marks({**mark, "order": order.index(mark["panel"])} for mark in marks)
    by = name("panel", title, sort={"field": "order", "op": "min"})
    return facet(placed, by, {**spec, "width": PANEL_WIDTH}, own_axes)


def spans(
    marks: Marks,
    layers: list[Spec],
    title: str,
    height: int | Spec,
    own_axes: Sequence[str] = ("x", "y"),
) -> Spec:
    """Return layers that draw ``start`` and ``end`` of marks; in panels where there are several.

    Parameters
    ----------
    marks : sequence of dict
        Made by ``point``, with values that are known.
    layers : list of dict
        What is drawn.
    title : str
        What panels differ in.
    height : int or dict
        Height of a panel. A step, which is a dictionary, also holds for a chart without panels.
    own_axes : sequence of str
        Axes that panels do not share.
    """
    if len(marks.names("panel")) == 1:
        # A fixed height is that of small panels; a single chart has the height of the theme.
        stepped = {"height": height} if isinstance(height, dict) else {}
        return layered(marks.spanned(), layers, **stepped)
    return in_panels(marks.spanned(), {"layer": layers, "height": height}, title, own_axes)


def rule_at(place: float, title: str, words: str, mark: str | Spec, **more: Any) -> Spec:
    """Return a line across a chart at a number, which hovering explains."""
    across = {"datum": place, "type": "quantitative", "title": title, **more}
    return layer(mark, x=across, tooltip={"value": words})


def dots(
    points: Marks,
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
    panels = len(points.names("panel")) > 1
    several = len(points.names("series")) > 1
    axis = {"labelLimit": SHORT_LABEL if panels else LONG_LABEL}
    down: Spec = {"y": name("label", titles["label"], axis=axis)}
    if several:
        down["yOffset"] = {"field": "series", "type": "nominal", "sort": None}
    hover = tooltip(
        {"label": titles["label"], "series": titles["series"]},
        {"value": titles["value"], "low": "interval from", "high": "to"},
    )
    style = series_style(every, points, titles["series"], ("color", "shape"))
    value = number("value", titles["value"], scale=scale or {"zero": False})
    ends = {"x": {**value, "field": "start"}, "x2": {"field": "end"}}
    rule, dot = {"type": "rule", "strokeWidth": 1.5}, {"type": "point", "size": 55, "opacity": 0.9}
    layers = [
        layer(rule, **down, **ends, color=style["color"], tooltip=hover),
        layer(dot, **down, x=value, **style, tooltip=hover),
    ]
    if at is not None:
        words = f"{titles['value']}: {at:g}"
        layers.insert(0, rule_at(at, titles["value"], words, DASHED, scale=value["scale"]))
    height = {"step": OFFSET_STEP if several else LINE_STEP}
    return spans(points, layers, titles.get("panel", ""), height)


def marked_lines(
    points: Marks,
    every: Sequence[str],
    x: Spec,
    y: Spec,
    titles: dict[str, str],
    hover: list[Spec],
    *,
    bands: float,
    height: int,
    own_axes: Sequence[str] = (),
) -> Spec:
    """Return lines with a mark for every point, and bands for intervals.

    Parameters
    ----------
    points : sequence of dict
        Marks with ``value``, ``low``, ``high``, ``series`` and ``panel``, and what ``x`` reads.
    every : sequence of str
        What the lines are, in order.
    x, y : dict
        The axes.
    titles : dict
        Titles of ``series`` and ``panel``.
    hover : list of dict
        What hovering tells.
    bands : float
        Opacity of the bands; there are none where it is 0.
    height : int
        Height of a panel.
    own_axes : sequence of str
        Axes that panels do not share.
    """
    style = series_style(every, points, titles["series"], ("color", "shape", "strokeDash"))
    place = {"x": x, "y": y, "color": style["color"], "tooltip": hover}
    layers = [
        layer("line", **place, strokeDash=style["strokeDash"]),
        layer({"type": "point", "size": 45}, **place, shape=style["shape"]),
    ]
    if bands:
        ends = {"y": {**y, "field": "start"}, "y2": {"field": "end"}}
        layers.insert(0, layer({"type": "area", "opacity": bands}, **{**place, **ends}))
    return spans(points, layers, titles["panel"], height, own_axes)


# Pixels for the dots of one thing.
ROOM = 60


def interval_dots(
    points: Marks,
    thing: str,
    value: str,
    kind: str,
    colours: dict[str, str],
    **axis: Any,
) -> Spec:
    """Return dots with their intervals: some things down, a dot for each kind beside each other.

    Parameters
    ----------
    points : list of dict
        Marks with ``thing``, ``kind``, ``value``, and ``low`` and ``high`` where there is an
        interval.
    thing, value, kind : str
        Titles of the vertical axis, of the horizontal one, and of the legend.
    colours : dict
        Of the kinds, in the order of the points.
    axis : dict
        Further settings of the horizontal axis.
    """
    x = number("value", value, **axis)
    by_kind = {"color": name("kind", kind, **colour_scale(colours)), "shape": name("kind", kind)}
    layers = [layer({"type": "point", "size": 80, "opacity": 1}, x=x, **by_kind)]
    if points.has_intervals:
        ends = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
        rule = {"type": "rule", "strokeWidth": 2}
        layers.insert(0, layer(rule, **ends, stroke=own_colour()))
    return layered(
        points.coloured("kind", colours),
        layers,
        encoding={
            "y": name("thing", thing, scale={"type": "band", "paddingInner": 0.4}),
            "yOffset": name("kind", kind),
            "tooltip": tooltip(
                {"thing": thing, "kind": kind}, {"value": value, "low": "low", "high": "high"}
            ),
        },
        height=ROOM * len(points.names("thing")),
        **FITTED,
    )


INTERVAL_PANEL_HEIGHT = 180
BAND_OPACITY = 0.2


def interval_lines(
    points: Marks,
    series: tuple[str, str],
    colours: dict[str, str],
    title: str,
    x: Spec,
    hover: list[Spec],
    *,
    panel: str = "",
    fitted: bool = True,
    **axis: Any,
) -> Spec:
    """Return a chart with a line, and a band where there is one, for every series.

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
    x : dict
        The horizontal axis.
    hover : list of dict
        What hovering tells.
    panel : str
        Field whose values have a small chart each, sorted by ``place``.
    fitted : bool
        Whether one chart is as wide as the page.
    axis : dict
        Further settings of the vertical axis.
    """
    y = number("value", title, **axis)
    layers: list[Spec] = []
    if points.has_intervals:
        ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        band = {"type": "area", "opacity": BAND_OPACITY}
        layers += [
            layer(band, **ends, fill=own_colour(), detail={"field": series[0]}),
            layer({"type": "rule", "strokeWidth": 1}, **ends, stroke=own_colour()),
        ]
    color = name(*series, **colour_scale(colours))
    layers += [
        layer({"type": "line"}, y=y, color=color, strokeDash=name(*series)),
        layer({"type": "point", "opacity": 1}, y=y, fill=own_colour()),
    ]
    encoding = {"x": x, "tooltip": hover}
    if not panel:
        return layered(points, layers, encoding=encoding, **(FITTED if fitted else {}))
    size = {"width": PANEL_WIDTH, "height": INTERVAL_PANEL_HEIGHT}
    by = name(panel, panel, sort={"field": "place", "op": "min"})
    return facet(points, by, {**size, "encoding": encoding, "layer": layers})


CELL_HEIGHT = 22


def heat_map(marks: Marks, x: Spec, y: Spec, colour: Spec, digits: str, hover: list[Spec]) -> Spec:
    """Return a map: a rectangle for every mark, coloured by a number whose format is given."""
    legend = {"format": digits, "gradientLength": 240, "titleLimit": 300}
    return vega.chart(
        marks,
        {"type": "rect"},
        {"x": x, "y": y, "color": {**colour, "legend": legend}, "tooltip": hover},
        height=CELL_HEIGHT * len(marks.names(y["field"])),
        **FITTED,
    )


# Times the first step after 0 that the last one must be for steps to stand by their powers.
WIDE = 200

STEP_PANEL_HEIGHT = 200


def step_lines(
    points: Marks,
    series: Sequence[str],
    label: str,
    apart: str,
    *,
    by_power: bool = False,
) -> Spec:
    """Return lines over the steps of a training, with bands where points have ends.

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
        Whether numbers stand by their logarithm, where all of them are above 0.
    """
    scale: Spec = {"zero": False}
    if by_power and all(mark["start"] > 0 and mark["value"] > 0 for mark in points.spanned()):
        scale = vega.logarithmic(nice=False)
    return marked_lines(
        points,
        series,
        number("step", "step of the training", **step_axis(points)),
        number("value", label, scale=scale),
        {"series": apart, "panel": "models"},
        tooltip(
            {"series": apart}, {"step": "step", "value": label, "low": "band from", "high": "to"}
        ),
        bands=0.18 if points.has_intervals else 0.0,
        height=STEP_PANEL_HEIGHT,
    )


def step_axis(points: Marks) -> Spec:
    """Return an axis of steps; by powers of ten where checkpoints are, which 0 stands beside."""
    steps = sorted({float(point["step"]) for point in points})
    after = [step for step in steps if step > 0]
    if not after or after[-1] < WIDE * after[0]:
        return {"axis": {"format": ",~f"}}
    # A symmetric logarithm has a place for 0, where most trainings begin.
    powers = [10.0**k for k in range(12) if after[0] <= 10**k <= after[-1]]
    return {
        "scale": {"type": "symlog", "constant": after[0]},
        "axis": {"values": [0.0, *powers] if steps[0] == 0 else powers, "format": "~s"},
    }
