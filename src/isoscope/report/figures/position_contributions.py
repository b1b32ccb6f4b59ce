"""Which dimensions tell positions from layer to layer, and where outlier dimensions are in this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dimension_points import (
    Entry,
    dimension_marks,
    dimension_spec,
    largest_words,
)
from isoscope.report.figures.interval_lines import interval_lines
from isoscope.report.figures.layer_order import FITTED, layer_axis
from isoscope.report.figures.probes import FEWEST_LAYERS, rows_of_layers
from isoscope.report.figures.space_colours import MOST_SERIES, series_colours
from isoscope.report.figures.standing_records import entries_of, of, standing_tables
from isoscope.report.vega import layered, logarithmic, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row, Table

CONTRIBUTIONS, RANK = "position_contributions", "contribution_rank/"
TICKS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)


def contribution_figures(result: Result) -> list[Figure]:
    """Draw the largest contributions, and the ranks of outlier dimensions, per model."""
    tables = (drawn(table) for table in standing_tables(result, CONTRIBUTIONS))
    return [
        *(figure for figure in tables if figure is not None),
        *(
            ranks_drawn(subject, rows)
            for subject, rows in rows_of_layers(result, RANK).items()
            if len({row.part for row in rows}) >= FEWEST_LAYERS
        ),
    ]


def drawn(table: Table) -> Figure | None:
    """Draw the largest contributions of one model's dimensions; nothing where there are none."""
    entries = [
        Entry(str(row["layer"]), str(row["dimension"]), row["contribution"])
        for row in entries_of(table, ["dimension", "contribution"], ["layer"])
    ]
    if not entries:
        return None
    note = f" Listed are {table.note}." if table.note else ""
    return Figure(
        file_name("position-contributions", table.subject),
        of("Dimensions that tell positions in", table.subject),
        f"Largest contributions of dimensions to reading positions, per layer of {table.subject}. "
        f"The first of each layer: {largest_words(entries)}.{note}",
        dimension_spec(dimension_marks(entries), "contribution, mean of |w·v|"),
        ["layer", "dimension", "contribution"],
        [[one.layer, one.dimension, shown(one.value)] for one in entries],
    )


def ranks_drawn(subject: str, rows: list[Row]) -> Figure:
    """Draw the ranks of one model's outlier dimensions; of many, those with the best ranks."""
    best: dict[str, float] = {}
    for row in rows:
        dimension = row.measure.removeprefix(RANK)
        best[dimension] = min(best.get(dimension, float("inf")), row.value or 0.0)
    dimensions = sorted(best, key=lambda dimension: best[dimension])[:MOST_SERIES]
    more = len(best) - len(dimensions)
    colours = series_colours(dimensions)
    depths = {layer: k for k, layer in enumerate(dict.fromkeys(row.part for row in rows))}
    marks: list[dict[str, Any]] = [
        {
            "layer": row.part, "depth": depths[row.part], "dimension": dimension,
            "colour": colours[dimension], "value": row.value,
        }
        for dimension in dimensions
        for row in rows
        if row.measure.removeprefix(RANK) == dimension
    ]  # fmt: skip
    width = max(row.n or 0 for row in rows)
    among = f" of {width:,}" if width else ""
    last = max(width, *(int(row.value or 0) for row in rows))
    said = "; ".join(f"{dimension}: {shown(best[dimension])}" for dimension in dimensions)
    left = f" {more:,} more dimensions, of lower ranks, are left out." if more else ""
    return Figure(
        file_name("position-contribution-ranks", subject),
        of("Ranks of outlier dimensions in telling positions in", subject),
        "Rank of each outlier dimension by its contribution to reading positions, per layer of "
        f"{subject}. Best ranks{among}: {said}.{left}",
        layered(
            marks,
            interval_lines(
                marks, ("dimension", "outlier dimension"), colours,
                f"rank by contribution{among} (1 is first)",
                scale=logarithmic(reverse=True, domain=[1, max(last, 2)]),
                axis={"format": ",d", "values": [tick for tick in TICKS if tick <= last]},
            ),
            encoding={
                "x": layer_axis(len(depths)),
                "tooltip": told({"dimension": "dimension", "layer": "layer"}, {"value": "rank"}),
            },
            **FITTED,
        ),
        ["layer", "dimension", "rank"],
        [[mark["layer"], mark["dimension"], shown(mark["value"])] for mark in marks],
    )  # fmt: skip
