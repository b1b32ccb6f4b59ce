"""Which layer is the best one, and what that was chosen on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.scored import BEST, CHOSEN_ON, MAIN
from isoscope.tasks.sts import SCORE
from isoscope.tasks.word_senses import ACCURACY, LEARNED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Row

DIFFERENCE = "/difference"
SCORED, OTHERS = "what is scored", "other pairs, as the threshold is"


def with_best_layers(rows: Sequence[Row]) -> list[Row]:
    """Mark the layer with the highest score, for every score that several layers have.

    The mark is a choice on the scored data themselves, and its note says so; but the layer of word
    senses is chosen on the pairs that the threshold is chosen on.
    """
    learned = {
        (row.subject, row.part, row.correction, task_of(row)): row.value
        for row in rows
        if row.measure.endswith(f"/{LEARNED}")
    }
    groups: dict[tuple[str, str, str], list[tuple[Row, float | None, str]]] = {}
    for row in rows:
        if row.measure.endswith(DIFFERENCE):
            continue
        entry: tuple[Row, float | None, str]
        own = learned.get((row.subject, row.part, row.correction, task_of(row)))
        if own is not None and row.measure == f"{task_of(row)}/{ACCURACY}":
            entry = (row, own, OTHERS)
        elif own is None and (f"/{SCORE}/" in row.measure or row.extra.get(MAIN)):
            entry = (row, row.value, SCORED)
        else:
            continue
        groups.setdefault((row.subject, row.correction, row.measure), []).append(entry)
    best = {}
    for several in groups.values():
        defined = [
            (value, -k, id(row), on) for k, (row, value, on) in enumerate(several)
            if value is not None
        ]  # fmt: skip
        if len(several) > 1 and defined:
            *_, place, on = max(defined)
            best[place] = on
    return [marked(row, best[id(row)]) if id(row) in best else row for row in rows]


def task_of(row: Row) -> str:
    """Return the task of a score."""
    return row.measure.split("/")[0]


def marked(row: Row, chosen_on: str) -> Row:
    """Say of a row that its layer is the best one, and what that was chosen on."""
    note = f"best layer, chosen on {chosen_on}"
    return replace(
        row,
        note=f"{row.note}; {note}" if row.note else note,
        extra={**row.extra, BEST: True, CHOSEN_ON: chosen_on},
    )
