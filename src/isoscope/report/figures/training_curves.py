"""Numbers over the steps of a training, with a band over seeds where there are several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dots import finite, first_series, left_words
from isoscope.report.figures.step_lines import step_lines
from isoscope.results.ablated import (
    FACTORS,
    LAST_LAYER,
    MEAN_COSINE,
    UNEMBEDDING,
    VALIDATION,
    is_ablation,
    model_of,
)
from isoscope.results.layered import REVISION, is_of_checkpoint
from isoscope.results.pretrained import DRIFT, LOSS, PERPLEXITY
from isoscope.results.trained import STEP, kind_of, telling_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.figures.dots import Point
    from isoscope.results.result import Result, Row, Table

TELLING = {
    PERPLEXITY: "perplexity on validation",
    LOSS: "training loss (nats a token)",
    "i1_scaled": "I1 at length 1",
    "i1": "I1",
    "mean_cosine": "mean cosine of two vectors",
    "intra_sim": "mean cosine of a word's occurrences (intra_sim)",
    "shift": "length of the mean / mean length",
    "singular_ratio": "first singular value / second",
    "bias_avgnorm": "length of the norm's bias / √d",
    "gain_avgnorm": "length of the norm's gain / √d",
    "average/accuracy": "mean accuracy over tasks",
    DRIFT: "move of the mean output row (cosine, share)",
}
"""Measures that tell most, and what an axis calls them."""

INSTEAD = {"i1": "i1_scaled"}
"""What is not drawn where there is another that says the same without lengths."""

OF_ABLATION = (
    (VALIDATION, PERPLEXITY), (UNEMBEDDING, "i1"), (UNEMBEDDING, "i1_scaled"),
    (LAST_LAYER, MEAN_COSINE),
)  # fmt: skip
WAYS = {
    "cosine_with_enemy": "cosine of the mean's way with −h",
    "common_share_of_step": "common share of a step",
}
MOST_CHARTS = 6
MOST_TOLD = 3
"""Curves that words tell one by one."""

WHOLE = "as it is"


def training_figures(result: Result) -> list[Figure]:
    """Draw the telling measures over steps, a chart each."""
    if is_ablation(result):
        return ablation_figures(result)
    rows = [row for row in result.rows if finite(row.extra.get(STEP)) is not None]
    found: list[Figure] = []
    for model in dict.fromkeys(training_of(row) for row in rows):
        own = followed_parts([row for row in rows if training_of(row) == model])
        measures = {row.measure for row in own if finite(row.value) is not None}
        chosen = [
            name for name in TELLING if name in measures and INSTEAD.get(name) not in measures
        ]
        for measure in chosen[:MOST_CHARTS]:
            of = [row for row in own if row.measure == measure]
            found += curve_figure(model, measure, [curve_point(row) for row in of])
    return [*found, *(one for table in result.tables for one in drift_figure(table))]


def training_of(row: Row) -> str:
    """Return which training a row is about."""
    return row.subject.removesuffix(f"@{row.extra.get(REVISION)}")


def followed_parts(rows: Sequence[Row]) -> list[Row]:
    """Return the rows about parts that tell much, as a profile of a training shows them."""
    if not any(is_of_checkpoint(row) and row.part != str(row.extra[REVISION]) for row in rows):
        return list(rows)
    parts = telling_parts([row for row in rows if is_of_checkpoint(row)])
    return [row for row in rows if (kind_of(row), row.part) in parts]


def curve_point(row: Row) -> Point:
    """Return a mark of a curve: its series is the part of the model, unless that is the step."""
    steps = (str(row.extra.get(REVISION)), f"step{row.extra[STEP]}")
    part = "" if row.part in steps else row.part
    series = ", ".join(filter(None, (part, "" if row.correction == "none" else row.correction)))
    return mark(row, series or WHOLE)


def mark(row: Row, series: str, panel: str = "") -> Point:
    """Return a number at a step, with one deviation over seeds on both sides."""
    value, spread = finite(row.value), finite(row.extra.get("sd"))
    low, high = None, None
    if value is not None and spread is not None:
        low, high = value - spread, value + spread
    return {
        "step": finite(row.extra[STEP]), "value": value, "series": series, "panel": panel,
        "low": low, "high": high,
    }  # fmt: skip


def ablation_figures(result: Result) -> list[Figure]:
    """Draw cells as lines with a band over seeds; many of them in a panel for the first factor."""
    rows = [row for row in result.rows if finite(row.extra.get(STEP)) is not None]
    panelled = len({model_of(row) for row in rows}) > len(first_series(map(model_of, rows)))
    of = f"models by {', '.join(map(str, result.extra.get(FACTORS, {})))}"
    found = []
    for part, measure in OF_ABLATION:
        points = []
        for row in rows:
            if (row.part, row.measure) == (part, measure):
                panel, series = cell_words(row) if panelled else ("", model_of(row))
                points.append(mark(row, series, panel))
        named = "" if part == VALIDATION else part
        found += curve_figure(of, measure, points, named, "model")
    return found


def cell_words(row: Row) -> tuple[str, str]:
    """Return the level of the first factor, and those of the others, of a cell."""
    factors = row.extra.get("factors")
    if not isinstance(factors, dict) or not factors:
        return "", model_of(row)
    (name, level), *others = factors.items()
    return f"{name}: {level}", ", ".join(str(level) for _, level in others) or str(level)


def curve_figure(
    of: str, measure: str, points: Sequence[Point], part: str = "", apart: str = "part"
) -> list[Figure]:
    """Draw one measure; a curve needs two steps."""
    known = [one for one in points if one["value"] is not None]
    if len({one["step"] for one in known}) < 2:
        return []
    series = first_series(one["series"] for one in known)
    drawn = [one for one in known if one["series"] in series]
    label = TELLING.get(measure, measure)
    where = part or (series[0] if len(series) == 1 and series[0] != WHOLE else "")
    title = f"{label[0].upper()}{label[1:]}{f' ({where})' if where else ''} over training: {of}"
    has_band = any(one["low"] is not None for one in drawn)
    left = " Bands are one deviation over seeds." if has_band else ""
    left += left_words(len(known) - len(drawn), "number")
    left += f" {len(points) - len(known):,} undefined." if len(points) > len(known) else ""
    steps = [one["step"] for one in known]
    return [
        Figure(
            file_name("training", of, measure, part),
            title,
            f"{title}, steps {shown(min(steps))} to {shown(max(steps))}. {words(known)}{left}",
            step_lines(
                drawn, series, label, apart, by_power=measure == PERPLEXITY
            ),
            ["of", "step", measure, "from", "to"],
            [
                [
                    curve_of(one), shown(one["step"]), shown(one["value"]),
                    *("" if one[end] is None else shown(one[end]) for end in ("low", "high")),
                ]
                for one in known
            ],
        )
    ]  # fmt: skip


def curve_of(point: Point) -> str:
    """Return what a mark's curve is of."""
    return ", ".join(filter(None, (point["panel"], point["series"])))


def words(points: Sequence[Point]) -> str:
    """Say where curves start and end; of many, between which ends they start and end."""
    curves: dict[str, list[Point]] = {}
    for one in sorted(points, key=lambda point: float(point["step"])):
        curves.setdefault(curve_of(one), []).append(one)
    if len(curves) > MOST_TOLD:
        said = []
        for when, place in (("starts", 0), ("ends", -1)):
            ends = {name: float(several[place]["value"]) for name, several in curves.items()}
            low, high = min(ends, key=ends.__getitem__), max(ends, key=ends.__getitem__)
            said.append(
                f"it {when} between {shown(ends[low])} ({low}) and {shown(ends[high])} ({high})"
            )
        return f"Of {len(curves)} curves, {' and '.join(said)}."
    said = []
    for name, several in curves.items():
        values = [one["value"] for one in several]
        said.append(
            f"{name}: from {shown(values[0])} to {shown(values[-1])} (lowest {shown(min(values))}, "
            f"highest {shown(max(values))})"
        )
    return "; ".join(said) + "."


def drift_figure(table: Table) -> list[Figure]:
    """Draw how the mean row of an output matrix moves, where a training recorded it."""
    if table.measure != DRIFT:
        return []
    points: list[dict[str, Any]] = [
        {"step": finite(row.get("step")), "value": finite(row.get(field)), "series": label,
         "panel": "", "low": None, "high": None}
        for field, label in WAYS.items()
        for row in table.rows
        if finite(row.get("step")) is not None
    ]  # fmt: skip
    return curve_figure(table.subject, DRIFT, points)
