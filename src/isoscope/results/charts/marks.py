"""Marks of charts: which rows and tables have what a chart needs, and the colours of series.

A mark is a dictionary. Charts of scores have marks with ``label`` (what stands down), ``series``,
``panel``, ``value``, ``low`` and ``high``, which ``mark_of`` makes of a row; charts of models have
fields of their own and, where a row has an interval, ``low`` and ``high`` from ``interval_of``.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeGuard

from isoscope.results.charts.vega import BEFORE, CATEGORIES, Spec, name
from isoscope.results.numbers import shown
from isoscope.results.result import Result, Row, Table

Mark: TypeAlias = dict[str, Any]

# Series that colours tell apart.
MOST_SERIES = len(CATEGORIES)

# Dots below each other in one panel: labels and offsets stay readable.
MOST_LINES = 60
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4], [4, 1], [1, 4])


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def finite(value: Any) -> float | None:
    """Return a number that can be drawn, else None."""
    return float(value) if is_number(value) else None


def point(label: str, series: str, value: Any, low: Any, high: Any, panel: str = "") -> Mark:
    """Return a mark; an interval needs both of its ends."""
    ends = {"low": finite(low), "high": finite(high)}
    both = ends if None not in ends.values() else {"low": None, "high": None}
    return {"label": label, "series": series, "panel": panel, "value": finite(value), **both}


def mark_of(row: Row, label: str, series: str, panel: str = "") -> Mark:
    """Return a row as a mark with its interval."""
    return point(label, series, row.value, row.low, row.high, panel)


class Marks(list[Mark]):
    """The marks of a chart, in the order in which they are drawn."""

    @property
    def known(self) -> Marks:
        """Those whose value is known."""
        return Marks(mark for mark in self if mark["value"] is not None)

    @property
    def highest(self) -> Mark:
        """The mark with the highest value."""
        return max(self, key=lambda mark: float(mark["value"]))

    @property
    def lowest(self) -> Mark:
        """The mark with the lowest value."""
        return min(self, key=lambda mark: float(mark["value"]))

    @property
    def has_intervals(self) -> bool:
        """Whether any mark has an interval."""
        return any(mark.get("low") is not None for mark in self)

    @property
    def series(self) -> list[str]:
        """The first series, as many as can be told apart."""
        return first_series(mark["series"] for mark in self)

    def names(self, field: str) -> list[str]:
        """Return the names that marks have in a field, in their order."""
        return list(dict.fromkeys(mark[field] for mark in self if field in mark))

    def by(self, *fields: str) -> dict[Any, Marks]:
        """Sort marks by a field, or by several, whose values are a tuple then."""
        groups: dict[Any, Marks] = {}
        for mark in self:
            key = tuple(mark[field] for field in fields)
            groups.setdefault(key if len(fields) > 1 else key[0], Marks()).append(mark)
        return groups

    def only(self, **allowed: Container[Any]) -> Marks:
        """Return the marks whose fields have one of some values."""
        return Marks(
            mark for mark in self if all(mark[field] in some for field, some in allowed.items())
        )

    def coloured(self, field: str, colours: dict[str, str]) -> Marks:
        """Return marks with the colour of their series, sorted by the order of the series.

        Parameters
        ----------
        field : str
            Field of a mark that names its series.
        colours : dict
            The colour of every series, in order.
        """
        order = list(colours)
        marks = sorted(self, key=lambda mark: order.index(mark[field]))
        return Marks({**mark, "colour": colours[mark[field]]} for mark in marks)

    def spanned(self) -> Marks:
        """Return marks with a line or a band for each, of no length where there is no interval.

        Layers that draw all marks agree on the order of series, and so on colours.
        """
        return Marks(
            {
                **mark,
                "start": mark["value"] if mark["low"] is None else mark["low"],
                "end": mark["value"] if mark["high"] is None else mark["high"],
            }
            for mark in self
        )

    def omitted(self, drawn: Sequence[Mark], what: str = "number") -> str:
        """Say how many of the marks are not among those drawn, and how many have no value."""
        undefined = sum(mark["value"] is None for mark in self)
        left = left_words(len(self) - undefined - len(drawn), what)
        return left + (f" {undefined:,} undefined." if undefined else "")


def with_interval(mark: Mark) -> str:
    """Return the number of a mark as text, with its interval behind it."""
    if mark["low"] is None:
        return shown(mark["value"])
    return f"{shown(mark['value'])} ({shown(mark['low'])} to {shown(mark['high'])})"


def first_series(names: Iterable[str]) -> list[str]:
    """Return the series that can be told apart, in order."""
    return list(dict.fromkeys(names))[:MOST_SERIES]


def left_words(left: int, what: str, whose: str = "") -> str:
    """Say what a chart leaves out: nothing where it is whole."""
    more = f" {whose}" if whose else ""
    return f" {left:,} more {what}{'s' if left > 1 else ''}{more} in the table only." * bool(left)


def left_out_words(more: int, things: str) -> str:
    """Say how many things a chart and its table have no room for."""
    return f" {more:,} more {things} are left out." if more > 0 else ""


def series_style(
    every: Sequence[str], marks: Iterable[Mark], title: str, kinds: Sequence[str]
) -> Spec:
    """Return colour, shape or dash of series, each the same in every chart of a result.

    Scales name their series: legends of two scales become one only where these are the same.
    """
    there = {mark["series"] for mark in marks}
    names = [one for one in every if one in there]
    ranges: dict[str, Sequence[Any]] = {
        "color": CATEGORIES, "shape": SHAPES, "strokeDash": DASHES,
    }  # fmt: skip
    places = [list(every).index(one) for one in names]
    # Marks without the dashed outline of their lines, which would blur their shapes.
    legend = {"symbolOpacity": 1, "encode": {"symbols": {"update": {"strokeWidth": {"value": 0}}}}}
    return {
        kind: name(
            "series", title,
            scale={"domain": names, "range": [ranges[kind][place] for place in places]},
            legend=legend if len(names) > 1 and kind != "strokeDash" else None,
        )
        for kind in kinds
    }  # fmt: skip


NONE = "none"

# Fields of rows and tables about checkpoints or effects on a training: other charts have them.
OVER_TRAINING = ("revision", "step", "factor", "factors")


def is_standing(record: Row | Table) -> bool:
    """Whether a row or a table is about a model as it is, not about a step of its training."""
    return not any(name in record.extra for name in OVER_TRAINING)


def standing_rows(result: Result) -> Iterator[Row]:
    """Go through the rows about models as they are that have a number."""
    return (row for row in result.rows if is_standing(row) and is_number(row.value))


def entries_of(table: Table, numbers: Sequence[str], names: Sequence[str] = ()) -> Marks:
    """Return the rows of a table that have all numbers and names which a chart needs."""
    return Marks(
        row
        for row in table.rows
        if all(is_number(row.get(name)) for name in numbers) and all(name in row for name in names)
    )


def standing_tables(result: Result, measure: str) -> list[Table]:
    """Return the tables of one measure about models as they are, without a correction."""
    return [
        table
        for table in result.tables
        if table.measure == measure and table.correction == NONE and is_standing(table)
    ]


def interval_of(row: Row) -> dict[str, float]:
    """Return the ends of a row's interval as fields of a mark; none where it has no interval."""
    if is_number(row.low) and is_number(row.high):
        return {"low": row.low, "high": row.high}
    return {}


def of(*words: str) -> str:
    """Return what a figure is of, for titles and sentences."""
    return " ".join(word for word in words if word)


COLOURS = tuple(colour for colour in CATEGORIES if colour != BEFORE)

# Pixels that a legend may take.
NARROW = 320
LETTER, SYMBOL = 7, 34
MOST_COLUMNS = 4


def chosen_spaces(corrections: Iterable[str], most: int = MOST_SERIES) -> list[str]:
    """Return different corrections that fit into a chart, ``none`` first."""
    return sorted(dict.fromkeys(corrections), key=lambda space: space != NONE)[:most]


def series_colours(series: Sequence[str], grey: str = NONE) -> dict[str, str]:
    """Return a colour for each series, grey for one of them.

    Every mark holds its colour as well: only one channel may go through the scale, or a legend
    would come apart into one for each kind of mark.
    """
    others = iter(COLOURS)
    return {name: BEFORE if name == grey else next(others, BEFORE) for name in series}


def colour_scale(colours: dict[str, str]) -> Spec:
    """Return scale and legend of a colour whose marks come in the order of the series."""
    widest = LETTER * max(len(name) for name in colours) + SYMBOL
    columns = max(1, min(MOST_COLUMNS, NARROW // widest))
    return {"scale": {"range": list(colours.values())}, "legend": {"columns": columns}}


def own_colour() -> Spec:
    """Return the colour that a mark holds as ``colour``."""
    return {"field": "colour", "type": "nominal", "scale": None}
