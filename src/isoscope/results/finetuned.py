"""Fine-tuning for people: calibrations down, tasks across, as papers print GLUE.

Scores with their deviation over runs and a star where they are significantly better than without
calibration; how far they are apart; how even the trained matrices are; what an epoch takes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.finetuned_words import (
    DIFFERENCE,
    RATIO,
    closing_words,
    option_notes,
    task_notes,
    with_spread,
)
from isoscope.results.render import REMARKS, UNCORRECTED, Grid
from isoscope.results.scored import KIND, MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isoscope.results.result import Result, Row

FINE_TUNING = "fine-tuning"
SECONDS = "seconds_per_epoch"
SETTINGS = "settings"
"""Field of a result: what decided the runs besides task, calibration and seed."""

STAR, CONSTANT = " *", " c"
NOT_A_NUMBER = "NaN"
MATRIX = ": "
"""Between task and matrix in a part."""

MEASURED = {"i1": "I1", "i2": "I2", "mean_norm": "mean length", "i1_scaled": "I1 at length 1"}
MATRICES = {
    "head": "the head, labels × width",
    "vocabulary": "the vocabulary's matrix",
    "hidden": "last hidden states of tokens",
}
OF_ITSELF = ("bleu", "chrf")
"""Scores that are no shares: they are shown as they are."""

STAR_NOTE = (
    "*: significantly better than none (p < 0.05, two-sided two-sample t-test with equal variances)"
)
LENGTHS_NOTE = "I1 and I2 change with lengths; I1 at length 1 does not where only lengths do"
CHANCE_NOTE = (
    "no correction for many comparisons: of 40 without any effect, about one gets a star and one "
    "is significantly worse"
)
CONSTANT_NOTE = "c: every prediction is the same in some runs, as the notes say"
NAN_NOTE = f"{NOT_A_NUMBER}: a correlation with predictions that are all the same is undefined"


def is_fine_tuning(result: Result) -> bool:
    """Whether a result is about runs of fine-tuning."""
    return result.extra.get(KIND) == FINE_TUNING


def fine_tuning_grids(result: Result) -> list[Grid]:
    """Arrange every model: scores, differences, evenness, time; the sentences stand below."""
    found = []
    for subject in dict.fromkeys(row.subject for row in result.rows):
        rows = [row for row in result.rows if row.subject == subject]
        scores = shown_scores(rows)
        differences = [row for row in rows if row.measure.endswith(DIFFERENCE)]
        several = [
            score_grid(subject, scores, differences),
            difference_grid(subject, scores, differences),
            *evenness_grids(subject, rows),
            time_grid(subject, rows),
        ]
        several = [grid for grid in several if grid.rows]
        if several:
            said = closing_words(scores, differences)
            found += [*several[:-1], replace(several[-1], verdict=said)]
    if not found:
        return []
    last = found[-1]
    notes = [*last.notes, *option_notes(result.extra.get(SETTINGS, {}))]
    remarks = [*last.verdict, *map(str, result.extra.get(REMARKS, []))]
    return [*found[:-1], replace(last, notes=notes, verdict=remarks)]


def shown_scores(rows: Iterable[Row]) -> list[Row]:
    """Return the score that decides for every task, and those of its kind, as of MNLI's parts."""
    scores = [row for row in rows if "constant" in row.extra]
    kinds = {row.part: kind_of(row.measure) for row in scores if row.extra.get(MAIN)}
    return [row for row in scores if kind_of(row.measure) == kinds.get(row.part)]


def kind_of(measure: str) -> str:
    """Return what kind of score it is: rouge for rouge1, accuracy for accuracy-matched."""
    found = re.match(r"[a-z]+", metric_of(measure))
    return found.group() if found else measure


def metric_of(measure: str) -> str:
    """Return the score of a measure, without its task."""
    return measure.removesuffix(DIFFERENCE).rpartition("/")[2]


def as_printed(measure: str, value: float) -> float:
    """Return a score as papers print it: shares as percentages."""
    return value if kind_of(measure) in OF_ITSELF else 100 * value


def score_grid(subject: str, scores: Sequence[Row], differences: Sequence[Row]) -> Grid:
    """Arrange means and deviations."""
    starred = {
        (row.correction, row.measure.removesuffix(DIFFERENCE))
        for row in differences
        if row.extra.get("star")
    }
    rows = by_calibration(
        scores,
        lambda row: mean_cell(row) + STAR * ((row.correction, row.measure) in starred),
    )
    runs = sorted({row.n or 0 for row in scores})
    counted = "–".join(dict.fromkeys((f"{runs[0]}", f"{runs[-1]}"))) if runs else "no"
    scaled = "" if all(kind_of(row.measure) in OF_ITSELF for row in scores) else ", × 100"
    notes = [STAR_NOTE, CHANCE_NOTE] if differences else []
    notes += [CONSTANT_NOTE] if any(row.extra["constant"] for row in scores) else []
    notes += [NAN_NOTE] if any(row.value is None for row in scores) else []
    notes += task_notes(scores)
    title = f"{subject}: fine-tuned, mean ± deviation of {counted} runs{scaled}"
    return Grid(title, ["calibration", *columns(scores)], rows, notes, [])


def mean_cell(row: Row) -> str:
    """Return mean and deviation with two digits, as papers do, and whether predictions vary."""
    if row.value is None:
        return NOT_A_NUMBER + CONSTANT * bool(row.extra["constant"])
    spread = row.extra.get("sd")
    reach = "" if spread is None else f" ± {as_printed(row.measure, spread):.2f}"
    mark = CONSTANT * bool(row.extra["constant"])
    return f"{as_printed(row.measure, row.value):.2f}{reach}{mark}"


def difference_grid(subject: str, scores: Sequence[Row], differences: Sequence[Row]) -> Grid:
    """Arrange differences to none, with their interval."""
    shown = {row.measure + DIFFERENCE for row in scores}
    rows = [row for row in differences if row.measure in shown]
    notes = sorted({f"{row.correction}: {row.note}" for row in rows if row.note})
    title = f"{subject}: difference to {UNCORRECTED} (95 % interval)"
    body = by_calibration(rows, change_cell)
    return Grid(title, ["calibration", *columns(rows)], body, notes, [])


def change_cell(row: Row) -> str:
    """Return a difference with its interval."""
    if row.value is None:
        return NOT_A_NUMBER
    value = f"{as_printed(row.measure, row.value):+.2f}"
    if row.low is None or row.high is None:
        return value
    low, high = (as_printed(row.measure, end) for end in (row.low, row.high))
    return f"{value} ({low:.2f} to {high:.2f})"


def evenness_grids(subject: str, rows: Sequence[Row]) -> list[Grid]:
    """Arrange I1, I2 and lengths, one grid for head, vocabulary and hidden states each."""
    measured = [row for row in rows if row.measure in MEASURED and MATRIX in row.part]
    found: list[Grid] = []
    for matrix in dict.fromkeys(row.part.rpartition(MATRIX)[2] for row in measured):
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for row in measured:
            task, _, name = row.part.rpartition(MATRIX)
            if name == matrix:
                cells.setdefault((task, row.correction), {})[row.measure] = even_cell(row)
        body = [
            [f"{task}, {calibration}", *(values.get(name, "") for name in MEASURED)]
            for (task, calibration), values in cells.items()
        ]
        title = f"{subject}: how even after training: {MATRICES.get(matrix, matrix)}"
        notes = [] if found else [LENGTHS_NOTE]
        header = ["task and calibration", *MEASURED.values()]
        found.append(Grid(title, header, body, notes, []))
    return found


def even_cell(row: Row) -> str:
    """Return a measure of evenness with its deviation."""
    return "undefined" if row.value is None else with_spread(row.value, row.extra.get("sd"))


def time_grid(subject: str, rows: Sequence[Row]) -> Grid:
    """Arrange seconds of an epoch, and how many times those of none."""
    times = [row for row in rows if row.measure == SECONDS]
    ratios = {
        (row.part, row.correction): row.value for row in rows if row.measure == SECONDS + RATIO
    }

    def cell(row: Row) -> str:
        ratio = ratios.get((row.part, row.correction))
        spread = row.extra.get("sd")
        reach = "" if spread is None else f" ± {spread:.1f}"
        return f"{row.value:.1f}{reach}" + ("" if ratio is None else f" ({ratio:.2f} ×)")

    known = [row for row in times if row.value is not None]
    title = f"{subject}: seconds an epoch (times {UNCORRECTED})"
    body = by_calibration(known, cell)
    return Grid(title, ["calibration", *columns(known)], body, [], [])


def by_calibration(rows: Sequence[Row], cell: Callable[[Row], str]) -> list[list[str]]:
    """Arrange rows: calibrations down, scores across."""
    cells = {(row.correction, row.part, row.measure): cell(row) for row in rows}
    across = list(dict.fromkeys((row.part, row.measure) for row in rows))
    return [
        [calibration, *(cells.get((calibration, *place), "") for place in across)]
        for calibration in dict.fromkeys(row.correction for row in rows)
    ]


def columns(rows: Sequence[Row]) -> list[str]:
    """Name the columns of such a table: by task, and by score where there is one."""
    across = dict.fromkeys((row.part, row.measure) for row in rows)
    return [
        part if measure == SECONDS else f"{part} {metric_of(measure)}" for part, measure in across
    ]
