"""Vectors on their first two components, before and after corrections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import MOST_POINTS, Figure, file_name, shown
from isoscope.report.figures.panels import MOST_PANELS, cloud_of, evenly, faceted, told_of
from isoscope.report.figures.point_colours import Colouring, colour_field, coloured
from isoscope.report.vega import Spec, layered, number, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Table

FIRST, SECOND = "first component", "second component"
HEIGHT = 240
"""Of a small chart: as high as it is wide, so that round clouds look round."""

AXIS = {"tickCount": 5, "labelFlush": False}
CORRELATION = "correlation_with_log_frequency/component_1"


def projection_figures(result: Result) -> list[Figure]:
    """Draw a chart per cloud with its spaces side by side."""
    clouds: dict[tuple[str, str, str], list[Table]] = {}
    for table in result.tables:
        if table.rows and {"first", "second"} <= set(table.rows[0]):
            subject, part = cloud_of(table)
            clouds.setdefault((subject, part, table.measure), []).append(table)
    figures = []
    for (subject, part, measure), every in clouds.items():
        tables = every[:MOST_PANELS]
        colouring = coloured_points(tables)
        if colouring.points:
            of = " ".join(filter(None, (subject, part))) or "the vectors"
            said = correlations(result, tables)
            if len(every) > len(tables):
                said += f" Drawn are {len(tables)} of {len(every)} spaces."
            rows = sum(len(table.rows) for table in tables)
            figures.append(drawn(of, file_name(measure, of), colouring, rows, said))
    return figures


def coloured_points(tables: list[Table]) -> Colouring:
    """Return points of every space, evenly drawn, as many as a scatter has room for."""
    most = MOST_POINTS // len(tables)
    field = colour_field(table.rows[0] for table in tables)
    points: list[dict[str, Any]] = []
    values: list[Any] = []
    for table in tables:
        known = [k for k, row in enumerate(table.rows) if None not in (row["first"], row["second"])]
        for row in (table.rows[k] for k in evenly(known, most)):
            token = {} if row.get("token") is None else {"token": str(row["token"])}
            place = {axis: float(f"{row[axis]:.4g}") for axis in ("first", "second")}
            points.append({"space": table.correction, **place, **token})
            values.append(row.get(field))
    return coloured(points, values, field)


def drawn(of: str, file: str, colouring: Colouring, rows: int, said: str) -> Figure:
    """Draw one figure."""
    points, title = colouring.points, colouring.title
    spaces = list(dict.fromkeys(point["space"] for point in points))
    tokens = {"token": "token"} if any("token" in point for point in points) else {}
    hover = told(
        {**tokens, "space": "correction", **colouring.names},
        {"first": FIRST, "second": SECOND, **colouring.numbers},
    )
    layer: Spec = {
        "mark": {"type": "point", "opacity": 0.7, "size": 16},
        "encoding": {
            "x": number("first", FIRST, axis=AXIS), "y": number("second", SECOND, axis=AXIS),
            **colouring.encoding, "tooltip": hover,
        },
    }  # fmt: skip
    ranges = told_of([f"{space}: {extent(points, space)}" for space in spaces])
    by = f", coloured by {title}" if title else ""
    own = ("x", "y")  # corrections change how far points reach
    colour_of = {**colouring.names, **colouring.numbers}
    return Figure(
        file,
        f"First two components of {of}",
        f"{len(points):,} of {rows:,} points of {of} on their first two components{by}. "
        f"{ranges}.{colouring.said}{said}",
        faceted(points, [layer], "space", "correction", own, HEIGHT)
        if len(spaces) > 1
        else layered(points, [layer]),
        ["correction", *tokens, FIRST, SECOND, *colour_of.values()],
        [
            [shown(point.get(one, "")) for one in ("space", *tokens, "first", "second", *colour_of)]
            for point in points
        ],
    )


def extent(points: list[dict[str, Any]], space: str) -> str:
    """Say how far the points of a space reach along both components."""
    said = []
    for axis in ("first", "second"):
        values = [point[axis] for point in points if point["space"] == space]
        said.append(f"{shown(min(values))} to {shown(max(values))} along the {axis}")
    return ", ".join(said)


def correlations(result: Result, tables: list[Table]) -> str:
    """Say how the first component goes with frequency, where that was measured."""
    places = {(cloud_of(table), table.correction) for table in tables}
    known = [
        f"{row.correction} {shown(row.value)}"
        for row in result.rows
        if row.measure == CORRELATION and (cloud_of(row), row.correction) in places
    ]
    said = f" Correlation of the first with the logarithm of frequency: {told_of(known)}."
    return said if known else ""
