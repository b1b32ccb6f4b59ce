"""Scores of a problem in every space, and how far each lies from the vectors as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from isoscope.compute.stats.estimates import Estimate, Score, difference
from isoscope.compute.stats.jackknife import without_blocks
from isoscope.corrections.named import NONE
from isoscope.results.fields import BLOCKS, MAIN, PART_OF_TASK, REPLICATES
from isoscope.results.result import Row
from isoscope.tasks.problem import Items, Outputs, Problem
from isoscope.typing import Mask

Noted = TypeVar("Noted", Score, Row)


def with_note(record: Noted, *notes: str) -> Noted:
    """Add to the note of a score or of a row; empty notes are left out."""
    return replace(record, note="; ".join(note for note in (record.note, *notes) if note))


def problem_rows(
    where: tuple[str, str],
    problem: Problem,
    spaces: Mapping[str, Outputs],
    items: Items,
    protocol: str,
    level: float,
    *,
    replicates: bool = False,
) -> list[Row]:
    """Score one layer in every space, and compare every space with the vectors as they are.

    Parameters
    ----------
    where : tuple of str
        Subject and part, as results name them.
    problem : Problem
        What is scored.
    spaces : mapping
        The outputs of all items in every space, by the name of its correction.
    items : array of int
        Which items they are.
    protocol : str
        What the vectors are, and what corrections were fitted on.
    level : float
        Coverage of the intervals.
    replicates : bool
        Whether scores also have their values without each block of the items.
    """

    def scores(correction: str, usable: Mask) -> Mapping[str, Score]:
        return problem.scores(spaces[correction][usable], items[usable], level)

    rows: list[Row] = []
    plain = has_output(spaces[NONE]) if NONE in spaces else None
    uncorrected = {} if plain is None else scores(NONE, plain)
    for correction, outputs in spaces.items():
        usable = has_output(outputs)
        found = uncorrected if correction == NONE else scores(correction, usable)
        left_out = len(items) - int(usable.sum())
        scored = {
            name: as_row(where, correction, f"{problem.task}/{name}", score, problem.unit,
                         left_out, score.subset, protocol,
                         {**score.extra, **(replicates_of(score, problem) if replicates else {})})
            for name, score in found.items()
        }  # fmt: skip
        main = scored[problem.main]
        scored[problem.main] = replace(main, extra={**main.extra, MAIN: True})
        rows += scored.values()
        if correction == NONE or plain is None:
            continue
        # A difference is paired: both scores are of the items that have an output in both spaces.
        both = usable & plain
        # Scored again only if a correction left an item without an output, or gave it one; nearly
        # always the scores of before serve.
        before = uncorrected if np.array_equal(both, plain) else scores(NONE, both)
        after = found if np.array_equal(both, usable) else scores(correction, both)
        left_out = len(items) - int(both.sum())
        for name, score in after.items():
            change = difference(score, before[name], level=level)
            rows.append(
                as_row(where, correction, f"{problem.task}/{name}/difference", change,
                       problem.unit, left_out, score.subset, protocol)
            )  # fmt: skip
    return rows


def replicates_of(score: Score, problem: Problem) -> dict[str, Any]:
    """Return a score without each block of its items, as fields of its row."""
    return block_fields(score, f"{problem.unit} of {problem.task}")


def block_fields(score: Score, items: str) -> dict[str, Any]:
    """Return a score without each block of some items as fields of its row; none without a value.

    Examples
    --------
    >>> block_fields(Score(None, None, None, 0), "pairs")
    {}
    """
    if score.value is None or score.influences is None:
        return {}
    found = without_blocks(score.value, score.influences)
    if found is None:
        return {}
    return {REPLICATES: found, BLOCKS: f"{len(found)} blocks of {len(score.influences):,} {items}"}


def has_output(outputs: Outputs) -> Mask:
    """Tell which items have an output."""
    return np.asarray(np.isfinite(outputs.reshape(len(outputs), -1)).all(axis=1))


def as_row(
    where: tuple[str, str],
    correction: str,
    measure: str,
    found: Estimate,
    unit: str,
    left_out: int,
    subset: str,
    protocol: str,
    about: Mapping[str, Any] | None = None,
) -> Row:
    """File one score, with how many items had no output and what else is known about it."""
    notes = [found.note]
    extra: dict[str, Any] = {"unit": unit, "of": found.n, **(about or {})}
    if subset:
        extra[PART_OF_TASK] = subset
    elif left_out:
        one = {"queries": "query"}.get(unit, unit.removesuffix("s"))
        what = f"{left_out:,} {one if left_out == 1 else unit}"
        notes.append(f"{what} without a score left out")
        extra["of"] = found.n + left_out
    note = "; ".join(note for note in notes if note)
    return Row.of(found, *where, correction, measure, protocol=protocol, note=note, extra=extra)
