"""Small pictures in a line of text: blocks of different height, bars, intervals on an axis.

Every picture is drawn in block characters or, with ``plain``, in ASCII.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

HEIGHTS, PLAIN_HEIGHTS = "▁▂▃▄▅▆▇█", "_.:-=+*#"
EIGHTHS = " ▏▎▍▌▋▊▉"
FULL, PLAIN_FULL = "█", "#"
UNKNOWN = " "


def sparkline(
    values: Sequence[float | None],
    low: float | None = None,
    high: float | None = None,
    *,
    plain: bool = False,
) -> str:
    """Draw a block per value, the lowest for ``low`` and the highest for ``high``.

    Examples
    --------
    >>> sparkline([0.0, 0.5, 1.0])
    '▁▅█'
    """
    heights = PLAIN_HEIGHTS if plain else HEIGHTS
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return UNKNOWN * len(values)
    bottom = min(known) if low is None else low
    top = max(known) if high is None else high
    span = top - bottom

    def block(value: float | None) -> str:
        if value is None or not math.isfinite(value):
            return UNKNOWN
        share = 0.0 if span <= 0 else min(max((value - bottom) / span, 0.0), 1.0)
        return heights[round(share * (len(heights) - 1))]

    return "".join(map(block, values))


def bar(value: float | None, highest: float, cells: int, *, plain: bool = False) -> str:
    """Draw a bar from 0 whose length goes with a value; ``highest`` fills all cells.

    Examples
    --------
    >>> bar(0.5, 1.0, 4)
    '██'
    """
    if value is None or not math.isfinite(value) or highest <= 0:
        return ""
    share = min(max(value / highest, 0.0), 1.0)
    if plain:
        return PLAIN_FULL * round(share * cells)
    eighths = round(share * cells * 8)
    full, rest = divmod(eighths, 8)
    return FULL * full + (EIGHTHS[rest] if rest else "")


def pooled(values: Sequence[float], count: int) -> list[float]:
    """Return the means of ``count`` runs of values, as many in each as possible."""
    if len(values) <= count:
        return list(values)
    edges = [round(k * len(values) / count) for k in range(count + 1)]
    return [sum(values[start:end]) / (end - start) for start, end in pairwise(edges)]


class Axis:
    """A line of cells for numbers from ``low`` to ``high``.

    Parameters
    ----------
    low, high : float
        The numbers of the first and of the last cell.
    cells : int
        Number of cells.
    """

    def __init__(self, low: float, high: float, cells: int) -> None:
        self.low, self.high = low, max(high, low + 1e-12)
        self.cells = cells

    def place(self, value: float) -> int:
        """Return the cell of a number; numbers beyond an end have the cell of that end."""
        share = (value - self.low) / (self.high - self.low)
        return min(max(round(share * (self.cells - 1)), 0), self.cells - 1)

    def interval(
        self, value: float | None, low: float | None, high: float | None, mark: float | None = None
    ) -> str:
        """Draw an interval with its value, and a line at ``mark``.

        Examples
        --------
        >>> Axis(0.0, 1.0, 11).interval(0.7, 0.5, 0.9, mark=0.0)
        '│    ├─●─┤ '
        """
        drawn = [" "] * self.cells
        if mark is not None and self.low <= mark <= self.high:
            drawn[self.place(mark)] = "│"
        if value is None:
            return "".join(drawn)
        if low is not None and high is not None:
            first, last = self.place(low), self.place(high)
            drawn[first : last + 1] = "─" * (last - first + 1)
            drawn[first], drawn[last] = "├", "┤"
        drawn[self.place(value)] = "●"
        return "".join(drawn)

    def ticks(self, values: Sequence[float], digits: str) -> str:
        """Write numbers above their cells; one that would touch another is left out."""
        line = ""
        for value in values:
            text = f"{value:{digits}}".replace("-", "−")
            start = max(self.place(value) - (len(text) - 1) // 2, 0)
            if start >= len(line) + bool(line) and start + len(text) <= self.cells + 2:
                line += " " * (start - len(line)) + text
        return line


def round_steps(low: float, high: float, most: int) -> list[float]:
    """Return round numbers between two ends, at most so many."""
    span = high - low
    if span <= 0 or not math.isfinite(span):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * k for k in (1, 2, 5, 10, 20, 50) if span / (power * k) <= most - 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]
