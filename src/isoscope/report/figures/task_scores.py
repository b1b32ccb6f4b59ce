"""Scores on tasks with their intervals: as they are and corrected, and layer by layer."""

from __future__ import annotations

import re
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
from isoscope.report.figures.score_lines import score_lines
from isoscope.results.layered import is_of_checkpoint
from isoscope.results.render import UNCORRECTED
from isoscope.results.scored import KIND, MAIN, PART_OF_TASK, SCORES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row

DIFFERENCE = "/difference"
UNIT = "unit"
METRICS = (
    "pearson", "spearman", "mean", "accuracy", "f1", "matthews", "auc", "v-measure", "ndcg",
    "recall", "mrr",
)  # fmt: skip
"""Last words of a score's name, without what follows an @."""

AVERAGE = re.compile(r"average(_of_\d+)?$")
OF_RUNS = "runs"
"""Unit of scores after fine-tuning, which have a figure of their own."""

BEST_LAYER = "best layer"
"""Part that studies call so: it stands beside no layer."""

MOST_NAMED = 6
"""Tasks that the words name one by one."""


def task_score_figures(result: Result) -> list[Figure]:
    """Draw scores of every subject: dots where there is one layer, lines where there are more."""
    if result.extra.get(KIND) not in (None, SCORES):
        return []
    rows = [row for row in result.rows if is_score(row)]
    found = []
    for subject in dict.fromkeys(row.subject for row in rows):
        own = [row for row in rows if row.subject == subject]
        layers = [row for row in own if row.part != BEST_LAYER]
        whole = [row for row in own if row.part == BEST_LAYER]
        if len({row.part for row in layers}) < 2:
            whole, layers = [*whole, *layers], []
        for part in dict.fromkeys(row.part for row in whole):
            here = [row for row in whole if row.part == part]
            plain = [row for row in here if not row.measure.endswith(DIFFERENCE)]
            changes = [row for row in here if row.measure.endswith(DIFFERENCE)]
            corrections = first_series(row.correction for row in plain)
            of = " ".join(filter(None, (subject, part)))
            found += score_figure(of, plain, corrections, change=False)
            found += score_figure(of, changes, corrections, change=True)
        lines = [row for row in layers if not row.measure.endswith(DIFFERENCE)]
        found += score_lines(subject, deciding(lines))
    return found


def is_score(row: Row) -> bool:
    """Whether a row is a score on a task, or a difference of two."""
    name = row.measure.removesuffix(DIFFERENCE)
    metric = name.rpartition("/")[2].partition("@")[0]
    scored = ("/" in name and metric in METRICS) or AVERAGE.match(name) is not None
    return (
        scored
        and row.extra.get(UNIT) not in (None, OF_RUNS)
        and PART_OF_TASK not in row.extra
        and not is_of_checkpoint(row)
        and not row.measure.startswith(("neighbours/", "reduce/"))
    )


def task_and_kind(measure: str) -> tuple[str, str]:
    """Split ``sts-b/cosine/spearman`` into the task and what is scored how."""
    task, _, kind = measure.removesuffix(DIFFERENCE).partition("/")
    return task, kind or "mean over sets"


def deciding(rows: Sequence[Row]) -> list[Row]:
    """Return the score that decides of every task, all where none is marked."""
    main = {row.measure for row in rows if row.extra.get(MAIN)}
    tasks = {task_and_kind(measure)[0] for measure in main}
    return [
        row for row in rows if row.measure in main or task_and_kind(row.measure)[0] not in tasks
    ]


def score_figure(
    of: str, rows: Sequence[Row], corrections: Sequence[str], *, change: bool
) -> list[Figure]:
    """Draw the scores of one layer, or how far they lie from those of the space as it is."""
    known = [
        (point(task, row.correction, row.value, row.low, row.high, panel=kind), row)
        for row in rows
        for task, kind in [task_and_kind(row.measure)]
        if finite(row.value) is not None
    ]
    every = [mark for mark, _ in known]
    marks = drawn_marks(every, corrections)
    if not marks:
        return []
    what = f"difference to {UNCORRECTED}" if change else "score"
    kinds = list(dict.fromkeys(p["panel"] for p in marks))
    how = ", with its interval" if any(mark["low"] is not None for mark in marks) else ""
    titles = {
        "label": "task", "series": "correction", "panel": "score",
        "value": what + how,
    }  # fmt: skip
    undefined = len(rows) - len(every)
    said = change_words(every) if change else score_words(every)
    left = left_words(len(every) - len(marks), "number")
    left += f" {undefined:,} undefined." if undefined else ""
    heading = f"What corrections change in the scores of {of}" if change else f"Scores of {of}"
    heading += f": {kinds[0]}" if len(kinds) == 1 else ""
    return [
        Figure(
            file_name("score-differences" if change else "scores", of),
            heading,
            f"{heading}. A dot for every task and correction{how}. {said}{left}",
            dots(marks, corrections, titles, at=0.0 if change else None),
            ["task", "score", "correction", what, "low", "high", "number of", "note"],
            [
                [
                    mark["label"], mark["panel"], mark["series"], shown(mark["value"]),
                    *("" if mark[end] is None else shown(mark[end]) for end in ("low", "high")),
                    f"{shown(row.n)} {row.extra[UNIT]}" if row.n else str(row.extra[UNIT]),
                    row.note,
                ]
                for mark, row in known
            ],
        )
    ]  # fmt: skip


def drawn_marks(points: Sequence[Point], corrections: Sequence[str]) -> list[Point]:
    """Return what fits: corrections with a colour, and of every panel the first tasks."""
    most = max(MOST_LINES // max(len(corrections), 1), 1)
    fitting: dict[str, list[str]] = {}
    for mark in points:
        labels = fitting.setdefault(mark["panel"], [])
        if mark["label"] not in labels and len(labels) < most:
            labels.append(mark["label"])
    return [
        mark
        for mark in points
        if mark["series"] in corrections and mark["label"] in fitting[mark["panel"]]
    ]


def score_words(points: Sequence[Point]) -> str:
    """Say for every task what the space as it is scores, and the best."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for mark in points:
        groups.setdefault((mark["label"], mark["panel"]), []).append(mark)
    said = []
    for (task, kind), several in list(groups.items())[:MOST_NAMED]:
        best = max(several, key=lambda mark: float(mark["value"]))
        plain = [mark for mark in several if mark["series"] == UNCORRECTED]
        start = f"{shown(plain[0]['value'])} as it is, " if plain else ""
        said.append(f"{task} {kind}: {start}at best {shown(best['value'])} with {best['series']}")
    more = len(groups) - MOST_NAMED
    return "; ".join(said) + (f"; and {more} more scores." if more > 0 else ".")


def change_words(points: Sequence[Point]) -> str:
    """Say how many differences lie on one side of zero with their whole interval, and the ends."""
    known = [mark for mark in points if mark["low"] is not None]
    up = sum(mark["low"] > 0 for mark in known)
    down = sum(mark["high"] < 0 for mark in known)
    most = max(points, key=lambda mark: float(mark["value"]))
    least = min(points, key=lambda mark: float(mark["value"]))
    ends = [
        f"{mark['label']} {mark['panel']} with {mark['series']} {with_interval(mark)}"
        for mark in (most, least)
    ]
    counts = (
        f"Of {len(known):,} differences with an interval, {up:,} are above 0 with all of it and "
        f"{down:,} below."
        if known
        else "No difference has an interval."
    )
    return f"{counts} Highest: {ends[0]}; lowest: {ends[1]}."
