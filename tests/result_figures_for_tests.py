"""What figures of scores, trainings, searches and claims must keep to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from isoscope.results.charts.chart import Figure
from isoscope.results.charts.vega import themed

NASTY = "</script><script>alert(\"x\")</script>\n.[0] 'quoted' "
"""A name that breaks out of markup, scripts and paths of fields where it is let."""

OWN_TITLES = {"x", "y", "color", "shape", "strokeDash"}
"""Channels with an axis or a legend, which need a title."""

THEMED = ("labelColor", "titleColor", "background", "font", "gridColor")


def values_of(figure: Figure) -> list[dict[str, Any]]:
    """Return the marks of a figure."""
    found: list[dict[str, Any]] = figure.spec["data"]["values"]
    return found


def outside_data(spec: dict[str, Any]) -> str:
    """Return all of a chart but its data, as text."""
    return json.dumps({key: value for key, value in spec.items() if key != "data"})


def drawn_parts(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every part of a chart that draws marks."""
    if "mark" in spec:
        yield spec
    for part in [*spec.get("layer", []), *([spec["spec"]] if "spec" in spec else [])]:
        yield from drawn_parts(part)


def check_figure(figure: Figure) -> None:
    """Check titles, fields, tooltips, sizes, words, table, and that both modes can be drawn."""
    parts = list(drawn_parts(figure.spec))
    assert parts
    for part in parts:
        encoding = part["encoding"]
        assert encoding["tooltip"], "every mark tells something"
        for channel, one in encoding.items():
            for each in one if isinstance(one, list) else [one]:
                assert str(each.get("field", "plain")).isidentifier()
            if channel in OWN_TITLES:
                assert one["title"], f"{channel} of {figure.name} has no title"
        check_marks_differ(part)
    if "facet" in figure.spec:
        assert figure.spec["facet"]["title"]
        assert figure.spec["columns"] <= 2
        assert figure.spec["spec"]["width"] <= 240
    else:
        assert not isinstance(figure.spec.get("width"), int), "the page fits single charts"
    assert figure.name
    assert figure.title
    assert figure.alt.endswith(".")
    assert not {"None", "nan", "inf"} & set(figure.alt.split())
    assert figure.rows
    assert all(len(row) == len(figure.header) for row in figure.rows)
    assert all(isinstance(cell, str) for row in figure.rows for cell in row)
    text = json.dumps(figure.spec, allow_nan=False)
    assert not any(f'"{word}"' in text for word in THEMED), "the theme has these"
    check_drawing(figure)


def check_marks_differ(part: dict[str, Any]) -> None:
    """Check that colour is never all that tells lines or points apart."""
    encoding, mark = part["encoding"], part["mark"]
    kind = mark if isinstance(mark, str) else mark["type"]
    if "color" in encoding and kind in ("line", "point"):
        other = encoding["strokeDash" if kind == "line" else "shape"]
        assert other.get("field") or other.get("datum") or other["scale"]


def check_drawing(figure: Figure) -> str:
    """Draw a figure light and dark; the light picture as SVG."""
    vl_convert = pytest.importorskip("vl_convert", reason="pictures need vl-convert-python")
    pictures = [
        str(vl_convert.vegalite_to_svg(json.dumps(themed(figure.spec, mode), allow_nan=False)))
        for mode in ("dark", "light")
    ]
    assert all(picture.startswith("<svg") for picture in pictures)
    return pictures[1]
