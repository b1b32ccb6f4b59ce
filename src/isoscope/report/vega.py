"""Small pieces of Vega-Lite, the language in which charts are written down.

Charts are plain data: the same data are drawn by a browser and, without one, by vl-convert.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Spec: TypeAlias = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""A name, not an address that anybody asks for."""

HOVERED_LINE: Spec = {"type": "line", "point": {"filled": True, "opacity": 0, "size": 80}}
"""A line whose points cannot be seen, but be hovered over: a line alone tells its first one."""


def chart(values: list[dict[str, Any]], mark: str | Spec, encoding: Spec, **more: Any) -> Spec:
    """Return a chart of one kind of mark."""
    return {
        "$schema": SCHEMA, "data": {"values": values}, "mark": mark, "encoding": encoding, **more,
    }  # fmt: skip


def layered(values: list[dict[str, Any]], layers: list[Spec], **more: Any) -> Spec:
    """Return a chart of several kinds of marks on the same axes."""
    return {"$schema": SCHEMA, "data": {"values": values}, "layer": layers, **more}


def number(field: str, title: str, **more: Any) -> Spec:
    """Return an axis, size or colour of numbers; every axis has a title, with its unit."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def name(field: str, title: str, **more: Any) -> Spec:
    """Return an axis or colour of names, in the order in which the data have them."""
    return {"field": field, "type": "nominal", "title": title, "sort": None, **more}


def logarithmic(**more: Any) -> Spec:
    """Return a logarithmic scale."""
    return {"type": "log", **more}


def told(names: dict[str, str], numbers: dict[str, str] | None = None) -> list[Spec]:
    """Return what hovering tells: fields with their titles, numbers with four digits."""
    return [
        *({"field": field, "title": title, "type": "nominal"} for field, title in names.items()),
        *(
            {"field": field, "title": title, "type": "quantitative", "format": ".4~g"}
            for field, title in (numbers or {}).items()
        ),
    ]
