"""Forest plots: values with their intervals on one axis, a line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isoscope.results.screen.blocks import Picture
from isoscope.results.screen.cells import padded, shortened, to_ascii, width
from isoscope.results.screen.pictures import Axis, round_steps

MOST_TICKS, FEWEST_CELLS, MOST_CELLS = 5, 16, 50


@dataclass(frozen=True)
class Entry:
    """One line of a forest plot: a value, the ends of its interval, and words about it."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    words: str = ""


def forest(entries: Sequence[Entry], *, mark: float | None = 0.0, digits: str = "+.2f") -> Picture:
    """Return a picture of values with their intervals.

    Parameters
    ----------
    entries : sequence of Entry
        The lines.
    mark : float, optional
        Where a vertical line stands, such as at no difference.
    digits : str
        How values are written behind their intervals.
    """
    return Picture("", lambda room, plain: lines_of(entries, room, plain, mark, digits))


def lines_of(
    entries: Sequence[Entry], room: int, plain: bool, mark: float | None, digits: str
) -> list[str]:
    """Draw the axis and a line for every entry."""
    known = [
        end for one in entries for end in (one.value, one.low, one.high) if end is not None
    ] + ([] if mark is None else [mark])
    if not known:
        return []
    dots = "..." if plain else "…"
    values = [written(one.value, digits) for one in entries]
    words = [to_ascii(one.words) if plain else one.words for one in entries]
    label_cells = min(max(width(one.label) for one in entries), 2 * room // 5)
    behind = 2 + max(map(width, values)) + (2 + max(map(width, words)) if any(words) else 0)
    cells = min(max(room - label_cells - 2 - behind, FEWEST_CELLS), MOST_CELLS)
    axis = Axis(min(known), max(known), cells)
    ticks = round_steps(axis.low, axis.high, MOST_TICKS)
    found = [" " * (label_cells + 2) + axis.ticks(ticks, tick_digits(ticks))]
    for one, value, about in zip(entries, values, words, strict=True):
        label = padded(shortened(one.label, label_cells, dots), label_cells)
        drawn = axis.interval(one.value, one.low, one.high, mark)
        text = padded(value, max(map(width, values)), right=True)
        line = f"{label}  {drawn}  {text}  {about}".rstrip()
        found.append(shortened(line, room, dots))
    return found


def written(value: float | None, digits: str) -> str:
    """Return a value with a minus sign that is as wide as a plus sign."""
    return "–" if value is None else f"{value:{digits}}".replace("-", "−")


def tick_digits(ticks: Sequence[float]) -> str:
    """Return how ticks are written, with no more digits than it takes to tell them apart."""
    for digits in range(5):
        # Read again as numbers: "-0" is no other tick than "0".
        if len({float(f"{tick:.{digits}f}") for tick in ticks}) == len(ticks):
            return f".{digits}f"
    return ".2g"
