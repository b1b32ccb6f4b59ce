"""Charts of a measurement, before and after corrections.

Cosines of random pairs: a curve through the quantiles that were measured, the share of pairs below
each cosine. A density would need more than five quantiles; between two points the curve is only a
line.

Norms: bins have edges at even ratios, so that on a logarithmic axis they are equally wide and the
share of vectors in each is a density.

Spectrum: singular values, divided by the largest of each space.

Scatter: vectors on their first two components, coloured by an ordered number or by the group that
they are in.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.results.charts.chart import MOST_POINTS, Figure
from isoscope.results.charts.marks import Mark, Marks, is_number, of
from isoscope.results.charts.sheets import (
    MOST_PANELS,
    Cloud,
    Sheet,
    cloud_of,
    columns_for,
    evenly,
    faceted,
    line_style,
    reach,
    sheets,
    some_of,
)
from isoscope.results.charts.vega import (
    CATEGORIES,
    HOVERED_LINE,
    ORDERED,
    Spec,
    chart,
    layer,
    layered,
    logarithmic,
    name,
    number,
    tooltip,
)
from isoscope.results.numbers import shown
from isoscope.results.tables import grouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.results.result import Result, Row, Table


QUANTILES = "cosine_quantiles/"

# The percentages that a sentence tells: an ordinary cosine, and one that is rare by chance.
MEDIAN, HIGH = 50.0, 99.0

COSINE_AXIS = {"tickCount": 4}
Curves = dict[tuple[Cloud, str], dict[float, "Row"]]


def cosine_distribution_figures(result: Result) -> list[Figure]:
    """Draw a curve per space through the quantiles of the cosines of random pairs."""
    curves: Curves = {}
    for row in result.rows:
        percent = percent_of(row.measure)
        if percent is not None and row.value is not None:
            curves.setdefault((cloud_of(row), row.correction), {})[percent] = row
    return [draw_cosines(sheet, curves) for sheet in sheets(curves)]


def percent_of(measure: str) -> float | None:
    """Return which quantile a row is; None where it is none."""
    if not (measure.startswith(QUANTILES) and measure.endswith("%")):
        return None
    try:
        return float(measure.removeprefix(QUANTILES).removesuffix("%"))
    except ValueError:
        return None


def draw_cosines(sheet: Sheet, curves: Curves) -> Figure:
    """Draw one figure."""
    points = sheet.marks(
        curves,
        lambda curve, space: (
            {"percent": percent, "cosine": row.value, "space": space}
            for percent, row in sorted(curve.items())
        ),
    )
    below = "random pairs below (%)"
    domain = {"domain": reach((p["cosine"] for p in points), 0.05)}
    x = number("cosine", "cosine of a random pair", scale=domain, axis=COSINE_AXIS)
    y = number("percent", below, scale={"domain": [0, 100]})
    names, numbers = names_of(sheet), {"percent": below, "cosine": "cosine"}
    style = line_style(points, "series", sheet.legend)
    axes = {"x": x, "y": y, "color": style["color"]}
    layers = [
        layer("line", **axes, strokeDash=style["strokeDash"], order=number("percent", below)),
        layer("point", **axes, tooltip=tooltip(names, numbers)),
    ]
    return Figure.of(
        ("cosines", sheet.of),
        f"Cosines of random pairs of {sheet.of}",
        f"Share of random pairs of {sheet.of} below each cosine: a curve through measured "
        "quantiles, with straight lines between them. "
        f"{sheet.words(curves, cosine_sentence)}.{sheet.left_out}",
        sheet.spec(points, layers),
        points,
        {**names, **numbers},
    )


def names_of(sheet: Sheet) -> dict[str, str]:
    """Return the fields that say which line a point is on, with their titles."""
    return {"panel": sheet.apart, "space": "correction"}


def cosine_sentence(curve: dict[float, Row]) -> str:
    """Say what is ordinary in a space, and what is rare."""
    known = [
        f"{words} {shown(curve[percent].value)}"
        for percent, words in ((MEDIAN, "median"), (HIGH, f"{HIGH:g} % below"))
        if percent in curve
    ]
    return ", ".join(known) or "no median"


DENSITY = "norm_density"

# Edges with a ratio below this are one: points have few digits, and bins are 1.04 wide.
SAME_EDGE = 1.001

# Shares below this are rounding.
TRACE = 1e-9

Densities = dict[tuple[Cloud, str], "Table"]


def norm_density_figures(result: Result) -> list[Figure]:
    """Draw a stepped line per space over the bins of norms."""
    found = {
        (cloud_of(table), table.correction): table
        for table in result.tables
        if table.measure == DENSITY and bins_of(table)
    }
    return [draw_norms(sheet, found) for sheet in sheets(found)]


def bins_of(table: Table) -> Marks:
    """Return the bins that a logarithmic axis has room for: above 0 and below infinity."""
    bins = [
        row
        for row in table.rows
        if row.get("from") and row.get("to") is not None and row.get("share") is not None
    ]
    return Marks(sorted(bins, key=lambda row: float(row["from"])))


def draw_norms(sheet: Sheet, found: Densities) -> Figure:
    """Draw one figure."""
    tables = {key: table for key, table in found.items() if sheet.shows(*key)}
    points = sheet.marks(
        found,
        lambda table, space: (
            {"space": space, **point} for point in closed(map(as_point, bins_of(table)))
        ),
    )
    axis = {"format": "~g", "labelOverlap": True, "labelFlush": False}
    domain = [min(p["low"] for p in points), max(p["high"] for p in points)]
    x = number("norm", "norm (logarithmic)", scale=logarithmic(domain=domain), axis=axis)
    names, ends = names_of(sheet), {"low": "norm from", "high": "norm to"}
    hover = tooltip(names, {**ends, "percent": "vectors (%)", "count": "vectors"})
    style = line_style(points, "series", sheet.legend)
    axes = {"x": x, "y": number("percent", "vectors in each bin (%)"), "color": style["color"]}
    # Halfway between the middles of two bins, on this axis, is the edge between them.
    steps = {"type": "line", "interpolate": "step"}
    # Lines tell only their first point: unseen points over the bins tell theirs.
    unseen = {"type": "point", "size": 120, "opacity": 0}
    layers = [
        layer(steps, **axes, strokeDash=style["strokeDash"]),
        layer(unseen, **axes, tooltip=hover),
    ]
    return Figure.of(
        ("norms", sheet.of),
        f"Norms of {sheet.of}",
        f"Share of vectors of {sheet.of} by norm, in bins of equal ratio on a logarithmic axis. "
        f"{sheet.words(found, norm_sentence)}.{outside(tables)}{sheet.left_out}",
        sheet.spec(points, layers, own_axes=("x", "y")),
        (point for point in points if point["percent"] > 0),
        {**names, **ends, "count": "vectors", "percent": "share (%)"},
    )


def as_point(row: Mapping[str, Any]) -> Mark:
    """Return a bin as a point in its middle."""
    return point_at(float(row["from"]), float(row["to"]), float(row["share"]), row.get("count"))


def point_at(low: float, high: float, share: float, count: int | None) -> Mark:
    """Return a bin with few digits: a page must stay small."""
    values = {
        "norm": math.sqrt(low * high), "low": low, "high": high, "percent": 100 * share,
    }  # fmt: skip
    return {**{key: float(f"{value:.5g}") for key, value in values.items()}, "count": count}


def closed(points: Iterable[Mark]) -> Marks:
    """Return bins with empty ones around them and in their gaps, where the line falls to 0."""
    found = Marks()
    for point in points:
        if not found or point["low"] > found[-1]["high"] * SAME_EDGE:
            if found:
                found.append(empty_beside(found[-1], above=True))
            before = empty_beside(point, above=False)
            if not found or before["norm"] > found[-1]["norm"] * SAME_EDGE:
                found.append(before)
        found.append(point)
    return Marks([*found, empty_beside(found[-1], above=True)])


def empty_beside(point: Mapping[str, Any], above: bool) -> Mark:
    """Return an empty bin of the same ratio just above or below another."""
    low, high = point["low"], point["high"]
    ratio = high / low
    edges = (high, high * ratio) if above else (low / ratio, low)
    return point_at(*edges, 0.0, 0)


def norm_sentence(table: Table) -> str:
    """Say where most vectors of a space are, and how far norms reach."""
    bins = bins_of(table)
    top = max(bins, key=lambda row: float(row["share"]))
    return (
        f"from {shown(bins[0]['from'])} to {shown(bins[-1]['to'])}, most "
        f"({100 * top['share']:.3g} %) from {shown(top['from'])} to {shown(top['to'])}"
    )


def outside(tables: Densities) -> str:
    """Say how many vectors have norms that the axis has no room for."""
    every = sum(float(row.get("share") or 0) for table in tables.values() for row in table.rows)
    inside = sum(float(row["share"]) for table in tables.values() for row in bins_of(table))
    if every - inside <= TRACE:
        return ""
    return f" Beyond the axis are {100 * (every - inside) / len(tables):.3g} % of the vectors."


SPECTRUM = "spectrum"

# Parts of a model that have a chart each.
FEW = 3


def spectrum_figures(result: Result) -> list[Figure]:
    """Draw a chart per cloud, a line per space; of many layers one chart, a line per layer."""
    spectra = (table for table in result.tables if table.measure == SPECTRUM and ratios(table))
    figures = []
    for subject, tables in grouped(spectra, lambda table: table.subject).items():
        parts = grouped(tables, lambda table: table.part)
        if len(parts) > FEW:
            first = {part: ratios(several[0]) for part, several in parts.items()}
            figures.append(draw_spectrum((subject,), f"{subject}'s layers", "layer", first))
            continue
        for part, several in parts.items():
            lines = {table.correction: ratios(table) for table in several}
            about = of(subject, part)
            figures.append(draw_spectrum((subject, part), about, "correction", lines))
    return figures


def draw_spectrum(
    file: tuple[str, ...], about: str, what: str, lines: dict[str, list[float]]
) -> Figure:
    """Draw some spectra, each divided by its largest value; layers have an ordered colour."""
    points = Marks(
        {"number": k, "ratio": ratio, "line": line}
        for line, values in lines.items()
        for k, ratio in enumerate(values, start=1)
    )
    said = "; ".join(f"{line}: {shown(values[1])}" for line, values in lines.items() if values[1:])
    style = {"color": name("line", what), "strokeDash": name("line", what)}
    if what == "layer":
        style = {"color": name("line", what, scale={"scheme": ORDERED})}
    axis = "singular value / the largest"
    return Figure.of(
        (SPECTRUM, *file),
        f"Spectrum of {about}",
        f"Singular values of {about}, each divided by the largest, on a logarithmic axis. The "
        f"second over the first: {said}.",
        chart(
            points,
            HOVERED_LINE,
            {
                "x": number(
                    "number", "number of the singular value", scale=logarithmic(nice=False)
                ),
                "y": number("ratio", axis),
                **style,
                "tooltip": tooltip({"line": what}, {"number": "number", "ratio": "ratio"}),
            },
        ),
        points,
        {"line": what, "number": "number", "ratio": axis},
    )


def ratios(table: Table) -> list[float]:
    """Return singular values divided by the largest."""
    values = [float(row["singular_value"]) for row in table.rows]
    return [value / values[0] for value in values] if values and values[0] > 0 else []


# Fields that points may be coloured by, the first that they have, and what they are called.
TITLES = {
    "log10_frequency": "log₁₀ of frequency", "position": "position", "cluster": "cluster",
    "layer": "layer",
}  # fmt: skip

# Fields whose numbers are names: nothing lies between two of them.
NAMES = ("cluster",)

# Groups with a colour of their own; the rest share the last.
MOST_NAMED = 6


@dataclass(frozen=True)
class Colouring:
    """How points are coloured.

    Attributes
    ----------
    title : str
        What the colour means; nothing where there is one colour only.
    points : list of dict
        The points, with the field ``shade`` or ``group``.
    encoding : dict
        Colours, and shapes of groups.
    names, numbers : dict
        What hovering tells.
    said : str
        A sentence about groups.
    """

    title: str
    points: Marks
    encoding: Spec
    names: dict[str, str]
    numbers: dict[str, str]
    said: str = ""


def coloured(points: Marks, values: list[Any], field: str) -> Colouring:
    """Colour points by the values of a field.

    Parameters
    ----------
    points : list of dict
        Without a colour.
    values : list
        Of every point; None where it is not known.
    field : str
        One of ``TITLES``, or nothing.
    """
    if not field:
        return Colouring("", points, {"color": {"value": CATEGORIES[0]}}, {}, {})
    title = TITLES[field]
    if field in NAMES or not all(is_number(value) for value in values if value is not None):
        return by_group(points, values, title)
    shades = Marks(
        point if value is None else {**point, "shade": float(f"{value:.4g}")}
        for point, value in zip(points, values, strict=True)
    )
    color = number("shade", title, scale={"scheme": ORDERED})
    return Colouring(title, shades, {"color": color}, {}, {"shade": title})


def by_group(points: Marks, values: list[Any], title: str) -> Colouring:
    """Colour points by their group: the largest by themselves, all others as one."""
    called = ["unknown" if value is None else str(value) for value in values]
    sizes = Counter(called)
    largest = dict(sizes.most_common(MOST_NAMED))
    others = len(sizes) - len(largest)
    rest = f"{others} others"
    groups = Marks(
        {**point, "group": one if one in largest else rest}
        for point, one in zip(points, called, strict=True)
    )
    scale = {"domain": [*largest, *([rest] if others else [])]}
    legend = {"symbolOpacity": 1, "columns": columns_for(scale["domain"])}
    encoding = {
        channel: name("group", title, scale=scale, legend=legend) for channel in ("color", "shape")
    }
    first, size = next(iter(largest.items()))
    said = f" The largest {title} of {len(sizes)}, {first}, has {size:,} points"
    said += f"; the {len(largest)} largest have colours of their own." if others else "."
    return Colouring(title, groups, encoding, {"group": title}, {}, said)


FIRST, SECOND = "first component", "second component"

# Of a small chart: as high as it is wide, so that round clouds look round.
HEIGHT = 240

PROJECTION_AXIS = {"tickCount": 5, "labelFlush": False}
CORRELATION = "correlation_with_log_frequency/component_1"


def projection_figures(result: Result) -> list[Figure]:
    """Draw a chart per cloud with its spaces side by side."""
    planes = (
        table for table in result.tables if table.rows and {"first", "second"} <= set(table.rows[0])
    )
    figures = []
    clouds = grouped(planes, lambda table: (cloud_of(table), table.measure))
    for (cloud, measure), every in clouds.items():
        tables = every[:MOST_PANELS]
        colouring = coloured_points(tables)
        if colouring.points:
            about = of(*cloud) or "the vectors"
            said = correlations(result, tables)
            if len(every) > len(tables):
                said += f" Drawn are {len(tables)} of {len(every)} spaces."
            rows = sum(len(table.rows) for table in tables)
            figures.append(draw_projection(about, measure, colouring, rows, said))
    return figures


def coloured_points(tables: list[Table]) -> Colouring:
    """Return points of every space, evenly drawn, as many as a scatter has room for."""
    most = MOST_POINTS // len(tables)
    field = next((one for one in TITLES if all(one in table.rows[0] for table in tables)), "")
    points = Marks()
    values: list[Any] = []
    for table in tables:
        known = [k for k, row in enumerate(table.rows) if None not in (row["first"], row["second"])]
        for row in (table.rows[k] for k in evenly(known, most)):
            token = {} if row.get("token") is None else {"token": str(row["token"])}
            place = {axis: float(f"{row[axis]:.4g}") for axis in ("first", "second")}
            points.append({"space": table.correction, **place, **token})
            values.append(row.get(field))
    return coloured(points, values, field)


def draw_projection(about: str, measure: str, colouring: Colouring, rows: int, said: str) -> Figure:
    """Draw one figure."""
    points, title = colouring.points, colouring.title
    spaces = points.names("space")
    tokens = {"token": "token"} if any("token" in point for point in points) else {}
    hover = tooltip(
        {**tokens, "space": "correction", **colouring.names},
        {"first": FIRST, "second": SECOND, **colouring.numbers},
    )
    dots = layer(
        {"type": "point", "opacity": 0.7, "size": 16},
        x=number("first", FIRST, axis=PROJECTION_AXIS),
        y=number("second", SECOND, axis=PROJECTION_AXIS),
        **colouring.encoding,
        tooltip=hover,
    )
    ranges = some_of([f"{space}: {extent(points, space)}" for space in spaces])
    by = f", coloured by {title}" if title else ""
    own = ("x", "y")  # corrections change how far points reach
    colour_of = {**colouring.names, **colouring.numbers}
    return Figure.of(
        (measure, about),
        f"First two components of {about}",
        f"{len(points):,} of {rows:,} points of {about} on their first two components{by}. "
        f"{ranges}.{colouring.said}{said}",
        faceted(points, [dots], "space", "correction", own, HEIGHT)
        if len(spaces) > 1
        else layered(points, [dots]),
        ({**dict.fromkeys((*tokens, *colour_of), ""), **point} for point in points),
        {"space": "correction", **tokens, "first": FIRST, "second": SECOND, **colour_of},
    )


def extent(points: Marks, space: str) -> str:
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
    said = f" Correlation of the first with the logarithm of frequency: {some_of(known)}."
    return said if known else ""
