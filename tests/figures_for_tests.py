"""What every figure must keep to, whatever it shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from isoscope.results.charts.vega import config, themed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.results.charts.chart import Figure

NASTY = "</script><script>alert(\"x\")</script>\n.[0] 'quoted' "
"""A name that breaks out of markup, scripts and paths of fields where it is let."""

SHOWN = {"x", "y", "color", "shape", "strokeDash", "facet"}
"""Channels with an axis, a legend or a header, which need a title."""


def values_of(figure: Figure) -> list[dict[str, Any]]:
    """Return the marks of a figure."""
    found: list[dict[str, Any]] = figure.spec["data"]["values"]
    return found


def channels(spec: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through all channels of a chart, and of the charts in it."""
    for key, value in spec.items():
        if key == "encoding":
            yield from ((name, one) for name, one in value.items() if isinstance(one, dict))
        elif key == "facet":
            yield key, value
        elif key == "layer":
            for layer in value:
                yield from channels(layer)
        elif key == "spec":
            yield from channels(value)


def encodings(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Go through the kinds of marks of a chart with what their channels show."""
    if "mark" in spec:
        mark = spec["mark"]
        yield (mark if isinstance(mark, str) else mark["type"]), spec.get("encoding", {})
    for inner in [*spec.get("layer", []), *([spec["spec"]] if "spec" in spec else [])]:
        yield from encodings(inner)


def check_colours(marks: list[dict[str, Any]], mark: str, encoding: dict[str, Any]) -> None:
    """Check that kinds differ by more than their colour, and that a legend shows the marks' own."""
    colour = encoding.get("color", {})
    if colour.get("type") != "nominal":
        return
    if mark != "bar":
        others = [encoding[name]["field"] for name in ("shape", "strokeDash") if name in encoding]
        assert others == [colour["field"]]
    if "range" in colour.get("scale", {}):
        own = {one[colour["field"]]: one["colour"] for one in marks}  # in the order of the data
        assert list(own.values()) == colour["scale"]["range"]


def outside_data(spec: dict[str, Any]) -> str:
    """Return all of a chart but its data, as text."""
    return json.dumps({key: value for key, value in spec.items() if key != "data"})


def tooltips(spec: dict[str, Any]) -> bool:
    """Whether every mark tells something when a person points at it."""
    if "spec" in spec:
        return tooltips(spec["spec"])
    if "tooltip" in spec.get("encoding", {}):
        return True
    return "layer" in spec and all(tooltips(layer) for layer in spec["layer"])


def check_figure(figure: Figure) -> None:
    """Check titles, fields, tooltips, numbers, table, and that the chart can be drawn."""
    for channel, one in channels(figure.spec):
        if channel in SHOWN and one.get("scale", True) is not None:
            assert one.get("title"), f"{channel} of {figure.name} has no title"
        if "field" in one:
            assert one["field"].isidentifier(), one["field"]
    assert tooltips(figure.spec)
    for mark, encoding in encodings(figure.spec):
        check_colours(values_of(figure), mark, encoding)
    assert figure.title
    assert figure.alt.endswith(".")
    assert "None" not in figure.alt.split()
    assert "nan" not in figure.alt.split()
    assert figure.rows
    assert all(len(row) == len(figure.header) for row in figure.rows)
    assert all(isinstance(cell, str) for row in figure.rows for cell in row)
    text = json.dumps(figure.spec, allow_nan=False)
    fonts = ("labelColor", "titleColor", "background", "font")
    assert not any(f'"{word}"' in text for word in fonts), "the theme has these"
    check_drawing(figure)


def check_drawing(figure: Figure) -> str:
    """Draw a figure; the picture as SVG."""
    vl_convert = pytest.importorskip("vl_convert", reason="pictures need vl-convert-python")
    svg: str = vl_convert.vegalite_to_svg(json.dumps(themed(figure.spec), allow_nan=False))
    assert svg.startswith("<svg")
    assert config()["background"] in svg
    return svg
