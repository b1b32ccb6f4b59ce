"""What every chart must keep to, and what a picture of it shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from isoscope.results.charts.chart import Figure
from isoscope.results.charts.vega import themed

HOSTILE = "</script><b>'a\"\n[0].b"
"""A name that may only ever be data."""

WITHOUT_HOVER = ("line",)
"""Marks whose points are told by other marks above them."""


def values_of(figure: Figure) -> list[dict[str, Any]]:
    """Return the data of a chart."""
    values: list[dict[str, Any]] = figure.spec["data"]["values"]
    return values


def units(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every part of a chart that has marks."""
    if "mark" in spec:
        yield spec
    for key in ("layer", "concat", "hconcat", "vconcat"):
        for part in spec.get(key, []):
            yield from units(part)
    if "spec" in spec:
        yield from units(spec["spec"])


def kind_of(unit: dict[str, Any]) -> str:
    """Return the kind of a part's marks."""
    mark = unit["mark"]
    return str(mark if isinstance(mark, str) else mark["type"])


def axes_of(figure: Figure, kind: str) -> set[tuple[str, str]]:
    """Return the fields along which marks of a kind are placed."""
    found = [unit["encoding"] for unit in units(figure.spec) if kind_of(unit) == kind]
    return {(one["x"]["field"], one["y"]["field"]) for one in found}


def check_chart(figure: Figure) -> None:
    """Check what holds for every figure."""
    json.dumps(figure.spec, allow_nan=False)
    assert figure.name
    assert figure.title
    assert figure.alt.endswith(".")
    assert figure.rows
    assert all(len(row) == len(figure.header) for row in figure.rows)
    assert all(isinstance(cell, str) for row in figure.rows for cell in row)
    found = list(units(figure.spec))
    assert found
    for unit in found:
        assert kind_of(unit) in WITHOUT_HOVER or unit["encoding"]["tooltip"]
        for channel, given in unit["encoding"].items():
            for one in given if isinstance(given, list) else [given]:
                if "field" in one:
                    assert re.fullmatch("[a-z_]+", one["field"])
                    assert channel in ("text", "x2", "y2") or one["title"]
    if "facet" in figure.spec:
        assert figure.spec["facet"]["title"]
        assert figure.spec["columns"] <= 2
        assert figure.spec["spec"]["width"] <= 240


def picture(figure: Figure) -> str:
    """Return a chart as SVG, light; a dark one must compile as well."""
    vl_convert = pytest.importorskip("vl_convert", reason="pictures need vl-convert-python")
    vl_convert.vegalite_to_svg(json.dumps(themed(figure.spec, "dark")))
    return str(vl_convert.vegalite_to_svg(json.dumps(themed(figure.spec))))


def marks_in(svg: str, kind: str) -> int:
    """Return how many marks of a kind a picture has."""
    return svg.count(f'aria-roledescription="{kind}"')
