"""Tables of a measurement: a grid per cloud, then what corrections do to a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.tables import Grid, default_grids
from isoscope.verbs.measure.search.names import is_neighbour_row, is_reduction_row
from isoscope.verbs.measure.search.text import neighbour_grids, reduction_grids

if TYPE_CHECKING:
    from isoscope.results.result import Result


def measurement_grids(result: Result) -> list[Grid]:
    """Arrange the numbers of clouds, then neighbours and shorter vectors where they were asked."""
    measured = replace(
        result,
        rows=[row for row in result.rows if not (is_neighbour_row(row) or is_reduction_row(row))],
    )
    return [*default_grids(measured), *neighbour_grids(result), *reduction_grids(result)]
