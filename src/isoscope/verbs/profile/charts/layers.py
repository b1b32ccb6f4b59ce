"""Isotropy and mean cosine from layer to layer, per correction and model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoscope.models.layer_names import in_order, side_of_layer
from isoscope.results.charts.chart import INTERVAL, Figure
from isoscope.results.charts.forms import interval_lines
from isoscope.results.charts.layer_axis import layer_axis
from isoscope.results.charts.marks import (
    MOST_SERIES,
    Marks,
    chosen_spaces,
    interval_of,
    is_number,
    is_standing,
    of,
    series_colours,
)
from isoscope.results.charts.vega import number, tooltip
from isoscope.results.numbers import shown

if TYPE_CHECKING:
    from isoscope.results.charts.vega import Spec
    from isoscope.results.result import Result, Row


MOST_PANELS = 12
FEWEST_LAYERS = 2
CLIP, CLIPPED = "clip:dimensions=", "clip: the outliers of each layer"
CHANGE = "mean_cosine/change"


LOGARITHM = "i1"

# What is followed through the layers: the first measure that a result has, and its axis.
CURVES = {
    "Isotropy": {
        "i1_scaled": "I1 of scaled vectors (1 is even)",
        LOGARITHM: "log10 of I1 (0 is even)",
    },
    "Mean cosine": {
        "mean_cosine": "mean cosine",
        "random_pair_cosine": "mean cosine of two random tokens",
    },
    "Likeness of a token to itself": {"intra_sim": "mean cosine within a type of token"},
}


def layer_figures(result: Result) -> list[Figure]:
    """Draw a chart for each measure that at least two layers have."""
    figures = []
    for title, axes in CURVES.items():
        for measure, axis in axes.items():
            points = layer_points(result, measure)
            if points:
                figures.append(draw(title, measure, axis, points))
                break
    return figures


def layer_points(result: Result, measure: str) -> Marks:
    """Return a mark for every layer of models with several of them, in order of depth.

    The value of a mark is None where a layer has no number.
    """
    clipped = clipped_parts(result)
    models: dict[str, list[tuple[str, Row]]] = {}
    for row in result.rows:
        side = side_of_layer(row.part)
        if row.measure != measure or side is None or not is_standing(row):
            continue
        correction = row.correction
        # Layers have outliers of their own: those clips are one line, any other clip is none.
        if clipped and correction.startswith(CLIP):
            if (row.subject, row.part, correction) not in clipped:
                continue
            correction = CLIPPED
        models.setdefault(of(row.subject, side), []).append((correction, row))
    points = Marks()
    for model, rows in models.items():
        order = in_order(row.part for _, row in rows)
        known = {row.part for _, row in rows if height(row) is not None}
        if len(known) < FEWEST_LAYERS:
            continue
        points += [
            {
                "model": model, "layer": row.part, "correction": correction,
                "depth": order.index(row.part) / (len(order) - 1), "value": height(row),
                **({} if measure == LOGARITHM else interval_of(row)),
            }
            for correction, row in sorted(rows, key=lambda pair: order.index(pair[1].part))
        ]  # fmt: skip
    return points


def clipped_parts(result: Result) -> set[tuple[str, str, str]]:
    """Return where all outliers of a layer are clipped: dimensions differ from layer to layer."""
    return {
        (row.subject, row.part, row.correction)
        for row in result.rows
        if row.measure == CHANGE and row.correction.startswith(CLIP)
    }


def height(row: Row) -> float | None:
    """Return where a row is on the vertical axis; None where it is nowhere."""
    if row.measure != LOGARITHM:
        return row.value if is_number(row.value) else None
    if is_number(row.log10):
        return row.log10  # it may be so small that the value itself is 0
    return math.log10(row.value) if is_number(row.value) and row.value > 0 else None


def draw(title: str, measure: str, axis: str, points: Marks) -> Figure:
    """Draw the lines of one measure."""
    undefined = sum(point["value"] is None for point in points)
    points = points.known
    every_model = points.names("model")
    models = every_model[:MOST_PANELS]
    every_space = points.names("correction")
    spaces = chosen_spaces(every_space)
    points = points.only(model=models, correction=spaces)
    points.sort(key=lambda point: spaces.index(point["correction"]))
    left = first_words(len(models), len(every_model), "models")
    left += first_words(len(spaces), len(every_space), "corrections")
    left += f" {undefined:,} values are undefined and not drawn." if undefined else ""
    subject = models[0] if len(models) == 1 else f"{len(models)} models"
    several = len(models) > 1
    series = points.by("model", "correction")
    said = "; ".join(
        summary(", ".join(names if several else names[1:]), line)
        for names, line in list(series.items())[:MOST_SERIES]
    )
    more = "; the others are in the table" if len(series) > MOST_SERIES else ""
    as_axis = "" if axis == title.lower() else f", as {axis}"
    return Figure.of(
        ("layers", measure, "models" if several else subject),
        of(title, "per layer of", subject),
        f"{title} per layer{as_axis}. {said}{more}.{left}",
        spec_of(points, models, spaces, axis),
        points,
        {"model": "model", "correction": "correction", "layer": "layer", "value": axis, **INTERVAL},
    )


def summary(label: str, line: Marks) -> str:
    """Describe the lowest and the highest value of a line, and where they are."""
    low, high = line.lowest, line.highest
    return (
        f"{label}: lowest {shown(low['value'])} at {low['layer']}, highest "
        f"{shown(high['value'])} at {high['layer']}"
    )


def first_words(drawn: int, every: int, things: str) -> str:
    """Describe how many are drawn, if not all."""
    return f" The first {drawn} of {every} {things} are drawn." if drawn < every else ""


def spec_of(points: Marks, models: list[str], spaces: list[str], axis: str) -> Spec:
    """Return the chart: one model by its layers, several by their relative depth."""
    by_model = 1 < len(models) <= MOST_SERIES
    field = "model" if by_model else "correction"
    colours = series_colours(models, "") if by_model else series_colours(spaces)
    other, panel_order = ("correction", spaces) if by_model else ("model", models)
    points = Marks(
        {**point, "place": panel_order.index(point[other])}
        for point in points.coloured(field, colours)
    )
    one = len(models) == 1
    x = number("depth", "depth (0 input, 1 output)", scale={"domain": [0, 1]})
    return interval_lines(
        points,
        (field, field),
        colours,
        axis,
        layer_axis(len(points.names("layer"))) if one else x,
        tooltip(
            {"model": "model", "layer": "layer", "correction": "correction"},
            {"value": axis, **INTERVAL},
        ),
        panel="" if one or (by_model and len(spaces) == 1) else other,
        fitted=one,
        scale={"zero": False},
    )
