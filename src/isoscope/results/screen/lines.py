"""Numbers along layers or steps as a line of blocks, with the lowest and the highest named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.numbers import brief
from isoscope.results.screen.blocks import Picture
from isoscope.results.screen.cells import shortened, width
from isoscope.results.screen.pictures import pooled, sparkline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.results.result import Row

LINE_CELLS = 40


def line_of(
    label: str,
    rows: Sequence[Row],
    name: Callable[[Row], str],
    ends: tuple[float, float] | None = None,
) -> Picture:
    """Draw numbers along layers or steps, with the lowest and the highest named.

    Parameters
    ----------
    label : str
        What stands before the line.
    rows : sequence of Row
        The numbers, in order.
    name : callable
        Returns what a row is about: its layer or step.
    ends : pair of float, optional
        The numbers of the lowest and of the highest block, by default those of the rows; lines
        that are compared have the same.
    """
    values = [row.value or 0.0 for row in rows]
    low, high = (choose(rows, key=lambda row: row.value or 0.0) for choose in (min, max))

    def draw(room: int, plain: bool) -> list[str]:
        low_end, high_end = ends or (None, None)
        heights = pooled(values, min(LINE_CELLS, room))
        blocks = sparkline(heights, low_end, high_end, plain=plain)
        said = f"{brief(low)} at {name(low)} to {brief(high)} at {name(high)}"
        line = f"{blocks}  {said}"
        if width(line) <= room:
            return [line]
        lines = (f"lowest {brief(low)} at {name(low)}", f"highest {brief(high)} at {name(high)}")
        return [blocks, *(shortened(end, room) for end in lines)]

    return Picture(label, draw)
