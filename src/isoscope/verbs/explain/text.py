"""Explanations for people: a table per topic, and the sentence that it ends in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.results.fields import REMARKS, REVISION, TITLE, TOPIC
from isoscope.results.numbers import cell
from isoscope.results.tables import Grid, grouped_notes
from isoscope.verbs.explain.names import CONTRIBUTION, MEAN_SQUARED_COSINE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.results.result import Result, Row


EXPLANATION = "explanation"

# Lines of a table that are shown; of more, the first and the last.
LONGEST = 14

# Lines that are shown at each end of a longer table.
ENDS = 5

# Figures of a single part that stand side by side; more stand below each other.
WIDE = 4

# Ways in which figures were made that are shown.
PROTOCOLS = 4


def explanation_grids(result: Result) -> list[Grid]:
    """Arrange an explanation in grids, topic by topic; each topic ends in its sentence."""
    grids = [grid for verdict in result.verdicts for grid in topic_grids(result, verdict)]
    left_out = [str(remark) for remark in result.extra.get(REMARKS) or []]
    if grids and left_out:
        grids[-1] = replace(grids[-1], notes=grids[-1].notes + left_out)
    return grids


def topic_grids(result: Result, verdict: Mapping[str, Any]) -> list[Grid]:
    """Arrange one topic: a grid for all parts that have the same figures."""
    if not verdict[TOPIC]:
        return [ranking_grid(result, verdict)]
    rows = [row for row in result.rows if row.extra.get(TOPIC) == verdict[TOPIC]]
    title = f"{verdict['subject']}, {verdict[TOPIC]}: {verdict[TITLE]}"
    grids = [
        Grid(title if number == 0 else verdict[TOPIC], header, body, [], [])
        for number, (header, body) in enumerate(arranged(rows))
    ] or [Grid(title, [], [], [], [])]
    notes = [*protocols_of(rows), *grouped_notes(rows)]
    last = replace(grids[-1], notes=notes, verdict=[f"Verdict: {verdict['sentence']}"])
    return [*grids[:-1], last]


def ranking_grid(result: Result, verdict: Mapping[str, Any]) -> Grid:
    """Arrange the causes of the unevenness, the largest first."""
    lines = list(verdict.get(CONTRIBUTION) or [])
    body = [
        [str(line["cause"]), *(percentage(line.get(name)) for name in ("value", "low", "high")),
         percentage(line.get("by_chance")), str(line.get("note") or "")]
        for line in lines
    ]  # fmt: skip
    rows = [row for row in result.rows if row.measure == MEAN_SQUARED_COSINE]
    said = [f"mean squared cosine of two tokens: {cell(row)} ({row.note})" for row in rows]
    return Grid(
        f"{verdict['subject']}, {verdict['part']}: {verdict[TITLE]}",
        ["cause", "contribution", "low", "high", "largest by chance", "note"],
        body, [*said, *protocols_of(rows)], [f"Verdict: {verdict['sentence']}"],
    )  # fmt: skip


def percentage(value: float | None) -> str:
    """Write a share in percent."""
    return "–" if value is None else f"{100 * value:.1f} %"


def protocols_of(rows: Sequence[Row]) -> list[str]:
    """Return how figures were made; of many ways, such as one a norm, the first."""
    every = list(dict.fromkeys(row.protocol for row in rows if row.protocol))
    more = [f"… {len(every) - PROTOCOLS} more, all with --json"] if len(every) > PROTOCOLS else []
    return every[:PROTOCOLS] + more


def arranged(rows: Sequence[Row]) -> list[tuple[list[str], list[list[str]]]]:
    """Lay parts down and measures across, parts with the same measures in one table.

    A part with many figures of its own has them below each other.
    """
    cells: dict[str, dict[str, Row]] = {}
    for row in rows:
        column = row.measure if row.correction == "none" else f"{row.measure} ({row.correction})"
        cells.setdefault(line_of(row), {})[column] = row
    blocks: dict[tuple[str, ...], list[str]] = {}
    for part, known in cells.items():
        blocks.setdefault(tuple(known), []).append(part)
    tables, single = [], []
    for columns, parts in blocks.items():
        if len(parts) == 1 and len(columns) > WIDE:
            about = f"{parts[0]}, " if parts[0] else ""
            single += [[f"{about}{c}", figure(cells[parts[0]][c])] for c in columns]
        else:
            body = [[part or "all", *(figure(cells[part][c]) for c in columns)] for part in parts]
            tables.append((["part", *columns], shortened(body)))
    return [*tables, (["figure", "value"], single)] if single else tables


def line_of(row: Row) -> str:
    """Return what a line is called: the part, and of a training the checkpoint."""
    return ", ".join(filter(None, (row.part, str(row.extra.get(REVISION, "")))))


def figure(row: Row) -> str:
    """Return a number; a whole one, such as a count or a rank, without digits behind the point."""
    value = row.value
    whole = value is not None and abs(value) >= 1 and float(value).is_integer()
    return f"{value:,.0f}" if whole else cell(row)


def shortened(lines: list[list[str]]) -> list[list[str]]:
    """Leave out the middle of a long table."""
    if len(lines) <= LONGEST:
        return lines
    between = [f"… {len(lines) - 2 * ENDS} more", *[""] * (len(lines[0]) - 1)]
    return [*lines[:ENDS], between, *lines[-ENDS:]]
