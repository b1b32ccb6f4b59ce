"""The mean vector of every layer: its largest entries, with the dimensions that they are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dimension_points import (
    Entry,
    dimension_marks,
    dimension_spec,
    largest_words,
)
from isoscope.report.figures.standing_records import entries_of, of, standing_tables

if TYPE_CHECKING:
    from isoscope.results.result import Result, Table

MEANS = "mean_vectors"


def mean_vector_figures(result: Result) -> list[Figure]:
    """Draw a chart per model."""
    return [
        figure
        for table in standing_tables(result, MEANS)
        if (figure := drawn(table)) is not None
    ]  # fmt: skip


def drawn(table: Table) -> Figure | None:
    """Draw the entries of one model; nothing where there are none."""
    known = entries_of(table, ["dimension", "mean"], ["layer"])
    entries = [Entry(str(row["layer"]), str(row["dimension"]), row["mean"]) for row in known]
    if not entries:
        return None
    subject = of(table.subject, table.part)
    marks = dimension_marks(entries)
    note = f" Listed are {table.note}." if table.note else ""
    return Figure(
        file_name(MEANS, table.subject, table.part),
        of("Largest entries of the mean vectors of", subject),
        f"Mean entries per layer of {subject}. The dimension with the largest one in each layer: "
        f"{largest_words(entries)}.{note}",
        dimension_spec(marks, "mean entry"),
        ["layer", "dimension", "mean entry"],
        [[one.layer, one.dimension, shown(one.value)] for one in entries],
    )
