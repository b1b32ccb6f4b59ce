"""What calibrations gain and cost: scores, differences to none, time, and how even matrices are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dots import (
    MOST_LINES,
    Point,
    dots,
    finite,
    first_series,
    left_words,
    point,
    with_interval,
)
from isoscope.results.finetuned import (
    MATRICES,
    MATRIX,
    OF_ITSELF,
    SECONDS,
    as_printed,
    kind_of,
    metric_of,
    shown_scores,
)
from isoscope.results.finetuned_words import DIFFERENCE, RATIO
from isoscope.results.render import UNCORRECTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.vega import Spec
    from isoscope.results.result import Result, Row

RUNS = "runs"
EVEN = "i1"
TIMES = f"seconds of an epoch / those of {UNCORRECTED}"
BETTER, WORSE = "significantly better", "significantly worse"
MOST_NAMED = 6


def calibration_figures(result: Result) -> list[Figure]:
    """Draw what every model gained and paid."""
    found = []
    rows = [row for row in result.rows if row.extra.get("unit") == RUNS and "step" not in row.extra]
    for subject in dict.fromkeys(row.subject for row in rows):
        own = [row for row in rows if row.subject == subject]
        calibrations = first_series(row.correction for row in own)
        found += score_figure(subject, own, calibrations)
        found += difference_figure(subject, own, calibrations)
        found += time_figure(subject, own, calibrations)
        found += evenness_figure(subject, own, calibrations)
    return found


def task_label(row: Row) -> str:
    """Return task and score."""
    return f"{row.part} {metric_of(row.measure)}"


def scale_of(row: Row) -> str:
    """Return how a score is counted; papers print shares times 100."""
    kind = kind_of(row.measure)
    return f": {kind}" if kind in OF_ITSELF else " × 100"


def as_shown(row: Row, value: float | None) -> float | None:
    """Return a score as it is printed."""
    number = finite(value)
    return None if number is None else as_printed(row.measure, number)


def score_figure(subject: str, rows: Sequence[Row], every: Sequence[str]) -> list[Figure]:
    """Draw mean scores with one deviation over runs."""
    scores = shown_scores(rows)
    points = [spread_point(row, task_label(row), f"score{scale_of(row)}") for row in scores]
    return figure(
        ("fine-tuned-scores", subject), f"Scores after fine-tuning: {subject}", points, every,
        "mean score", "Means over runs, with one deviation on both sides.", best_words(points),
    )  # fmt: skip


def spread_point(row: Row, label: str, panel: str, *, printed: bool = True) -> Point:
    """Return a mean with its deviation over runs."""
    convert = as_shown if printed else lambda _, value: finite(value)
    value, spread = convert(row, row.value), convert(row, row.extra.get("sd"))
    if value is None or spread is None:
        return point(label, row.correction, value, None, None, panel)
    return point(label, row.correction, value, value - spread, value + spread, panel)


def difference_figure(subject: str, rows: Sequence[Row], every: Sequence[str]) -> list[Figure]:
    """Draw differences to none with their intervals; the words name what is significant."""
    names = {row.measure for row in shown_scores(rows)}
    changes = [
        row
        for row in rows
        if row.measure.endswith(DIFFERENCE) and row.measure.removesuffix(DIFFERENCE) in names
    ]
    points = [
        point(task_label(row), row.correction, as_shown(row, row.value), as_shown(row, row.low),
              as_shown(row, row.high), f"difference to {UNCORRECTED}{scale_of(row)}")
        for row in changes
    ]  # fmt: skip
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
    ratios = [row for row in rows if row.measure == SECONDS + RATIO]
    seconds = {(row.part, row.correction): row.value for row in rows if row.measure == SECONDS}
    points = [point(row.part, row.correction, row.value, row.low, row.high) for row in ratios]
    known = [mark for mark in points if mark["value"] is not None]
    said = ""
    if known:
        most = max(known, key=lambda mark: float(mark["value"]))
        least = min(known, key=lambda mark: float(mark["value"]))
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
    points = []
    for row in rows:
        task, _, matrix = row.part.rpartition(MATRIX)
        if row.measure == EVEN and task:
            mark = spread_point(row, task, MATRICES.get(matrix, matrix), printed=False)
            if mark["low"] is not None:
                mark = {**mark, "low": max(mark["low"], 0.0), "high": min(mark["high"], 1.0)}
            points.append(mark)
    return figure(
        ("calibration-evenness", subject), f"How even after training: {subject}", points, every,
        "I1", "I1, at most 1, of matrices after training, with one deviation over runs.",
        best_words(points), scale={"domain": [0, 1]},
    )  # fmt: skip


def figure(
    files: tuple[str, str],
    title: str,
    points: Sequence[Point],
    every: Sequence[str],
    value: str,
    opening: str,
    said: str,
    at: float | None = None,
    notes: Sequence[str] = (),
    scale: Spec | None = None,
) -> list[Figure]:
    """Draw dots, or nothing where no number is known."""
    known = [mark for mark in points if mark["value"] is not None]
    labels = list(dict.fromkeys(mark["label"] for mark in known))[: MOST_LINES // len(every)]
    drawn = [mark for mark in known if mark["series"] in every and mark["label"] in labels]
    if not drawn:
        return []
    panels = list(dict.fromkeys(mark["panel"] for mark in drawn))
    titles = {
        "label": "task", "series": "calibration", "panel": "of",
        "value": value,
    }  # fmt: skip
    title += f" ({panels[0]})" if len(panels) == 1 and panels[0] else ""
    left = left_words(len(known) - len(drawn), "number")
    left += f" {len(points) - len(known)} undefined." if len(points) > len(known) else ""
    return [
        Figure(
            file_name(*files),
            title,
            f"{title}. {opening} {said}{left}",
            dots(drawn, every, titles, at, scale),
            ["of", "task", "calibration", value, "low", "high", "note"],
            [
                [
                    mark["panel"], mark["label"], mark["series"], shown(mark["value"]),
                    *("" if mark[end] is None else shown(mark[end]) for end in ("low", "high")),
                    notes[place] if notes else "",
                ]
                for place, mark in enumerate(points)
            ],
        )
    ]  # fmt: skip


def best_words(points: Sequence[Point]) -> str:
    """Say for every task what none reaches, and the best."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for mark in points:
        if mark["value"] is not None:
            groups.setdefault((mark["panel"], mark["label"]), []).append(mark)
    said = []
    for (panel, label), several in list(groups.items())[:MOST_NAMED]:
        best = max(several, key=lambda mark: float(mark["value"]))
        plain = [shown(mark["value"]) for mark in several if mark["series"] == UNCORRECTED]
        start = f"{plain[0]} with {UNCORRECTED}, " if plain else ""
        said.append(f"{label}, {panel}: {start}highest {shown(best['value'])} ({best['series']})")
    more = len(groups) - MOST_NAMED
    return "; ".join(said) + (f"; and {more} more." if more > 0 else ".")
