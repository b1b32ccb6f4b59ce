"""Isotropy against scores for people: scores down, measures across, one grid a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.render import (
    LENGTH_LEGEND,
    LENGTH_MARK,
    Grid,
    length_dependent,
    verdict_lines,
)
from isoscope.results.scored import KIND

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

RELATION = "relation"
"""What such a result calls itself under ``KIND``."""

SCORE, ISOTROPY, DIRECTION = "score", "isotropy", "direction"
"""Fields of a row: what is related with what, and which way a more even space moves the measure."""

LEGEND = "above 0: the more isotropic a space, the better its score; below 0: the worse"
TURNED = "lower is more isotropic, so that the sign of its correlations is turned"
NEITHER = "neither high nor low is more isotropic: above 0 means that higher values score better"
ALONE = "every interval stands by itself: of twenty, one leaves out 0 by chance"


def is_relation(result: Result) -> bool:
    """Whether a result relates isotropy and scores."""
    return result.extra.get(KIND) == RELATION


def relation_grids(result: Result) -> list[Grid]:
    """Arrange relations in one grid a question; what the signs mean stands below the first."""
    questions: dict[str, list[Row]] = {}
    for row in result.rows:
        questions.setdefault(row.subject, []).append(row)
    return [
        relation_grid(result, question, rows, first=place == 0)
        for place, (question, rows) in enumerate(questions.items())
    ]


def relation_grid(result: Result, question: str, rows: list[Row], *, first: bool) -> Grid:
    """Arrange the relations that answer one question."""
    scores = list(dict.fromkeys(str(row.extra[SCORE]) for row in rows))
    measures = list(dict.fromkeys(str(row.extra[ISOTROPY]) for row in rows))
    cells = {(row.extra[SCORE], row.extra[ISOTROPY]): row for row in rows}
    header = ["score", *(name + LENGTH_MARK * length_dependent(name) for name in measures)]
    body = [
        [score, *(relation_cell(cells.get((score, name))) for name in measures)] for score in scores
    ]
    notes = reading_notes(rows, measures) if first else []
    protocols = dict.fromkeys(row.protocol for row in rows)
    title = f"{question}: {next(iter(protocols))}" if len(protocols) == 1 else question
    if len(protocols) > 1:
        for protocol in protocols:
            about = dict.fromkeys(row.extra[SCORE] for row in rows if row.protocol == protocol)
            notes.append(f"{', '.join(map(str, about))}: {protocol}")
    return Grid(
        title, header, body, [*notes, *row_notes(rows)], verdict_lines(result, question, "")
    )


def relation_cell(row: Row | None) -> str:
    """Return a correlation with its interval; two digits are more than some tens of spaces tell."""
    if row is None:
        return ""
    if row.value is None:
        return "undefined"
    if row.low is None or row.high is None:
        return f"{row.value:+.2f}"
    return f"{row.value:+.2f} ({row.low:+.2f} to {row.high:+.2f})"


def reading_notes(rows: list[Row], measures: list[str]) -> list[str]:
    """Say what the signs mean, and what intervals do not."""
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
    """Say every note once, with what it is about where that is not everything."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.note:
            groups.setdefault(row.note, []).append(row)
    return [
        note if len(about) == len(rows) else f"{', '.join(row.measure for row in about)}: {note}"
        for note, about in groups.items()
    ]
