"""What people read of scores, and of how they go with isotropy.

Scores of several layers have one grid each, with layers down and corrections across. Relations of
isotropy and scores have one grid per question, with scores down and measures across, and a sentence
that sums them up.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from isoscope.results.fields import BEST, CHOSEN_ON, KIND, PART_OF_TASK, SCORES
from isoscope.results.numbers import cell, with_interval
from isoscope.results.tables import (
    LENGTH_LEGEND,
    LENGTH_MARK,
    Grid,
    default_grids,
    grouped,
    grouped_notes,
    length_dependent,
    pivot,
    said_once,
    verdict_lines,
)
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row


MARK = "best "


def score_grids(result: Result) -> list[Grid]:
    """Arrange scores of layers in one grid for each; those of one layer in one grid a cloud.

    The protocol stands over the first grid of a task.
    """
    layers = {(row.subject, row.part) for row in result.rows}
    if result.extra.get(KIND) != SCORES or len(layers) < 2:
        return default_grids(result)
    hidden = {row.family for row in result.rows if PART_OF_TASK in row.extra}
    shown = [row for row in result.rows if PART_OF_TASK not in row.extra]
    grids, explained = [], set()
    for (subject, measure), rows in grouped(shown, lambda row: (row.subject, row.measure)).items():
        task = measure.split("/")[0]
        title = f"{subject}: {measure}"
        notes = grouped_notes([row for row in rows if BEST not in row.extra])
        if (subject, task) not in explained:
            explained.add((subject, task))
            title += f" ({rows[0].protocol})"
            chosen_on = {str(row.extra.get(CHOSEN_ON)) for row in rows if BEST in row.extra}
            notes += [f"best: the best of all layers, chosen on {what}" for what in chosen_on]
            if task in hidden:
                notes.append("scores of subsets: --json, or --layers with one layer")
        header, body = pivot(rows, "part", "correction", marked_cell, corner="layer")
        grids.append(Grid(title, header, body, notes))
    return grids


def marked_cell(row: Row | None) -> str:
    """Return a score with its interval, and say where it is the best one."""
    mark = MARK if row is not None and row.extra.get(BEST) else ""
    return mark + cell(row, error=False)


# What such a result calls itself under ``KIND``.
RELATION = "relation"

# Fields of a row: what is related with what, and which way a more even space moves the measure.
SCORE, ISOTROPY, DIRECTION = "score", "isotropy", "direction"

LEGEND = "above 0: the more isotropic a space, the better its score; below 0: the worse"
TURNED = "lower is more isotropic, so that the sign of its correlations is turned"
NEITHER = "neither high nor low is more isotropic: above 0 means that higher values score better"
ALONE = "intervals are not adjusted for their number: about one in twenty excludes 0 by chance"


def is_relation(result: Result) -> bool:
    """Whether a result relates isotropy and scores."""
    return result.extra.get(KIND) == RELATION


def relation_grids(result: Result) -> list[Grid]:
    """Arrange relations in one grid a question; what the signs mean stands below the first."""
    questions = grouped(result.rows, lambda row: row.subject)
    return [
        relation_grid(result, question, rows, first=place == 0)
        for place, (question, rows) in enumerate(questions.items())
    ]


def relation_grid(result: Result, question: str, rows: list[Row], *, first: bool) -> Grid:
    """Arrange the relations that answer one question."""
    measures = list(dict.fromkeys(str(row.extra[ISOTROPY]) for row in rows))
    header, body = pivot(
        rows, lambda row: row.extra[SCORE], lambda row: row.extra[ISOTROPY], relation_cell,
        corner="score",
        columns={name: name + LENGTH_MARK * length_dependent(name) for name in measures},
    )  # fmt: skip
    notes = reading_notes(rows, measures) if first else []
    protocols = dict.fromkeys(row.protocol for row in rows)
    title = f"{question}: {next(iter(protocols))}" if len(protocols) == 1 else question
    if len(protocols) > 1:
        notes += said_once((str(row.extra[SCORE]), row.protocol) for row in rows)
    notes += row_notes(rows)
    return Grid(title, header, body, notes, verdict_lines(result, question, ""))


def relation_cell(row: Row | None) -> str:
    """Return a correlation with its interval; two digits are more than some tens of spaces tell."""
    return with_interval(row, "+.2f")


def reading_notes(rows: list[Row], measures: list[str]) -> list[str]:
    """Note what the signs mean, and what intervals do not say."""
    directions = {str(row.extra[ISOTROPY]): row.extra.get(DIRECTION) for row in rows}
    notes = [LEGEND]
    for direction, words in (("lower", TURNED), ("neither", NEITHER)):
        names = [name for name in measures if directions[name] == direction]
        if names:
            notes.append(f"{', '.join(names)}: {words}")
    if any(map(length_dependent, measures)):
        notes.append(LENGTH_LEGEND)
    return [*notes, ALONE] if any(row.low is not None for row in rows) else notes


def row_notes(rows: list[Row]) -> list[str]:
    """Return every note once, with what it is about if that is not everything."""
    return [
        note if len(about) == len(rows) else f"{', '.join(row.measure for row in about)}: {note}"
        for note, about in grouped(rows, lambda row: row.note).items()
        if note
    ]


BETTER = "more isotropic spaces score better"
WORSE = "more isotropic spaces score worse"
NO_RELATION = "no significant relation"
NO_INTERVAL = "without an interval, chance cannot be excluded"


def verdict(question: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the answer to one question as results keep it."""
    return {"subject": question, "part": "", "sentence": sentence(question, rows)}


def sentence(question: str, rows: Sequence[Row]) -> str:
    """Describe what the measures of isotropy found; measures of something else are not counted."""
    found = [row for row in rows if row.value is not None and row.extra.get(DIRECTION) != "neither"]
    if not found:
        return f"{question}: no relation is defined."
    if len(found) == 1:
        return f"{over(question, found[0])}, {figures(found[0])}: {meaning(found[0])}."
    counts = Counter(map(meaning, found))
    told = [
        f"{counts[BETTER]} of {counted(len(found), 'relation')} say that {BETTER}",
        f"{counts[WORSE]} that they score worse",
    ]
    if counts[NO_RELATION]:
        told.append(f"{counts[NO_RELATION]} are not significant")
    if counts[NO_INTERVAL]:
        told.append(f"{counts[NO_INTERVAL]} have no interval")
    strongest = max(found, key=strength)
    return f"{over(question, strongest)}, {', '.join(told)}; the strongest is {figures(strongest)}."


def over(question: str, row: Row) -> str:
    """Describe how many spaces an answer is based on."""
    return (
        f"{question}: over {counted(row.n or 0, 'space')} of "
        f"{counted(int(row.extra.get('models', 0)), 'model')}"
    )


def figures(row: Row) -> str:
    """Return what is related with what, the correlation, and its interval."""
    return f"isotropy by {row.extra[ISOTROPY]} and {row.extra[SCORE]}, ρ = {relation_cell(row)}"


def meaning(row: Row) -> str:
    """Return what one relation says."""
    if row.low is None or row.high is None:
        return NO_INTERVAL
    if row.low > 0:
        return BETTER
    return WORSE if row.high < 0 else NO_RELATION


def strength(row: Row) -> tuple[bool, float]:
    """Order relations: the significant ones first, then by size."""
    return meaning(row) in (BETTER, WORSE), abs(row.value or 0.0)
