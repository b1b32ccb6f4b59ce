"""How well a linear probe reads positions from layer to layer, beside reading without vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.interval_lines import interval_lines
from isoscope.report.figures.layer_order import FITTED, in_order, layer_axis, side_of
from isoscope.report.figures.space_colours import series_colours
from isoscope.report.figures.standing_records import interval_of, is_number, of, standing_rows
from isoscope.report.vega import layered, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

ACCURACY = "position_accuracy"
PROBE = "linear probe"
BASELINES = {
    "majority_baseline": "commonest position",
    "token_baseline": "the token alone",
}
FEWEST_LAYERS = 2


def probe_figures(result: Result) -> list[Figure]:
    """Draw the accuracies of each model with several layers."""
    return [
        drawn(subject, rows, baselines_of(result, subject))
        for subject, rows in rows_of_layers(result, ACCURACY).items()
        if len(rows) >= FEWEST_LAYERS
    ]


def rows_of_layers(result: Result, measure: str) -> dict[str, list[Row]]:
    """Return the rows of layers of a measure, or of what is named behind it, by model.

    They are in order of depth. A measure that ends in ``/`` stands for all that begin with it.
    """
    models: dict[str, list[Row]] = {}
    for row in standing_rows(result):
        wanted = row.measure == measure or (
            measure.endswith("/") and row.measure.startswith(measure)
        )
        if wanted and side_of(row.part) is not None:
            models.setdefault(row.subject, []).append(row)
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


def drawn(subject: str, rows: list[Row], baselines: dict[str, dict[str, float]]) -> Figure:
    """Draw the accuracies of one model."""
    layers = {row.part for row in rows}
    baselines = {what: own for what, own in baselines.items() if own.keys() & {"", *layers}}
    colours = series_colours([PROBE, *baselines])
    points: list[dict[str, Any]] = [
        {
            "layer": row.part, "depth": depth, "what": PROBE, "colour": colours[PROBE],
            "value": row.value, **interval_of(row),
        }
        for depth, row in enumerate(rows)
    ]  # fmt: skip
    for what, values in baselines.items():
        for depth, row in enumerate(rows):
            value = values.get(row.part, values.get(""))
            if value is not None:
                points.append(
                    {
                        "layer": row.part, "depth": depth, "what": what,
                        "colour": colours[what], "value": value,
                    }
                )  # fmt: skip
    best = max(rows, key=lambda row: row.value or 0.0)
    said = ", ".join(
        f"{what} at most {shown(max(values.values()))}" for what, values in baselines.items()
    )
    beside = f" Without vectors: {said}." if said else ""
    return Figure(
        file_name("position-probe", subject),
        of("How well positions are read from the layers of", subject),
        f"Accuracy of a linear probe for positions, per layer of {subject}: best "
        f"{written(best)} at {best.part}, {written(rows[-1])} at {rows[-1].part}.{beside}",
        layered(
            points,
            interval_lines(
                points, ("what", "read from"), colours, "accuracy of positions",
                scale={"domain": [0, 1]}, axis={"format": ".0%"},
            ),
            encoding={
                "x": layer_axis(len(rows)),
                "tooltip": told(
                    {"layer": "layer", "what": "read from"},
                    {"value": "accuracy", "low": "low", "high": "high"},
                ),
            },
            **FITTED,
        ),
        ["layer", "read from", "accuracy", "low", "high"],
        [
            [
                point["layer"], point["what"], shown(point["value"]),
                *(shown(point[end]) if end in point else "" for end in ("low", "high")),
            ]
            for point in points
        ],
    )  # fmt: skip


def written(row: Row) -> str:
    """Write an accuracy with its interval."""
    ends = interval_of(row)
    return shown(row.value) + (
        f" (95 % interval {shown(ends['low'])} to {shown(ends['high'])})" if ends else ""
    )
