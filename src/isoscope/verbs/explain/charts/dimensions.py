"""Charts of the entries of dimensions from layer to layer, such as those of mean vectors.

A few dimensions have a colour and a line, which breaks where a layer does not list them; all
others are grey, and the largest of each layer has its number beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.results.charts.chart import Figure
from isoscope.results.charts.layer_axis import FITTED, layer_axis
from isoscope.results.charts.marks import (
    COLOURS,
    Marks,
    colour_scale,
    entries_of,
    of,
    own_colour,
    series_colours,
    standing_tables,
)
from isoscope.results.charts.vega import Spec, layer, layered, name, number, tooltip
from isoscope.results.numbers import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.results.result import Result, Table


OTHERS = "others"
# Layers whose largest entry is put into words.
MOST_TOLD = 8


@dataclass(frozen=True)
class Entry:
    """The number of one dimension in one layer."""

    layer: str
    dimension: str
    value: float


def named_dimensions(entries: Sequence[Entry]) -> list[str]:
    """Return the dimensions with the largest entries, as many as there are colours."""
    largest: dict[str, float] = {}
    for one in entries:
        largest[one.dimension] = max(largest.get(one.dimension, 0.0), abs(one.value))
    return sorted(largest, key=lambda dimension: -largest[dimension])[: len(COLOURS)]


def largest_of_layers(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the largest entry of each layer."""
    found: dict[str, Entry] = {}
    for one in entries:
        if one.layer not in found or abs(one.value) > abs(found[one.layer].value):
            found[one.layer] = one
    return found


def dimension_marks(entries: Sequence[Entry]) -> Marks:
    """Return a mark for every entry, layers in the order of the entries."""
    names = named_dimensions(entries)
    depths = {layer: k for k, layer in enumerate(dict.fromkeys(one.layer for one in entries))}
    largest = largest_of_layers(entries)
    colours = series_colours([*names, OTHERS], OTHERS)
    there = {(one.dimension, depths[one.layer]) for one in entries}
    marks = Marks()
    # A legend has the dimensions with a name in their order, and the others at its end.
    places = {dimension: place for place, dimension in enumerate(names)}
    for one in sorted(entries, key=lambda one: places.get(one.dimension, len(names))):
        depth = start = depths[one.layer]
        while (one.dimension, start - 1) in there:
            start -= 1
        label = one.dimension if one.dimension in names else OTHERS
        marks.append(
            {
                **vars(one), "depth": depth, "shown": label, "colour": colours[label],
                "named": one.dimension in names, "largest": largest[one.layer] is one,
                "run": start,
            }
        )  # fmt: skip
    return marks


def dimension_spec(marks: Marks, title: str) -> Spec:
    """Draw marks; the title is that of the vertical axis."""
    colours = {mark["shown"]: mark["colour"] for mark in marks}
    by_name = {
        "color": name("shown", "dimension", **colour_scale(colours)),
        "shape": name("shown", "dimension"),
    }
    y = number("value", title)
    return layered(
        marks,
        [
            {
                "transform": [{"filter": {"field": "named", "equal": True}}],
                **layer({"type": "line", "strokeWidth": 1}, y=y, stroke=own_colour(),
                        detail=[{"field": "dimension"}, {"field": "run"}]),
            },
            layer({"type": "point", "size": 50, "opacity": 1}, y=y, **by_name),
            {
                "transform": [{"filter": {"field": "largest", "equal": True}}],
                **layer({"type": "text", "align": "left", "dx": 7}, y=y,
                        text={"field": "dimension", "type": "nominal"}),
            },
        ],
        encoding={
            "x": layer_axis(len(marks.names("layer"))),
            "tooltip": tooltip({"layer": "layer", "dimension": "dimension"}, {"value": title}),
        },
        **FITTED,
    )  # fmt: skip


def largest_words(entries: Sequence[Entry]) -> str:
    """Name the largest entry of each layer; of many layers, those with the largest ones."""
    largest = list(largest_of_layers(entries).values())
    some_of = sorted(largest, key=lambda one: -abs(one.value))[:MOST_TOLD]
    return "; ".join(
        f"{one.layer} {one.dimension} ({shown(one.value)})" for one in largest if one in some_of
    )


def dimension_figures(
    result: Result,
    measure: str,
    field: str,
    axis: str,
    words: Callable[[Table], tuple[tuple[str, ...], str, str]],
) -> list[Figure]:
    """Draw the entries of dimensions in each table of a measure that has some.

    Parameters
    ----------
    result : Result
        What is drawn.
    measure, field : str
        The tables, and the field of their rows that is drawn.
    axis : str
        What the numbers are called.
    words : callable
        Returns the words of the file's name, the title and the sentence of a table's figure.
    """
    figures = []
    for table in standing_tables(result, measure):
        entries = [
            Entry(str(row["layer"]), str(row["dimension"]), row[field])
            for row in entries_of(table, ["dimension", field], ["layer"])
        ]
        if entries:
            file, title, sentence = words(table)
            note = f" Listed are {table.note}." if table.note else ""
            alt = f"{sentence} {largest_words(entries)}.{note}"
            spec = dimension_spec(dimension_marks(entries), axis)
            columns = {"layer": "layer", "dimension": "dimension", "value": axis.split(",")[0]}
            figures.append(Figure.of(file, title, alt, spec, map(vars, entries), columns))
    return figures


MEANS = "mean_vectors"


def mean_vector_figures(result: Result) -> list[Figure]:
    """Draw the mean vectors of every model."""
    return dimension_figures(result, MEANS, "mean", "mean entry", mean_vector_words)


def mean_vector_words(table: Table) -> tuple[tuple[str, ...], str, str]:
    """Return name, title and sentence of a figure of mean vectors."""
    subject = of(table.subject, table.part)
    return (
        (MEANS, table.subject, table.part),
        of("Largest entries of the mean vectors of", subject),
        f"Mean entries per layer of {subject}. The dimension with the largest one in each layer:",
    )
