"""One picture: a chart as data, with words and a table for those who cannot see it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from isoscope.results.result import Result

MOST_POINTS = 2_000
"""Marks of a scatter: more only cover each other, and a page must stay small."""

LONGEST_TABLE = 200
"""Rows of the table beside a chart; a page has the figures in full elsewhere."""


@dataclass(frozen=True)
class Figure:
    """A chart.

    Attributes
    ----------
    name : str
        Name of its files, without an ending; told apart by what it is of.
    title : str
        What is seen, in a line.
    alt : str
        What a person would see, in a sentence or two with its figures.
    spec : dict
        The chart in Vega-Lite, without a theme: ``isoscope.report.theme`` gives it one.
    header, rows : list
        The same figures as a table of text.
    """

    name: str
    title: str
    alt: str
    spec: dict[str, Any]
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


Maker: TypeAlias = "Callable[[Result], list[Figure]]"
"""Makes the figures of one kind that a result has data for; none where it has not."""


def file_name(*words: str) -> str:
    """Return a name for files out of what a figure is of."""
    text = "-".join(word for word in words if word)
    return re.sub(r"[^\w.]+", "-", text).strip("-.").lower() or "figure"


def shown(value: float | int | str | None) -> str:
    """Return a number as a person reads it."""
    if value is None:
        return "undefined"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.4g}"
