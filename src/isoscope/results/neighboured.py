"""What corrections do to a search, for people: figures down, corrections across."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.render import Grid, cell, grouped_notes

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

NEIGHBOURS = "neighbours"
"""Stands before the names of all figures, and holds what else a result says of them."""

REMARKS, DIFFERENCE = "remarks", "difference"

KEPT, HUBNESS = "kept", "hubness"
HNSW, IVF = "hnsw", "ivf"
INT8, INT8_RESCORED = "int8", "int8_rescored"
BINARY, BINARY_RESCORED = "binary", "binary_rescored"
ORIGINAL = "original"
"""Behind a code: what it finds of the neighbours of the vectors as they are."""

WORDS = {
    KEPT: "neighbours kept",
    HUBNESS: "hubness",
    HNSW: "recall of HNSW",
    IVF: "recall of IVF",
    INT8: "recall of int8 codes",
    INT8_RESCORED: "… rescored",
    BINARY: "recall of binary codes",
    BINARY_RESCORED: "… rescored",
    f"{INT8}/{ORIGINAL}": "int8 against none",
    f"{INT8_RESCORED}/{ORIGINAL}": "… rescored",
    f"{BINARY}/{ORIGINAL}": "binary against none",
    f"{BINARY_RESCORED}/{ORIGINAL}": "… rescored",
}
"""Every figure, in the order in which they are shown."""

LEGEND = (
    "recall: share of the exact neighbours in the same space; against none: of those of the "
    "vectors as they are, rescored with these",
    "±: how far the 95 % interval reaches, over queries of this sample",
)


def measure_name(figure: str) -> str:
    """Return what rows call a figure."""
    return f"{NEIGHBOURS}/{figure}"


def is_neighbour_row(row: Row) -> bool:
    """Whether a row is about neighbours in a sample."""
    return row.measure.startswith(NEIGHBOURS + "/")


def neighbour_grids(result: Result) -> list[Grid]:
    """Arrange what corrections do to neighbours, a grid a cloud."""
    rows = [row for row in result.rows if is_neighbour_row(row)]
    found = result.extra.get(NEIGHBOURS, {})
    remarks = [str(line) for line in found.get(REMARKS, [])]
    return [
        neighbour_grid([row for row in rows if row.subject == subject], remarks)
        for subject in dict.fromkeys(row.subject for row in rows)
    ]


def neighbour_grid(rows: list[Row], remarks: list[str]) -> Grid:
    """Arrange the figures of one cloud; differences are in JSON, and behind the remarks."""
    corrections = list(dict.fromkeys(row.correction for row in rows))
    cells = {(row.measure, row.correction): row for row in rows}
    body = [
        [
            words,
            *(figure_cell(cells.get((measure_name(figure), name))) for name in corrections),
        ]
        for figure, words in WORDS.items()
    ]
    shown = [row for row in rows if not row.measure.endswith(DIFFERENCE)]
    notes = [f"{NEIGHBOURS}: {rows[0].protocol}", *LEGEND]
    told = [line.partition(": ")[2] for line in grouped_notes(shown)]
    title = f"{rows[0].subject}: what a search would notice"
    return Grid(title, ["figure", *corrections], body, [*notes, *told], remarks)


def figure_cell(row: Row | None) -> str:
    """Return a figure with how far its interval reaches."""
    if row is None:
        return ""
    if row.value is None:
        return "undefined"
    if "unit" not in row.extra:
        return cell(row)
    reach = 0.0
    if row.low is not None and row.high is not None:
        reach = max(row.high - row.value, row.value - row.low)
    return f"{row.value:.3f}" + (f" ±{reach:.3f}" if reach else "")
