"""Profiles over a training for people: steps down, measures across, for telling parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoscope.measures.registry import counted
from isoscope.results.layered import (
    OTHER_TOKENS,
    PARTS,
    REVISION,
    columns_of,
    heading,
    is_of_checkpoint,
    left_out_notes,
    short,
)
from isoscope.results.render import LENGTH_LEGEND, Grid, length_dependent, verdict_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row

MODEL, STEP = "model", "step"
"""Fields of rows, tables and verdicts about a checkpoint, beside its revision."""

DUPLICATE_OF = "duplicate_of"
"""Field of a checkpoint that has the weights of another: the revision of that one."""

CHECKPOINTS = "checkpoints"
"""Table with all checkpoints of a training; its note is the list of steps."""

LAYER, MATRIX, NORM = "layer", "matrix", "norm"
TOKEN_MATRIX, FINAL_NORM = "embedding matrix", "final norm"


def trained_grids(result: Result) -> list[Grid]:
    """Arrange what is about checkpoints: a grid per model and part that tells much."""
    models: dict[str, list[Row]] = {}
    for row in result.rows:
        if is_of_checkpoint(row):
            models.setdefault(str(row.extra.get(MODEL)), []).append(row)
    found = []
    for model, rows in models.items():
        parts = telling_parts(rows)
        for kind, part in parts:
            last = (kind, part) == parts[-1]
            found.append(trained_grid(result, model, part, part_rows(rows, kind, part)))
            if last:
                found[-1].notes.extend(training_notes(result, model, rows))
    return found


def trained_grid(result: Result, model: str, part: str, rows: Sequence[Row]) -> Grid:
    """Arrange the checkpoints of one model and part."""
    columns = columns_of(rows)
    cells = {(row.subject, row.measure, row.correction): row for row in rows}
    firsts = {row.subject: row for row in reversed(rows)}
    subjects = dict.fromkeys(row.subject for row in rows)
    steps = [firsts[subject].extra.get(STEP) for subject in subjects]
    unclear = len(set(steps)) < len(steps)
    body = []
    for subject in subjects:
        first = firsts[subject]
        name = str(first.extra[REVISION]) if unclear else step_name(first).removeprefix("step ")
        body.append([name, *(short(cells.get((subject, *column))) for column in columns)])
    protocols = dict.fromkeys(row.protocol.split(";")[0] for row in rows if row.protocol)
    about = next(iter(protocols)) if len(protocols) == 1 else counted(len(subjects), "checkpoint")
    notes = [LENGTH_LEGEND] if any(length_dependent(name) for name, _ in columns) else []
    header = [STEP, *(heading(*column) for column in columns)]
    title = f"{model}, {part}: {about}"
    return Grid(title, header, body, notes, verdict_lines(result, model, part))


def training_notes(result: Result, model: str, rows: Sequence[Row]) -> list[str]:
    """Say which steps there are, which are the same, and where the rest of the numbers is."""
    lists = [t.note for t in result.tables if (t.subject, t.measure) == (model, CHECKPOINTS)]
    same = [
        f"{row.extra[REVISION]} has the weights of {row.extra[DUPLICATE_OF]}: no numbers of its own"
        for row in rows
        if DUPLICATE_OF in row.extra
    ]
    return [*lists, *same, *left_out_notes(result), "the other parts are in the JSON"]


def telling_parts(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return kind and name of the parts to follow.

    Embedding and unembedding matrix, the final norm's weights (the last norm's where there is no
    final one), and the last layer over a text.
    """
    kinds: dict[str, list[str]] = {}
    for row in rows:
        if DUPLICATE_OF not in row.extra:
            parts = kinds.setdefault(kind_of(row), [])
            if row.part not in parts and not row.part.endswith(OTHER_TOKENS):
                parts.append(row.part)
    found: list[tuple[str, str]] = []
    for kind, parts in kinds.items():
        if kind == MATRIX:
            chosen = [part for part in parts if part.endswith(TOKEN_MATRIX)]
        elif kind == NORM:
            chosen = [part for part in parts if part.endswith(FINAL_NORM)][-1:]
        else:
            chosen = []
        found += [(kind, part) for part in chosen or parts[-1:]]
    return found


def part_rows(rows: Sequence[Row], kind: str, part: str) -> list[Row]:
    """Return the rows about one part: the weights of a norm and its outputs share a name."""
    return [row for row in rows if (kind_of(row), row.part) == (kind, part)]


def kind_of(row: Row) -> str:
    """Return what kind of part a row is about."""
    return str(row.extra.get(PARTS, LAYER))


def curve_of(rows: Sequence[Row], measure: str, correction: str) -> list[Row]:
    """Return the numbers of a measure at steps that are known, in order."""
    return [
        row
        for row in rows
        if (row.measure, row.correction) == (measure, correction)
        and row.value is not None
        and math.isfinite(row.value)
        and row.extra.get(STEP) is not None
    ]


def step_name(row: Row) -> str:
    """Return the step of a row, or its revision where that tells no step."""
    step = row.extra.get(STEP)
    return str(row.extra[REVISION]) if step is None else f"step {step:,}"
