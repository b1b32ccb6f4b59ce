"""Shorter vectors for people: every way of making them down, what it costs and keeps across."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.neighboured import REMARKS, figure_cell
from isoscope.results.render import Grid, cell

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

REDUCE = "reduce"
"""Stands before the names of all figures, and holds what else a result says of them."""

BYTES, KEPT, RESCORED = (f"{REDUCE}/{name}" for name in ("bytes", "kept", "kept_rescored"))
DIFFERENCE = "/difference"
FIGURES = {BYTES: "bytes", KEPT: "neighbours kept", RESCORED: "… rescored"}

LEGEND = (
    "neighbours kept: of the exact ones of the vectors as they are; rescored: by these; "
    "±: how far the 95 % interval reaches, over queries of this sample"
)


def is_reduction_row(row: Row) -> bool:
    """Whether a row is about shorter vectors."""
    return row.measure.startswith(REDUCE + "/")


def reduction_grids(result: Result) -> list[Grid]:
    """Arrange reductions and codes down, a grid a cloud."""
    rows = [row for row in result.rows if is_reduction_row(row)]
    remarks = [str(line) for line in result.extra.get(REDUCE, {}).get(REMARKS, [])]
    return [
        reduction_grid([row for row in rows if row.subject == subject], remarks)
        for subject in dict.fromkeys(row.subject for row in rows)
    ]


def reduction_grid(rows: list[Row], remarks: list[str]) -> Grid:
    """Arrange the figures of one cloud; differences of scores are in JSON."""
    shown = [row for row in rows if not row.measure.endswith(DIFFERENCE)]
    cells = {(row.correction, row.part, row.measure): row for row in shown}
    ways = dict.fromkeys((row.correction, row.part) for row in shown)
    scores = [name for name in dict.fromkeys(row.measure for row in shown) if name not in FIGURES]
    body = []
    for correction, code in ways:
        first = cells[correction, code, BYTES]
        label = f"{first.extra['way']} {first.extra['components']}, {code}"
        figures = [figure_cell(cells.get((correction, code, name))) for name in (KEPT, RESCORED)]
        found = [cell(cells.get((correction, code, name))) for name in scores]
        body.append([label, f"{first.value:,.0f}", *figures, *found])
    header = ["vectors", *FIGURES.values(), *(name.removeprefix(REDUCE + "/") for name in scores)]
    notes = [f"{REDUCE}: {rows[0].protocol}", LEGEND]
    notes += list(dict.fromkeys(row.note for row in shown if row.note))
    return Grid(f"{rows[0].subject}: shorter vectors", header, body, notes, remarks)
