"""Advice for people: what was tried, best first, then what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.render import Grid, cell
from isoscope.results.scored import KIND

if TYPE_CHECKING:
    from isoscope.results.result import Result

ADVICE = "advice"
DIFFERENCE = "/difference"


def is_advice(result: Result) -> bool:
    """Whether a result is an advice."""
    return result.extra.get(KIND) == ADVICE


def advice_grids(result: Result) -> list[Grid]:
    """Arrange corrections down: score, difference and whether chance could explain it."""
    scores = [row for row in result.rows if not row.measure.endswith(DIFFERENCE)]
    changes = {row.correction: row for row in result.rows if row.measure.endswith(DIFFERENCE)}
    body = []
    for row in scores:
        change = changes.get(row.correction)
        chance = change.extra.get("p_holm") if change is not None else None
        mark = "→ " if row.extra.get("recommended") else ""
        body.append(
            [
                mark + row.correction,
                "undefined" if row.value is None else f"{row.value:.4f}",
                "" if change is None else cell(change, error=False),
                "" if chance is None else f"{chance:.2g}",
            ]
        )
    first = scores[0]
    title = f"{first.subject}: {first.measure}, {first.n:,} {first.extra['unit']}"
    notes = ["p: two-sided, by Holm's correction over all that was tried"]
    settings = [str(row.extra.get("setting", row.correction)) for row in scores]
    chosen = [text for text in settings if ":" in text]
    if chosen:
        notes.append(f"settings that score best over all folds: {', '.join(chosen)}")
    notes += [f"{row.correction}: {row.note}" for row in scores if row.note]
    lines = [result.extra["recommendation"]["sentence"], *result.extra.get("caveats", [])]
    written = result.extra["recommendation"].get("written")
    if written:
        lines.append(
            f"Written to {written}; isoscope correct apply {written} VECTORS --out FILE uses it."
        )
    beside = result.extra["recommendation"].get("written_for_queries")
    if beside:
        lines.append(f"The queries' own is in {beside}.")
    return [
        Grid(
            f"{title} ({first.protocol})",
            ["correction", "score", "difference to none", "p"],
            body,
            notes,
            lines,
        )
    ]
