"""Charts of positions from layer to layer.

- How well a linear probe reads positions, beside what is possible without vectors.
- Which dimensions contribute to this, and the ranks of outlier dimensions among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.models.layer_names import in_order, side_of_layer
from isoscope.results.charts.chart import INTERVAL, Figure
from isoscope.results.charts.forms import interval_lines
from isoscope.results.charts.layer_axis import layer_axis
from isoscope.results.charts.marks import (
    MOST_SERIES,
    Marks,
    interval_of,
    is_number,
    left_out_words,
    of,
    series_colours,
    standing_rows,
)
from isoscope.results.charts.vega import logarithmic, tooltip
from isoscope.results.numbers import shown
from isoscope.results.tables import grouped
from isoscope.verbs.explain.charts.dimensions import dimension_figures
from isoscope.verbs.explain.names import ACCURACY, BY_TOKEN, MAJORITY, RANK

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row, Table


PROBE = "linear probe"
BASELINES = {MAJORITY: "commonest position", BY_TOKEN: "the token alone"}
FEWEST_LAYERS = 2


def probe_figures(result: Result) -> list[Figure]:
    """Draw the accuracies of each model with several layers."""
    return [
        draw_probes(subject, rows, baselines_of(result, subject))
        for subject, rows in rows_of_layers(result, ACCURACY).items()
        if len(rows) >= FEWEST_LAYERS
    ]


def rows_of_layers(result: Result, measure: str) -> dict[str, list[Row]]:
    """Return the rows of layers of a measure, or of what is named behind it, by model.

    They are in order of depth. A measure that ends in ``/`` stands for all that begin with it.
    """
    wanted = (
        row
        for row in standing_rows(result)
        if (row.measure == measure or (measure.endswith("/") and row.measure.startswith(measure)))
        and side_of_layer(row.part) is not None
    )
    models = grouped(wanted, lambda row: row.subject)
    for rows in models.values():
        order = in_order(row.part for row in rows)
        rows.sort(key=lambda row: order.index(row.part))
    return models


def baselines_of(result: Result, subject: str) -> dict[str, dict[str, float]]:
    """Return the baselines of a model by layer; those of no layer are for all."""
    found: dict[str, dict[str, float]] = {}
    for row in standing_rows(result):
        if row.measure in BASELINES and row.subject == subject and is_number(row.value):
            found.setdefault(BASELINES[row.measure], {})[row.part] = row.value
    return found


def draw_probes(subject: str, rows: list[Row], baselines: dict[str, dict[str, float]]) -> Figure:
    """Draw the accuracies of one model."""
    layers = {row.part for row in rows}
    baselines = {what: own for what, own in baselines.items() if own.keys() & {"", *layers}}
    colours = series_colours([PROBE, *baselines])
    points = Marks(
        {"layer": row.part, "depth": depth, "what": PROBE, "value": row.value, **interval_of(row)}
        for depth, row in enumerate(rows)
    )
    points += [
        {"layer": row.part, "depth": depth, "what": what, "value": value}
        for what, values in baselines.items()
        for depth, row in enumerate(rows)
        if (value := values.get(row.part, values.get(""))) is not None
    ]
    best = max(rows, key=lambda row: row.value or 0.0)
    said = ", ".join(
        f"{what} at most {shown(max(values.values()))}" for what, values in baselines.items()
    )
    beside = f" Without vectors: {said}." if said else ""
    return Figure.of(
        ("position-probe", subject),
        of("How well positions are read from the layers of", subject),
        f"Accuracy of a linear probe for positions, per layer of {subject}: best "
        f"{written(best)} at {best.part}, {written(rows[-1])} at {rows[-1].part}.{beside}",
        interval_lines(
            points.coloured("what", colours), ("what", "read from"), colours,
            "accuracy of positions", layer_axis(len(rows)),
            tooltip({"layer": "layer", "what": "read from"}, {"value": "accuracy", **INTERVAL}),
            scale={"domain": [0, 1]}, axis={"format": ".0%"},
        ),
        points,
        {"layer": "layer", "what": "read from", "value": "accuracy", **INTERVAL},
    )  # fmt: skip


def written(row: Row) -> str:
    """Write an accuracy with its interval."""
    ends = interval_of(row)
    return shown(row.value) + (
        f" (95 % interval {shown(ends['low'])} to {shown(ends['high'])})" if ends else ""
    )


CONTRIBUTIONS, RANKS = "position_contributions", f"{RANK}/"
TICKS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)


def contribution_figures(result: Result) -> list[Figure]:
    """Draw the largest contributions, and the ranks of outlier dimensions, per model."""
    return [
        *dimension_figures(
            result, CONTRIBUTIONS, "contribution", "contribution, mean of |w·v|", contribution_words
        ),
        *(
            ranks_drawn(subject, rows)
            for subject, rows in rows_of_layers(result, RANKS).items()
            if len({row.part for row in rows}) >= FEWEST_LAYERS
        ),
    ]


def contribution_words(table: Table) -> tuple[tuple[str, ...], str, str]:
    """Return name, title and sentence of a figure of contributions."""
    return (
        ("position-contributions", table.subject),
        of("Dimensions that tell positions in", table.subject),
        f"Largest contributions of dimensions to reading positions, per layer of {table.subject}. "
        "The first of each layer:",
    )


def ranks_drawn(subject: str, rows: list[Row]) -> Figure:
    """Draw the ranks of one model's outlier dimensions; of many, those with the best ranks."""
    by_dimension = grouped(rows, lambda row: row.measure.removeprefix(RANKS))
    best = {
        dimension: min(row.value or 0.0 for row in own) for dimension, own in by_dimension.items()
    }
    dimensions = sorted(best, key=lambda dimension: best[dimension])[:MOST_SERIES]
    colours = series_colours(dimensions)
    depths = {layer: k for k, layer in enumerate(dict.fromkeys(row.part for row in rows))}
    marks = Marks(
        {"layer": row.part, "depth": depths[row.part], "dimension": dimension, "value": row.value}
        for dimension in dimensions
        for row in by_dimension[dimension]
    )
    width = max(row.n or 0 for row in rows)
    among = f" of {width:,}" if width else ""
    last = max(width, *(int(row.value or 0) for row in rows))
    said = "; ".join(f"{dimension}: {shown(best[dimension])}" for dimension in dimensions)
    left = left_out_words(len(best) - len(dimensions), "dimensions, of lower ranks,")
    return Figure.of(
        ("position-contribution-ranks", subject),
        of("Ranks of outlier dimensions in telling positions in", subject),
        "Rank of each outlier dimension by its contribution to reading positions, per layer of "
        f"{subject}. Best ranks{among}: {said}.{left}",
        interval_lines(
            marks.coloured("dimension", colours), ("dimension", "outlier dimension"), colours,
            f"rank by contribution{among} (1 is first)", layer_axis(len(depths)),
            tooltip({"dimension": "dimension", "layer": "layer"}, {"value": "rank"}),
            scale=logarithmic(reverse=True, domain=[1, max(last, 2)]),
            axis={"format": ",d", "values": [tick for tick in TICKS if tick <= last]},
        ),
        marks,
        {"layer": "layer", "dimension": "dimension", "value": "rank"},
    )  # fmt: skip
