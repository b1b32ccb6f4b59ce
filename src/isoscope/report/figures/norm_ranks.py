"""Ranks of outlier dimensions in the gains and biases of norms, as maps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.layer_order import FITTED
from isoscope.report.figures.norm_weights import FEWEST_NORMS, norm_axis, with_places
from isoscope.report.figures.standing_records import (
    entries_of,
    of,
    standing_rows,
    standing_tables,
)
from isoscope.report.vega import chart, logarithmic, name, number, told

if TYPE_CHECKING:
    from isoscope.report.vega import Spec
    from isoscope.results.result import Result

RANKS, RANK = "outlier_ranks_in_norms", "rank"
KINDS = {"gain": "gains", "bias": "biases"}
STEP = 22
MOST_DIMENSIONS = 16


def norm_rank_figures(result: Result) -> list[Figure]:
    """Draw a map of gains and one of biases for each model whose outliers are ranked."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for table in standing_tables(result, RANKS):
        for entry in entries_of(table, ["dimension", "rank"], ["norm", "of"]):
            marks = groups.setdefault((table.subject, str(entry["of"])), [])
            norm, dimension = str(entry["norm"]), str(entry["dimension"])
            marks.append({"norm": norm, "dimension": dimension, "rank": entry["rank"]})
    for row in standing_rows(result):
        parts = row.measure.split("/")  # such as rank/first gain/557, of a numbered layer
        if parts[0] == RANK and len(parts) == 3:
            which, _, kind = parts[1].partition(" ")
            marks = groups.setdefault((row.subject, kind), [])
            norm = f"{row.part}, {which}"
            marks.append({"norm": norm, "dimension": parts[2], "rank": row.value})
    return [
        drawn(subject, kind, marks)
        for (subject, kind), marks in groups.items()
        if kind in KINDS and len({mark["norm"] for mark in marks}) >= FEWEST_NORMS
    ]


def drawn(subject: str, kind: str, marks: list[dict[str, Any]]) -> Figure:
    """Draw which ranks dimensions have in the gains, or in the biases, of one model."""
    every = list(dict.fromkeys(mark["dimension"] for mark in marks))
    dimensions = every[:MOST_DIMENSIONS]
    more = len(every) - len(dimensions)
    marks = with_places([mark for mark in marks if mark["dimension"] in dimensions])
    marks.sort(key=lambda mark: (dimensions.index(mark["dimension"]), mark["depth"]))
    norms = len({mark["norm"] for mark in marks})
    left = f" {more:,} more dimensions are left out." if more else ""
    return Figure(
        file_name("norm-ranks", kind, subject),
        of(f"Ranks of outlier dimensions in the {KINDS[kind]} of the norms of", subject),
        f"Map of {len(dimensions)} outlier dimensions by {norms} norms of {subject}: the rank of "
        f"the dimension among the {KINDS[kind]}, 1 being the largest. {first_words(marks, norms)}"
        f"{left}",
        spec_of(marks, kind, len(dimensions)),
        ["dimension", "norm", f"rank among the {KINDS[kind]}"],
        [[mark["dimension"], mark["norm"], shown(mark["rank"])] for mark in marks],
    )


def first_words(marks: list[dict[str, Any]], norms: int) -> str:
    """Name the dimension that is the first of most norms."""
    first = Counter(mark["dimension"] for mark in marks if mark["rank"] == 1)
    if not first:
        return "No dimension is the first of any norm."
    dimension, times = first.most_common(1)[0]
    return f"Dimension {dimension} is the first of {times} of {norms} norms."


def spec_of(marks: list[dict[str, Any]], kind: str, dimensions: int) -> Spec:
    """Write the map: the first ranks are bright."""
    return chart(
        marks,
        {"type": "rect"},
        {
            "x": norm_axis(marks),
            "y": name("dimension", "outlier dimension"),
            "color": number(
                "rank", f"rank among the {KINDS[kind]} (1 is the largest)",
                scale=logarithmic(reverse=True),
                legend={"gradientLength": 240, "format": ",d", "titleLimit": 300},
            ),
            "tooltip": told({"dimension": "dimension", "norm": "norm"}, {"rank": "rank"}),
        },
        height=STEP * dimensions,
        **FITTED,
    )  # fmt: skip
