"""What calibrations gain and cost, and numbers over the steps of a training.

Of fine-tuning: scores, differences to none, time, and how even matrices are. Of a training from
scratch, an ablation or a profile of checkpoints: telling measures by step, with a band over seeds
where there are several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoscope.results.charts.chart import INTERVAL, Figure
from isoscope.results.charts.forms import dots, step_lines
from isoscope.results.charts.marks import (
    MOST_LINES,
    Mark,
    Marks,
    finite,
    first_series,
    mark_of,
    point,
    with_interval,
)
from isoscope.results.charts.vega import Spec
from isoscope.results.fields import DIFFERENCE, RATIO, REVISION, STEP, UNCORRECTED, is_of_checkpoint
from isoscope.results.numbers import shown
from isoscope.results.result import Result, Row, Table
from isoscope.results.tables import grouped
from isoscope.verbs.profile.names import part_kind, telling_parts
from isoscope.verbs.train import names
from isoscope.verbs.train.names import PERPLEXITY, model_of
from isoscope.verbs.train.text import MATRICES, as_printed, metric_of, score_kind, shown_scores

RUNS = "runs"
EVEN = "i1"
TIMES = f"seconds of an epoch / those of {UNCORRECTED}"
BETTER, WORSE = "significantly better", "significantly worse"
MOST_NAMED = 6


def calibration_figures(result: Result) -> list[Figure]:
    """Draw what every model gained and paid."""
    found = []
    rows = [row for row in result.rows if row.extra.get("unit") == RUNS and "step" not in row.extra]
    for subject, own in grouped(rows, lambda row: row.subject).items():
        calibrations = first_series(row.correction for row in own)
        for draw in (score_figure, difference_figure, time_figure, evenness_figure):
            found += draw(subject, own, calibrations)
    return found


def task_label(row: Row) -> str:
    """Return task and score."""
    return f"{row.part} {metric_of(row.measure)}"


def scale_of(row: Row) -> str:
    """Return how a score is counted; papers print shares times 100."""
    kind = score_kind(row.measure)
    return f": {kind}" if kind in names.OF_ITSELF else " × 100"


def as_shown(row: Row, value: float | None) -> float | None:
    """Return a score as it is printed."""
    number = finite(value)
    return None if number is None else as_printed(row.measure, number)


def score_figure(subject: str, rows: Sequence[Row], every: Sequence[str]) -> list[Figure]:
    """Draw mean scores with one deviation over runs."""
    scores = shown_scores(rows)
    points = Marks(spread_point(row, task_label(row), f"score{scale_of(row)}") for row in scores)
    return figure(
        ("fine-tuned-scores", subject), f"Scores after fine-tuning: {subject}", points, every,
        "mean score", "Means over runs, with one deviation on both sides.", best_words(points),
    )  # fmt: skip


def spread_point(row: Row, label: str, panel: str, *, printed: bool = True) -> Mark:
    """Return a mean with its deviation over runs."""
    convert = as_shown if printed else lambda _, value: finite(value)
    value, spread = convert(row, row.value), convert(row, row.extra.get("sd"))
    return point(label, row.correction, value, *one_deviation(value, spread), panel)


def one_deviation(value: float | None, spread: float | None) -> tuple[float | None, float | None]:
    """Return the ends of a mean's deviation; none where one of both is not known."""
    if value is None or spread is None:
        return None, None
    return value - spread, value + spread


def difference_figure(subject: str, rows: Sequence[Row], every: Sequence[str]) -> list[Figure]:
    """Draw differences to none with their intervals; the words name what is significant."""
    scores = {row.measure for row in shown_scores(rows)}
    changes = [
        row
        for row in rows
        if row.measure.endswith(DIFFERENCE) and row.measure.removesuffix(DIFFERENCE) in scores
    ]
    points = Marks()
    for row in changes:
        value, low, high = (as_shown(row, number) for number in (row.value, row.low, row.high))
        panel = f"difference to {UNCORRECTED}{scale_of(row)}"
        points.append(point(task_label(row), row.correction, value, low, high, panel))
    said = []
    for words, field in ((BETTER, "star"), (WORSE, "worse")):
        marked = [
            f"{mark['series']} on {mark['label']} {with_interval(mark)}"
            for mark, row in zip(points, changes, strict=True)
            if row.extra.get(field)
        ]
        more = f" and {len(marked) - MOST_NAMED} more" if len(marked) > MOST_NAMED else ""
        said.append(f"{words}: {', '.join(marked[:MOST_NAMED]) or 'nothing'}{more}")
    notes = [
        BETTER if row.extra.get("star") else WORSE if row.extra.get("worse") else ""
        for row in changes
    ]
    return figure(
        ("calibration-gains", subject), f"What calibrations gain: {subject}", points, every,
        f"difference to {UNCORRECTED}", "Differences of mean scores with their 95 % intervals.",
        "; ".join(said) + ".", at=0.0, notes=notes,
    )  # fmt: skip


def time_figure(subject: str, rows: Sequence[Row], every: Sequence[str]) -> list[Figure]:
    """Draw how many times the seconds of none an epoch takes."""
    ratios = [row for row in rows if row.measure == names.SECONDS + RATIO]
    seconds = {
        (row.part, row.correction): row.value for row in rows if row.measure == names.SECONDS
    }
    points = Marks(mark_of(row, row.part, row.correction) for row in ratios)
    known = points.known
    said = ""
    if known:
        most, least = known.highest, known.lowest
        said = (
            f"Most: {most['series']} on {most['label']}, {shown(most['value'])} times; least: "
            f"{least['series']} on {least['label']}, {shown(least['value'])} times."
        )
    notes = [f"{shown(finite(seconds.get((row.part, row.correction))))} s" for row in ratios]
    return figure(
        ("calibration-time", subject), f"What calibrations cost in time: {subject}", points, every,
        TIMES, f"Seconds of an epoch over those of {UNCORRECTED}.", said, at=1.0, notes=notes,
    )  # fmt: skip


def evenness_figure(subject: str, rows: Sequence[Row], every: Sequence[str]) -> list[Figure]:
    """Draw I1 of head, vocabulary and hidden states after training."""
    points = Marks()
    for row in rows:
        task, _, matrix = row.part.rpartition(names.MATRIX)
        if row.measure == EVEN and task:
            mark = spread_point(row, task, MATRICES.get(matrix, matrix), printed=False)
            if mark["low"] is not None:
                mark = {**mark, "low": max(mark["low"], 0.0), "high": min(mark["high"], 1.0)}
            points.append(mark)
    return figure(
        ("calibration-evenness", subject), f"Evenness after training: {subject}", points, every,
        "I1", "I1, at most 1, of matrices after training, with one deviation over runs.",
        best_words(points), scale={"domain": [0, 1]},
    )  # fmt: skip


def figure(
    files: tuple[str, str],
    title: str,
    points: Marks,
    every: Sequence[str],
    value: str,
    opening: str,
    said: str,
    at: float | None = None,
    notes: Sequence[str] = (),
    scale: Spec | None = None,
) -> list[Figure]:
    """Draw dots, or nothing where no number is known."""
    known = points.known
    # A chart has room for so many dots: every label takes one for each series.
    labels = known.names("label")[: MOST_LINES // len(every)]
    drawn = known.only(series=every, label=labels)
    if not drawn:
        return []
    panels = drawn.names("panel")
    titles = {"panel": "of", "label": "task", "series": "calibration", "value": value}
    title += f" ({panels[0]})" if len(panels) == 1 and panels[0] else ""
    notes = notes or [""] * len(points)
    return [
        Figure.of(
            files,
            title,
            f"{title}. {opening} {said}{points.omitted(drawn)}",
            dots(drawn, every, titles, at, scale),
            ({**mark, "note": note} for mark, note in zip(points, notes, strict=True)),
            {**titles, **INTERVAL, "note": "note"},
        )
    ]


def best_words(points: Marks) -> str:
    """Say for every task what none reaches, and the best."""
    groups = points.known.by("panel", "label")
    said = []
    for (panel, label), several in list(groups.items())[:MOST_NAMED]:
        best = several.highest
        plain = [shown(mark["value"]) for mark in several if mark["series"] == UNCORRECTED]
        start = f"{plain[0]} with {UNCORRECTED}, " if plain else ""
        said.append(f"{label}, {panel}: {start}highest {shown(best['value'])} ({best['series']})")
    more = len(groups) - MOST_NAMED
    return "; ".join(said) + (f"; and {more} more." if more > 0 else ".")


# Measures that tell most, and what an axis calls them.
TELLING = {
    PERPLEXITY: "perplexity on validation",
    names.LOSS: "training loss (nats a token)",
    "i1_scaled": "I1 at norm 1",
    "i1": "I1",
    "mean_cosine": "mean cosine of two vectors",
    "intra_sim": "mean cosine of a word's occurrences (intra_sim)",
    "shift": "norm of the mean / mean norm",
    "singular_ratio": "first singular value / second",
    "bias_avgnorm": "bias of the norm / √d",
    "gain_avgnorm": "gain of the norm / √d",
    "average/accuracy": "mean accuracy over tasks",
    names.DRIFT: "move of the mean output row (cosine, share)",
}

# What is not drawn where there is another that says the same without lengths.
INSTEAD = {"i1": "i1_scaled"}

OF_ABLATION = (
    (names.VALIDATION, PERPLEXITY),
    (names.UNEMBEDDING, "i1"),
    (names.UNEMBEDDING, "i1_scaled"),
    (names.LAST_LAYER, names.MEAN_COSINE),
)
WAYS = {
    "cosine_with_enemy": "cosine of the mean's way with −h",
    "common_share_of_step": "common share of a step",
}
MOST_CHARTS = 6

# Curves that words tell one by one.
MOST_TOLD = 3

WHOLE = "as it is"


def training_figures(result: Result) -> list[Figure]:
    """Draw the telling measures over steps, a chart each."""
    if names.is_ablation(result):
        return ablation_figures(result)
    rows = [row for row in result.rows if finite(row.extra.get(STEP)) is not None]
    found: list[Figure] = []
    trainings = grouped(rows, lambda row: row.subject.removesuffix(f"@{row.extra.get(REVISION)}"))
    for model, of_model in trainings.items():
        own = followed_parts(of_model)
        measures = {row.measure for row in own if finite(row.value) is not None}
        chosen = [
            name for name in TELLING if name in measures and INSTEAD.get(name) not in measures
        ]
        for measure in chosen[:MOST_CHARTS]:
            of = [row for row in own if row.measure == measure]
            found += curve_figure(model, measure, Marks(map(curve_point, of)))
    return [*found, *(one for table in result.tables for one in drift_figure(table))]


def followed_parts(rows: Sequence[Row]) -> list[Row]:
    """Return the rows about parts that tell much, as a profile of a training shows them."""
    if not any(is_of_checkpoint(row) and row.part != str(row.extra[REVISION]) for row in rows):
        return list(rows)
    parts = telling_parts([row for row in rows if is_of_checkpoint(row)])
    return [row for row in rows if (part_kind(row), row.part) in parts]


def curve_point(row: Row) -> Mark:
    """Return a mark of a curve: its series is the part of the model, unless that is the step."""
    steps = (str(row.extra.get(REVISION)), f"step{row.extra[STEP]}")
    part = "" if row.part in steps else row.part
    series = ", ".join(filter(None, (part, "" if row.correction == "none" else row.correction)))
    return step_mark(row, series or WHOLE)


def step_mark(row: Row, series: str, panel: str = "") -> Mark:
    """Return a number at a step, with one deviation over seeds on both sides."""
    return step_point(row.extra[STEP], series, row.value, row.extra.get("sd"), panel)


def step_point(step: Any, series: str, value: Any, spread: Any = None, panel: str = "") -> Mark:
    """Return a mark of a curve over steps."""
    low, high = one_deviation(finite(value), finite(spread))
    return {
        "step": finite(step), "value": finite(value), "series": series, "panel": panel, "low": low,
        "high": high,
    }  # fmt: skip


def ablation_figures(result: Result) -> list[Figure]:
    """Draw cells as lines with a band over seeds; many of them in a panel for the first factor."""
    rows = [row for row in result.rows if finite(row.extra.get(STEP)) is not None]
    panelled = len(set(map(model_of, rows))) > len(first_series(map(model_of, rows)))
    of = f"models by {', '.join(map(str, result.extra.get(names.FACTORS, {})))}"
    found = []
    for part, measure in OF_ABLATION:
        points = Marks()
        for row in rows:
            if (row.part, row.measure) == (part, measure):
                panel, series = cell_words(row) if panelled else ("", model_of(row))
                points.append(step_mark(row, series, panel))
        named = "" if part == names.VALIDATION else part
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
    of: str, measure: str, points: Marks, part: str = "", apart: str = "part"
) -> list[Figure]:
    """Draw one measure; a curve needs two steps."""
    known = points.known
    if len({one["step"] for one in known}) < 2:
        return []
    series = known.series
    drawn = known.only(series=series)
    label = TELLING.get(measure, measure)
    where = part or (series[0] if len(series) == 1 and series[0] != WHOLE else "")
    title = f"{label[0].upper()}{label[1:]}{f' ({where})' if where else ''} over training: {of}"
    left = " Bands are one deviation over seeds." if drawn.has_intervals else ""
    left += points.omitted(drawn)
    steps = [one["step"] for one in known]
    return [
        Figure.of(
            ("training", of, measure, part),
            title,
            f"{title}, steps {shown(min(steps))} to {shown(max(steps))}. {words(known)}{left}",
            step_lines(drawn, series, label, apart, by_power=measure == PERPLEXITY),
            ({"curve": curve_of(one), **one} for one in known),
            {"curve": "of", "step": "step", "value": measure, "low": "from", "high": "to"},
        )
    ]


def curve_of(point: Mark) -> str:
    """Return what a mark's curve is of."""
    return ", ".join(filter(None, (point["panel"], point["series"])))


def words(points: Marks) -> str:
    """Say where curves start and end; of many, between which ends they start and end."""
    curves = grouped(sorted(points, key=lambda point: float(point["step"])), curve_of)
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
    if table.measure != names.DRIFT:
        return []
    points = Marks(
        step_point(row.get("step"), label, row.get(field))
        for field, label in WAYS.items()
        for row in table.rows
        if finite(row.get("step")) is not None
    )
    return curve_figure(table.subject, names.DRIFT, points)
