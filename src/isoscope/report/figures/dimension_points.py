"""Entries of dimensions from layer to layer, the ones that stand out with their numbers.

A few dimensions have a colour and a line, which breaks where a layer does not list them; all
others are grey, and the largest of each layer has its number beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.report.figure import shown
from isoscope.report.figures.layer_order import FITTED, layer_axis
from isoscope.report.figures.space_colours import COLOURS, listed, own_colour, series_colours
from isoscope.report.vega import layered, name, number, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.vega import Spec

OTHERS = "others"
MOST_TOLD = 8
"""Layers whose largest entry is put into words."""


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


def dimension_marks(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return a mark for every entry, layers in the order of the entries."""
    names = named_dimensions(entries)
    depths = {layer: k for k, layer in enumerate(dict.fromkeys(one.layer for one in entries))}
    largest = largest_of_layers(entries)
    colours = series_colours([*names, OTHERS], OTHERS)
    there = {(one.dimension, depths[one.layer]) for one in entries}
    marks = []
    for one in sorted(entries, key=lambda one: place_in(names, one.dimension)):
        depth = start = depths[one.layer]
        while (one.dimension, start - 1) in there:
            start -= 1
        label = one.dimension if one.dimension in names else OTHERS
        marks.append(
            {
                "layer": one.layer,
                "depth": depth,
                "dimension": one.dimension,
                "shown": label,
                "colour": colours[label],
                "value": one.value,
                "named": one.dimension in names,
                "largest": largest[one.layer] is one,
                "run": start,
            }
        )
    return marks


def place_in(names: list[str], dimension: str) -> int:
    """Return where a dimension stands in a legend: those without a name at its end."""
    return names.index(dimension) if dimension in names else len(names)


def dimension_spec(marks: list[dict[str, Any]], title: str) -> Spec:
    """Draw marks; the title is that of the vertical axis."""
    colours = {mark["shown"]: mark["colour"] for mark in marks}
    by_name = {
        "color": name("shown", "dimension", **listed(colours)),
        "shape": name("shown", "dimension"),
    }
    y = number("value", title)
    return layered(
        marks,
        [
            {
                "transform": [{"filter": {"field": "named", "equal": True}}],
                "mark": {"type": "line", "strokeWidth": 1},
                "encoding": {
                    "y": y, "stroke": own_colour(),
                    "detail": [{"field": "dimension"}, {"field": "run"}],
                },
            },
            {"mark": {"type": "point", "size": 50, "opacity": 1}, "encoding": {"y": y, **by_name}},
            {
                "transform": [{"filter": {"field": "largest", "equal": True}}],
                "mark": {"type": "text", "align": "left", "dx": 7},
                "encoding": {"y": y, "text": {"field": "dimension", "type": "nominal"}},
            },
        ],
        encoding={
            "x": layer_axis(len({mark["layer"] for mark in marks})),
            "tooltip": told({"layer": "layer", "dimension": "dimension"}, {"value": title}),
        },
        **FITTED,
    )  # fmt: skip


def largest_words(entries: Sequence[Entry]) -> str:
    """Name the largest entry of each layer; of many layers, those with the largest ones."""
    largest = list(largest_of_layers(entries).values())
    told_of = sorted(largest, key=lambda one: -abs(one.value))[:MOST_TOLD]
    return "; ".join(
        f"{one.layer} {one.dimension} ({shown(one.value)})" for one in largest if one in told_of
    )
