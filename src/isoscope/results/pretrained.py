"""A training from nothing for people: steps down, then how rows of the output matrix move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.results.render import Grid
from isoscope.results.scored import KIND

if TYPE_CHECKING:
    from isoscope.results.result import Result, Table

PRETRAINING = "pretraining"
PERPLEXITY, LOSS = "perplexity", "training_loss"
ENEMIES, DRIFT = "common_enemies", "mean_drift"

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
MOVES_NOTE = (
    "h: mean of what predicts in a batch; SGD: minus the gradient, of the output layer alone or "
    "whole; AdamW: what the optimiser did"
)


def is_pretraining(result: Result) -> bool:
    """Whether a result is about one training from nothing."""
    return result.extra.get(KIND) == PRETRAINING


def pretraining_grids(result: Result) -> list[Grid]:
    """Arrange perplexities, and where they were recorded, moves of the last recorded step."""
    tables = {table.measure: table for table in result.tables}
    found = [step_grid(result)]
    if ENEMIES in tables:
        found.append(move_grid(tables[ENEMIES]))
    if DRIFT in tables:
        found.append(drift_grid(tables[DRIFT]))
    return found


def step_grid(result: Result) -> Grid:
    """Arrange perplexity and loss by step."""
    steps: dict[str, dict[str, float | None]] = {}
    for row in result.rows:
        steps.setdefault(row.part, {})[row.measure] = row.value
    body = [
        [step.removeprefix("step"), number(values.get(PERPLEXITY), ".2f"),
         number(values.get(LOSS), ".3f")]
        for step, values in steps.items()
    ]  # fmt: skip
    first = result.rows[0]
    seconds = result.extra.get("seconds") or 0.0
    took = [f"{seconds:,.0f} s of training"] if seconds >= 1 else []
    return Grid(
        f"{first.subject}: trained from nothing",
        ["step", "perplexity on validation", "training loss before"],
        body,
        [first.protocol, *took],
        [verdict(steps)],
    )


def verdict(steps: dict[str, dict[str, float | None]]) -> str:
    """Say in a sentence how far the training came."""
    known = [(step, values.get(PERPLEXITY)) for step, values in steps.items()]
    (_, start), (last, end) = known[0], known[-1]
    return (
        f"Verdict: perplexity went from {number(start, ',.1f')} to {number(end, ',.1f')} by "
        f"{last.replace('step', 'step ')}."
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
    return Grid(title, ["update and tokens", *MOVES.values()], body, [MOVES_NOTE], [])


def drift_grid(table: Table) -> Grid:
    """Arrange the mean row by step, ten of the recorded ones at most."""
    every = max(1, -(-len(table.rows) // 10))
    shown = [row for k, row in enumerate(table.rows) if (len(table.rows) - 1 - k) % every == 0]
    body = [[str(row["step"]), *(number(row[name], ".4f") for name in WAYS)] for row in shown]
    return Grid(f"{table.subject}: {table.note}", ["step", *WAYS.values()], body, [], [])


def number(value: Any, digits: str) -> str:
    """Format a number, or nothing."""
    return "" if value is None else f"{value:{digits}}"
