"""The distribution of the cosines of random pairs as a line of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoscope.results.numbers import rounded
from isoscope.results.screen.blocks import Picture
from isoscope.results.screen.pictures import Axis, pooled, sparkline

if TYPE_CHECKING:
    from isoscope.results.result import Table

# The structured measure with bins of cosines.
DENSITY = "cosine_density"
MOST_CELLS = 40


def density_picture(table: Table, marks: Sequence[float] = ()) -> Picture:
    """Draw a distribution, with a mark below each of some cosines."""
    width = table.rows[0]["to"] - table.rows[0]["from"]
    first = min([table.rows[0]["from"], *marks])
    last = max([table.rows[-1]["to"], *marks])
    shares = [0.0] * max(round((last - first) / width), 1)
    for row in table.rows:
        shares[min(round((row["from"] - first) / width), len(shares) - 1)] += row["share"]

    def draw(room: int, plain: bool) -> list[str]:
        heights = pooled(shares, min(MOST_CELLS, room - 14))
        blocks = sparkline(heights, 0.0, plain=plain)
        lines = [f"{rounded(first):>5} {blocks} {rounded(last)}"]
        axis = Axis(first, last, len(heights))
        return lines + [f"{'':>5} {' ' * axis.place(mark)}^ {mark:g}" for mark in marks]

    return Picture("cosines of random pairs", draw)
