"""Scores of several layers for people: layers down, corrections across, one grid a score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.render import Grid, cell, grouped_notes

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

KIND, SCORES = "kind", "scores"
"""Says in a result what it is, so that it is shown as such."""

PART_OF_TASK = "subset"
"""Field of rows about a subset of a task: they are in JSON, tables would grow too long."""

MAIN = "main_score"
"""Field of a row that is true for the score that decides, of those that a task has."""

BEST = "best_layer"
"""Field of a row that is true for the layer with the highest score."""

CHOSEN_ON = "chosen_on"
"""Field of such a row: what the layer was chosen on."""

MARK = "best "


def is_by_layer(result: Result) -> bool:
    """Whether a result has scores of several layers."""
    layers = {(row.subject, row.part) for row in result.rows}
    return result.extra.get(KIND) == SCORES and len(layers) > 1


def score_grids(result: Result) -> list[Grid]:
    """Arrange scores in one grid for each; the protocol stands over the first of a task."""
    groups: dict[tuple[str, str], list[Row]] = {}
    hidden: dict[str, int] = {}
    for row in result.rows:
        if PART_OF_TASK in row.extra:
            hidden[row.measure.split("/")[0]] = hidden.get(row.measure.split("/")[0], 0) + 1
        else:
            groups.setdefault((row.subject, row.measure), []).append(row)
    grids, explained = [], set()
    for (subject, measure), rows in groups.items():
        task = measure.split("/")[0]
        title = f"{subject}: {measure}"
        notes = grouped_notes([row for row in rows if BEST not in row.extra])
        if (subject, task) not in explained:
            explained.add((subject, task))
            title += f" ({rows[0].protocol})"
            chosen_on = {str(row.extra.get(CHOSEN_ON)) for row in rows if BEST in row.extra}
            notes += [f"best: the best of all layers, chosen on {what}" for what in chosen_on]
            if hidden.get(task):
                notes.append("scores of subsets: --json, or --layers with one layer")
        grids.append(score_grid(title, rows, notes))
    return grids


def score_grid(title: str, rows: list[Row], notes: list[str]) -> Grid:
    """Arrange one score: layers down, corrections across."""
    layers = list(dict.fromkeys(row.part for row in rows))
    corrections = list(dict.fromkeys(row.correction for row in rows))
    cells = {(row.part, row.correction): row for row in rows}
    body = [
        [layer, *(marked_cell(cells.get((layer, correction))) for correction in corrections)]
        for layer in layers
    ]
    return Grid(title, ["layer", *corrections], body, notes, [])


def marked_cell(row: Row | None) -> str:
    """Return a score with its interval, and say where it is the best one."""
    mark = MARK if row is not None and row.extra.get(BEST) else ""
    return mark + cell(row, error=False)
