"""What people read of fine-tuning, of a training from scratch, and of an ablation.

Fine-tuning is shown as papers print GLUE: calibrations down, tasks across. Scores have their
deviation over runs and a star where they are significantly better than without calibration; then
come how far they are apart, how even the trained matrices are, and what an epoch takes.

A training from scratch is shown by steps, then how rows of the output matrix move. An ablation is
shown by its models, main effects, and some measures over training.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from isoscope.results.fields import (
    CONSTANT,
    DIFFERENCE,
    MAIN,
    RATIO,
    REMARKS,
    SETTINGS,
    STAR,
    UNCORRECTED,
)
from isoscope.results.numbers import with_interval, with_spread
from isoscope.results.result import Result, Row, Table
from isoscope.results.tables import Grid, grouped, option_notes, pivot, said_once
from isoscope.verbs.train import names
from isoscope.verbs.train.names import MATRIX, MEASURED, OF_ITSELF, PERPLEXITY, SECONDS, model_of


def closing_words(scores: Sequence[Row], differences: Sequence[Row]) -> list[str]:
    """Say which calibrations are significantly better or worse, and which predict nothing."""
    if not differences:
        return []
    shown = {row.measure for row in scores}
    judged = [row for row in differences if row.measure.removesuffix(DIFFERENCE) in shown]
    tested = [row for row in judged if row.extra.get("p") is not None]
    better = where_said([row for row in tested if row.extra.get("star")])
    worse = where_said([row for row in tested if row.extra.get("worse")])
    constant = where_said(
        [row for row in scores if row.extra["constant"] and row.extra["constant"] == row.n]
    )
    if not tested:
        words = ["one run of each says nothing about chance"]
    elif not better:
        words = [f"no calibration is significantly better than {UNCORRECTED} on any task"]
    else:
        words = [f"significantly better than {UNCORRECTED}: {better}"]
    words += [f"significantly worse: {worse}"] if worse else []
    words += [f"the same prediction for everything in every run: {constant}"] if constant else []
    return [f"Verdict: {'; '.join(words)}."]


def where_said(rows: Sequence[Row]) -> str:
    """Name calibrations with the tasks of some rows."""
    return ", ".join(
        f"{name} on {' and '.join(dict.fromkeys(row.part for row in where))}"
        for name, where in grouped(rows, lambda row: row.correction).items()
    )


NOT_A_NUMBER = "NaN"
MATRICES = {
    "head": "the head, labels × dimensions",
    "vocabulary": "the vocabulary's matrix",
    "hidden": "last hidden states of tokens",
}

STAR_NOTE = (
    "*: significantly better than none (p < 0.05, two-sided two-sample t-test with equal variances)"
)
LENGTHS_NOTE = "I1 and I2 change with lengths; I1 at norm 1 does not where only lengths do"
CHANCE_NOTE = (
    "no correction for many comparisons: of 40 without any effect, about one gets a star and one "
    "is significantly worse"
)
CONSTANT_NOTE = "c: every prediction is the same in some runs, as the notes say"
NAN_NOTE = f"{NOT_A_NUMBER}: a correlation with predictions that are all the same is undefined"


def fine_tuning_grids(result: Result) -> list[Grid]:
    """Arrange every model: scores, differences, evenness, time; the sentences stand below."""
    found = []
    for subject, rows in grouped(result.rows, lambda row: row.subject).items():
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
    kinds = {row.part: score_kind(row.measure) for row in scores if row.extra.get(MAIN)}
    return [row for row in scores if score_kind(row.measure) == kinds.get(row.part)]


def score_kind(measure: str) -> str:
    """Return what kind of score it is: rouge for rouge1, accuracy for accuracy-matched."""
    found = re.match(r"[a-z]+", metric_of(measure))
    return found.group() if found else measure


def metric_of(measure: str) -> str:
    """Return the score of a measure, without its task."""
    return measure.removesuffix(DIFFERENCE).rpartition("/")[2]


def as_printed(measure: str, value: float) -> float:
    """Return a score as papers print it: shares as percentages."""
    return value if score_kind(measure) in OF_ITSELF else 100 * value


def score_grid(subject: str, scores: Sequence[Row], differences: Sequence[Row]) -> Grid:
    """Arrange means and deviations."""
    starred = {
        (row.correction, row.measure.removesuffix(DIFFERENCE))
        for row in differences
        if row.extra.get("star")
    }
    table = by_calibration(
        scores, lambda row: mean_cell(row) + STAR * ((row.correction, row.measure) in starred)
    )
    runs = sorted({row.n or 0 for row in scores})
    counted = "–".join(dict.fromkeys((f"{runs[0]}", f"{runs[-1]}"))) if runs else "no"
    scaled = "" if all(score_kind(row.measure) in OF_ITSELF for row in scores) else ", × 100"
    notes = [STAR_NOTE, CHANCE_NOTE] if differences else []
    notes += [CONSTANT_NOTE] if any(row.extra["constant"] for row in scores) else []
    notes += [NAN_NOTE] if any(row.value is None for row in scores) else []
    # How tasks were learned and scored, then what is odd about runs.
    notes += said_once((row.part, row.protocol) for row in scores)
    notes += said_once((f"{row.part} with {row.correction}", row.note) for row in scores)
    title = f"{subject}: fine-tuned, mean ± deviation of {counted} runs{scaled}"
    return Grid(title, *table, notes)


def mean_cell(row: Row) -> str:
    """Return mean and deviation with two digits, as papers do, and whether predictions vary."""
    mark = CONSTANT * bool(row.extra["constant"])
    if row.value is None:
        return NOT_A_NUMBER + mark
    spread = row.extra.get("sd")
    reach = None if spread is None else as_printed(row.measure, spread)
    return with_spread(as_printed(row.measure, row.value), reach, ".2f") + mark


def difference_grid(subject: str, scores: Sequence[Row], differences: Sequence[Row]) -> Grid:
    """Arrange differences to none, with their interval."""
    shown = {row.measure + DIFFERENCE for row in scores}
    rows = [row for row in differences if row.measure in shown]
    notes = sorted({f"{row.correction}: {row.note}" for row in rows if row.note})
    title = f"{subject}: difference to {UNCORRECTED} (95 % interval)"
    return Grid(title, *by_calibration(rows, change_cell), notes)


def change_cell(row: Row) -> str:
    """Return a difference with its interval."""
    return with_interval(
        row,
        lambda value: f"{as_printed(row.measure, value):+.2f}",
        lambda end: f"{as_printed(row.measure, end):.2f}",
        undefined=NOT_A_NUMBER,
    )


def evenness_grids(subject: str, rows: Sequence[Row]) -> list[Grid]:
    """Arrange I1, I2 and lengths, one grid for head, vocabulary and hidden states each."""
    measured = [row for row in rows if row.measure in MEASURED and MATRIX in row.part]
    found: list[Grid] = []
    for matrix, own in grouped(measured, lambda row: row.part.rpartition(MATRIX)[2]).items():
        header, body = pivot(
            own,
            lambda row: f"{row.part.rpartition(MATRIX)[0]}, {row.correction}",
            "measure",
            partial(spread_cell, digits="", undefined="undefined"),
            corner="task and calibration",
            columns=MEASURED,
        )
        title = f"{subject}: evenness after training: {MATRICES.get(matrix, matrix)}"
        found.append(Grid(title, header, body, [] if found else [LENGTHS_NOTE]))
    return found


def spread_cell(row: Row | None, digits: str | None = None, undefined: str = "") -> str:
    """Return the mean of some runs with its deviation."""
    if row is None:
        return ""
    if row.value is None:
        return undefined
    return with_spread(row.value, row.extra.get("sd"), digits_of(row) if digits is None else digits)


def time_grid(subject: str, rows: Sequence[Row]) -> Grid:
    """Arrange seconds of an epoch, and how many times those of none."""
    times = [row for row in rows if row.measure == SECONDS]
    ratios = {
        (row.part, row.correction): row.value for row in rows if row.measure == SECONDS + RATIO
    }

    def cell(row: Row) -> str:
        ratio = ratios.get((row.part, row.correction))
        seconds = with_spread(row.value or 0.0, row.extra.get("sd"), ".1f")
        return seconds + ("" if ratio is None else f" ({ratio:.2f} ×)")

    known = [row for row in times if row.value is not None]
    title = f"{subject}: seconds per epoch (times {UNCORRECTED})"
    return Grid(title, *by_calibration(known, cell))


def by_calibration(
    rows: Sequence[Row], cell: Callable[[Row], str]
) -> tuple[list[str], list[list[str]]]:
    """Arrange rows: calibrations down, scores across, named by task and metric."""
    columns = {
        (row.part, row.measure): row.part
        if row.measure == SECONDS
        else f"{row.part} {metric_of(row.measure)}"
        for row in rows
    }
    return pivot(
        rows,
        "correction",
        lambda row: (row.part, row.measure),
        lambda row: "" if row is None else cell(row),
        corner="calibration",
        columns=columns,
    )


MOVES = {
    "share_against_h": "rows that move against h",
    "share_of_non_targets": "of those that are no target",
    "pair_cosine_of_non_targets": "mean cosine of these moves",
}
WAYS = {
    "length_of_mean": "length of the mean row",
    "drift_of_mean": "way since the start",
    "cosine_with_enemy": "cosine of that way with −h",
    "common_share_of_step": "common share of a step",
}
OF_STEPS = {PERPLEXITY: "perplexity on validation", names.LOSS: "training loss before"}
MOVES_NOTE = (
    "h: mean of what predicts in a batch; SGD: minus the gradient, of the output layer alone or "
    "whole; AdamW: what the optimiser did"
)


def pretraining_grids(result: Result) -> list[Grid]:
    """Arrange perplexities, and where they were recorded, moves of the last recorded step."""
    tables = {table.measure: table for table in result.tables}
    found = [step_grid(result)]
    for measure, arrange in ((names.ENEMIES, move_grid), (names.DRIFT, drift_grid)):
        found += [arrange(tables[measure])] if measure in tables else []
    return found


def step_grid(result: Result) -> Grid:
    """Arrange perplexity and loss by step."""
    header, body = pivot(
        result.rows, "part", "measure", step_cell, corner="step", columns=OF_STEPS,
        lines={row.part: row.part.removeprefix("step") for row in result.rows},
    )  # fmt: skip
    first = result.rows[0]
    seconds = result.extra.get("seconds") or 0.0
    took = [f"{seconds:,.0f} s of training"] if seconds >= 1 else []
    title = f"{first.subject}: trained from scratch"
    return Grid(title, header, body, [first.protocol, *took], [pretraining_verdict(result.rows)])


def step_cell(row: Row | None) -> str:
    """Return a perplexity or a loss."""
    return "" if row is None else number(row.value, ".2f" if row.measure == PERPLEXITY else ".3f")


def pretraining_verdict(rows: Sequence[Row]) -> str:
    """Say in a sentence how far the training came."""
    known = {row.part: row.value for row in rows if row.measure == PERPLEXITY}
    first, *_, last = [rows[0].part, *dict.fromkeys(row.part for row in rows)]
    return (
        f"Verdict: perplexity went from {number(known.get(first), ',.1f')} to "
        f"{number(known.get(last), ',.1f')} by {last.replace('step', 'step ')}."
    )


def move_grid(table: Table) -> Grid:
    """Arrange the last recorded step: updates and bands down."""
    last = max(row["step"] for row in table.rows)
    body = [
        [f"{row['update']}: {row['band']}", *(number(row[name], ".3f") for name in MOVES)]
        for row in table.rows
        if row["step"] == last
    ]
    title = f"{table.subject}: how rows of the output matrix move in step {last}"
    return Grid(title, ["update and tokens", *MOVES.values()], body, [MOVES_NOTE])


def drift_grid(table: Table) -> Grid:
    """Arrange the mean row by step, ten of the recorded ones at most."""
    every = max(1, -(-len(table.rows) // 10))
    shown = [row for k, row in enumerate(table.rows) if (len(table.rows) - 1 - k) % every == 0]
    body = [[str(row["step"]), *(number(row[name], ".4f") for name in WAYS)] for row in shown]
    return Grid(f"{table.subject}: {table.note}", ["step", *WAYS.values()], body)


def number(value: Any, digits: str) -> str:
    """Format a number, or nothing."""
    return "" if value is None else f"{value:{digits}}"


# What tables show, by part and measure; JSON has every layer.
SHOWN = {
    (names.VALIDATION, PERPLEXITY): "perplexity",
    (names.EMBEDDING, "i1"): "I1 of embedding",
    (names.EMBEDDING, "i1_scaled"): "at norm 1, embedding",
    (names.UNEMBEDDING, "i1"): "I1 of unembedding",
    (names.UNEMBEDDING, "i1_scaled"): "at norm 1, unembedding",
    (names.LAST_LAYER, names.MEAN_COSINE): "mean cosine of last layer",
    (names.NON_INPUT, names.EXTREME): "one dimension is extreme in",
    (names.FINAL_NORM, names.GAIN): "last norm, gain",
    (names.FINAL_NORM, names.BIAS): "last norm, bias",
}

# What is shown over training.
FOLLOWED = (
    (names.VALIDATION, PERPLEXITY),
    (names.UNEMBEDDING, "i1"),
    (names.LAST_LAYER, names.MEAN_COSINE),
)

EFFECT_STAR_NOTE = "*: the 95 % interval does not hold 0; no correction for many comparisons"
EFFECT_NOTE = (
    "main effects: differences of means over all other factors and seeds; analysis of variance "
    "with seeds as blocks"
)


def ablation_grids(result: Result) -> list[Grid]:
    """Arrange the last step, main effects, and some measures over training."""
    cells = [row for row in result.rows if row.subject != names.EFFECTS]
    effects = [row for row in result.rows if row.subject == names.EFFECTS]
    end = max(row.extra["step"] for row in cells)
    last = [row for row in cells if row.extra["step"] == end]
    found = [
        cell_grid(f"models after {end:,} steps, mean ± deviation over seeds", last),
        effect_grid(effects),
        *(way_grid(cells, part, measure) for part, measure in FOLLOWED),
    ]
    return [grid for grid in found if grid.rows]


def place_of(row: Row) -> tuple[str, str]:
    """Return part and measure of a row."""
    return row.part, row.measure


def shown_places(rows: Sequence[Row]) -> dict[tuple[str, str], str]:
    """Return what is shown and there, with its words."""
    there = set(map(place_of, rows))
    return {place: words for place, words in SHOWN.items() if place in there}


def cell_grid(title: str, rows: Sequence[Row]) -> Grid:
    """Arrange models down, measures across."""
    columns = shown_places(rows)
    table = pivot(rows, model_of, place_of, spread_cell, corner="model", columns=columns)
    return Grid(title, *table, [rows[0].protocol] if rows else [])


def effect_grid(rows: Sequence[Row]) -> Grid:
    """Arrange measures down, changes across, and say what stands out."""
    lines = shown_places(rows)
    table = pivot(rows, place_of, "correction", effect_cell, corner="measure", lines=lines)
    notes = [EFFECT_STAR_NOTE, EFFECT_NOTE]
    return Grid("main effects (95 % interval)", *table, notes, ablation_verdict(rows))


def effect_cell(row: Row | None) -> str:
    """Return an effect with its interval."""
    if row is None:
        return ""
    digits = digits_of(row)
    star = STAR * (row.low is not None and bool(row.extra.get("excludes_zero")))
    return with_interval(row, f"+{digits}", digits, undefined="") + star


def digits_of(row: Row) -> str:
    """Return how a number of an ablation is written."""
    return ".1f" if row.measure == PERPLEXITY else ".3f"


def ablation_verdict(rows: Sequence[Row]) -> list[str]:
    """Say what every change does to the unembedding's isotropy, and to the last layer's cosines."""
    said = []
    for place, name in (
        ((names.UNEMBEDDING, "i1"), "I1 of the unembedding"),
        ((names.LAST_LAYER, names.MEAN_COSINE), "the mean cosine of the last layer"),
    ):
        here = [row for row in rows if (row.part, row.measure) == place and row.value is not None]
        moved = [row for row in here if row.extra.get("excludes_zero")]
        words = [
            f"{row.correction} {'raises' if (row.value or 0) > 0 else 'lowers'} it by "
            f"{abs(row.value or 0):.3f}"
            for row in moved
        ]
        if here and all(row.low is None for row in here):
            said.append(f"{name}: one run a cell says nothing about chance")
        elif here:
            said.append(f"{name}: {', '.join(words) or 'no significant change'}")
    return [f"Verdict: {'; '.join(said)}."] if said else []


def way_grid(rows: Sequence[Row], part: str, measure: str) -> Grid:
    """Arrange cells down, steps across."""
    here = [row for row in rows if (row.part, row.measure) == (part, measure)]
    steps = {step: f"step {step:,}" for step in sorted({row.extra["step"] for row in here})}
    table = pivot(
        here, model_of, lambda row: row.extra["step"], spread_cell, corner="model", columns=steps
    )
    return Grid(f"{SHOWN[part, measure]} over training", *table)
