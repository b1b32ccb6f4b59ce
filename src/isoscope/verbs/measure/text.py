"""Tables of a measurement: a grid per cloud, then what corrections do to a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.tables import Grid, default_grids
from isoscope.verbs.measure.search.text import SEARCH_GRIDS, search_grids

if TYPE_CHECKING:
    from isoscope.results.result import Result


def measurement_grids(result: Result) -> list[Grid]:
    """Arrange the numbers of clouds, then neighbours and shorter vectors where they were asked."""
    kinds = tuple(f"{kind}/" for kind in SEARCH_GRIDS)
    measured = [row for row in result.rows if not row.measure.startswith(kinds)]
    return [*default_grids(replace(result, rows=measured)), *search_grids(result)]
