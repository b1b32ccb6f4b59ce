"""How the lengths of vectors are distributed, before and after corrections.

Bins have edges at even ratios, so that on a logarithmic axis they are equally wide and the share
of vectors in each is a density.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.panels import Cloud, Sheet, cloud_of, sheets, telling_apart, told_of
from isoscope.report.vega import Spec, logarithmic, number, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.results.result import Result, Table

DENSITY = "norm_density"
SAME_EDGE = 1.001
"""Edges with a ratio below this are one: points have few digits, and bins are 1.04 wide."""

TRACE = 1e-9
"""Shares below this are rounding."""

Densities = dict[tuple[Cloud, str], "Table"]


def norm_density_figures(result: Result) -> list[Figure]:
    """Draw a stepped line per space over the bins of norms."""
    found = {
        (cloud_of(table), table.correction): table
        for table in result.tables
        if table.measure == DENSITY and bins_of(table)
    }
    return [drawn(sheet, found) for sheet in sheets(found)]


def bins_of(table: Table) -> list[dict[str, Any]]:
    """Return the bins that a logarithmic axis has room for: above 0 and below infinity."""
    bins = [
        row
        for row in table.rows
        if row.get("from") and row.get("to") is not None and row.get("share") is not None
    ]
    return sorted(bins, key=lambda row: float(row["from"]))


def drawn(sheet: Sheet, found: Densities) -> Figure:
    """Draw one figure."""
    tables = {key: table for key, table in found.items() if sheet.shows(*key)}
    points: list[dict[str, Any]] = [
        {**sheet.place(cloud, space), "space": space, **point}
        for (cloud, space), table in tables.items()
        for point in closed([as_point(row) for row in bins_of(table)])
    ]
    said = told_of([sentence(sheet.named(*key), table) for key, table in tables.items()])
    hover = told(
        {"panel": sheet.apart, "space": "correction"},
        {"low": "norm from", "high": "norm to", "percent": "vectors (%)", "count": "vectors"},
    )
    line = telling_apart(points, "series", sheet.legend)
    axis = {"format": "~g", "labelOverlap": True, "labelFlush": False}
    domain = [min(p["low"] for p in points), max(p["high"] for p in points)]
    axes = {
        "x": number("norm", "norm (logarithmic)", scale=logarithmic(domain=domain), axis=axis),
        "y": number("percent", "vectors in each bin (%)"),
        "color": line["color"],
    }
    layers: list[Spec] = [
        # Halfway between the middles of two bins, on this axis, is the edge between them.
        {"mark": {"type": "line", "interpolate": "step"},
         "encoding": {**axes, "strokeDash": line["strokeDash"]}},
        # Lines tell only their first point: unseen points over the bins tell theirs.
        {"mark": {"type": "point", "size": 120, "opacity": 0},
         "encoding": {**axes, "tooltip": hover}},
    ]  # fmt: skip
    return Figure(
        file_name("norms", sheet.of),
        f"Norms of {sheet.of}",
        f"Share of vectors of {sheet.of} by norm, in bins of equal ratio on a logarithmic axis. "
        f"{said}.{outside(tables)}{sheet.left_out}",
        sheet.spec(points, layers, own_axes=("x", "y")),
        [sheet.apart, "correction", "norm from", "norm to", "vectors", "share (%)"],
        [
            [
                p["panel"],
                p["space"],
                *(shown(p[one]) for one in ("low", "high", "count", "percent")),
            ]
            for p in points
            if p["percent"] > 0
        ],
    )


def as_point(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a bin as a point in its middle."""
    return point_at(float(row["from"]), float(row["to"]), float(row["share"]), row.get("count"))


def point_at(low: float, high: float, share: float, count: int | None) -> dict[str, Any]:
    """Return a bin with few digits: a page must stay small."""
    values = {
        "norm": math.sqrt(low * high), "low": low, "high": high, "percent": 100 * share,
    }  # fmt: skip
    return {**{key: float(f"{value:.5g}") for key, value in values.items()}, "count": count}


def closed(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return bins with empty ones around them and in their gaps, where the line falls to 0."""
    found: list[dict[str, Any]] = []
    for point in points:
        if not found or point["low"] > found[-1]["high"] * SAME_EDGE:
            if found:
                found.append(empty_beside(found[-1], above=True))
            before = empty_beside(point, above=False)
            if not found or before["norm"] > found[-1]["norm"] * SAME_EDGE:
                found.append(before)
        found.append(point)
    return [*found, empty_beside(found[-1], above=True)]


def empty_beside(point: Mapping[str, Any], above: bool) -> dict[str, Any]:
    """Return an empty bin of the same ratio just above or below another."""
    low, high = point["low"], point["high"]
    ratio = high / low
    edges = (high, high * ratio) if above else (low / ratio, low)
    return point_at(*edges, 0.0, 0)


def sentence(of: str, table: Table) -> str:
    """Say where most vectors of a space are, and how far norms reach."""
    bins = bins_of(table)
    top = max(bins, key=lambda row: float(row["share"]))
    return (
        f"{of}: from {shown(bins[0]['from'])} to {shown(bins[-1]['to'])}, most "
        f"({100 * top['share']:.3g} %) from {shown(top['from'])} to {shown(top['to'])}"
    )


def outside(tables: Densities) -> str:
    """Say how many vectors have norms that the axis has no room for."""
    every = sum(float(row.get("share") or 0) for table in tables.values() for row in table.rows)
    inside = sum(float(row["share"]) for table in tables.values() for row in bins_of(table))
    if every - inside <= TRACE:
        return ""
    return f" Beyond the axis are {100 * (every - inside) / len(tables):.3g} % of the vectors."
