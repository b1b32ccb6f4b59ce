"""One picture: a chart as data, with words and a table for those who cannot see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from isoscope.results.numbers import shown
from isoscope.results.result import Result

# Marks of a scatter: more only cover each other, and a page must stay small.
MOST_POINTS = 2_000

# Rows of the table beside a chart; a page has the figures in full elsewhere.
LONGEST_TABLE = 200


# Fields of a mark with the ends of its interval, and their headings in a table.
INTERVAL = {"low": "low", "high": "high"}


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
        The chart in Vega-Lite, without a theme: ``isoscope.results.charts.vega`` gives it one.
    header, rows : list
        The same figures as a table of text.
    """

    name: str
    title: str
    alt: str
    spec: dict[str, Any]
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        file: tuple[str, ...],
        title: str,
        alt: str,
        spec: dict[str, Any],
        marks: Iterable[Mapping[str, Any]],
        columns: Mapping[str, str],
        written: Callable[[Any], str] = shown,
    ) -> Figure:
        """Return a chart with the table of its marks.

        Parameters
        ----------
        file : tuple of str
            What the names of its files are made of.
        title, alt : str
            What is seen, in a line and in sentences.
        spec : dict
            The chart in Vega-Lite.
        marks : iterable of mapping
            The rows of the table, also of what the chart has no room for.
        columns : mapping
            Fields of the marks that the table shows, with their headings.
        written : callable
            Writes a number; text stays as it is.
        """
        rows = [[mark_cell(mark, field, written) for field in columns] for mark in marks]
        return cls(file_name(*file), title, alt, spec, list(columns.values()), rows)


# Makes the figures of one kind that a result has data for; none where it has not.
Maker: TypeAlias = "Callable[[Result], list[Figure]]"


def mark_cell(mark: Mapping[str, Any], field: str, written: Callable[[Any], str]) -> str:
    """Return one field of a mark as text; an interval that is not there is left empty."""
    value = mark.get(field)
    if value is None:
        return "" if field in INTERVAL else shown(None)
    return value if isinstance(value, str) else written(value)


# Bytes of the name of a figure: 255 are allowed with what a temporary file and an ending add.
LONGEST_NAME = 180


def file_name(*words: str) -> str:
    """Return a name for files out of what a figure is of, as long as file systems allow."""
    text = "-".join(word for word in words if word)
    name = re.sub(r"[^\w.]+", "-", text).strip("-.").lower() or "figure"
    return name.encode()[:LONGEST_NAME].decode(errors="ignore")
