"""Colours of series in turn, and legends that fit a narrow page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.report.figures.standing_records import NONE
from isoscope.report.theme import BEFORE, CATEGORIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.report.vega import Spec

MOST_SERIES = 7
"""Lines or kinds of dots that can be told apart: as many as there are colours."""

COLOURS = tuple(colour for colour in CATEGORIES if colour != BEFORE)
NARROW = 320
"""Pixels that a legend may take."""
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


def listed(colours: dict[str, str]) -> Spec:
    """Return scale and legend of a colour whose marks come in the order of the series."""
    widest = LETTER * max(len(name) for name in colours) + SYMBOL
    columns = max(1, min(MOST_COLUMNS, NARROW // widest))
    return {"scale": {"range": list(colours.values())}, "legend": {"columns": columns}}


def own_colour() -> Spec:
    """Return the colour that a mark holds as ``colour``."""
    return {"field": "colour", "type": "nominal", "scale": None}
