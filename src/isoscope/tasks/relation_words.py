"""What relations of isotropy and scores say, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.measures.registry import counted
from isoscope.results.related import DIRECTION, ISOTROPY, SCORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Row

BETTER = "more isotropic spaces score better"
WORSE = "more isotropic spaces score worse"
NEITHER = "no relation that could be told from none"
NO_INTERVAL = "without an interval nothing can be said of chance"


def verdict(question: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the answer to one question as results keep it."""
    return {"subject": question, "part": "", "sentence": sentence(question, rows)}


def sentence(question: str, rows: Sequence[Row]) -> str:
    """Say what the measures of isotropy found; those that are none are not counted."""
    found = [row for row in rows if row.value is not None and row.extra.get(DIRECTION) != "neither"]
    if not found:
        return f"{question}: no relation is defined."
    if len(found) == 1:
        return f"{over(question, found[0])}, {figures(found[0])}: {meaning(found[0])}."
    counts = {
        words: sum(meaning(row) == words for row in found)
        for words in (BETTER, WORSE, NEITHER, NO_INTERVAL)
    }
    told = [
        f"{counts[BETTER]} of {counted(len(found), 'relation')} say that {BETTER}",
        f"{counts[WORSE]} that they score worse",
    ]
    if counts[NEITHER]:
        told.append(f"{counts[NEITHER]} cannot be told from none")
    if counts[NO_INTERVAL]:
        told.append(f"{counts[NO_INTERVAL]} have no interval")
    strongest = max(found, key=strength)
    return f"{over(question, strongest)}, {', '.join(told)}; the strongest is {figures(strongest)}."


def over(question: str, row: Row) -> str:
    """Say how many spaces an answer stands on."""
    return (
        f"{question}: over {counted(row.n or 0, 'space')} of "
        f"{counted(int(row.extra.get('models', 0)), 'model')}"
    )


def figures(row: Row) -> str:
    """Return what is related with what, the correlation, and its interval."""
    value = f"ρ = {row.value:+.2f}"
    if row.low is not None and row.high is not None:
        value += f" ({row.low:+.2f} to {row.high:+.2f})"
    return f"isotropy by {row.extra[ISOTROPY]} and {row.extra[SCORE]}, {value}"


def meaning(row: Row) -> str:
    """Return what one relation says."""
    if row.low is None or row.high is None:
        return NO_INTERVAL
    if row.low > 0:
        return BETTER
    return WORSE if row.high < 0 else NEITHER


def strength(row: Row) -> tuple[bool, float]:
    """Order relations: those that can be told from none first, then by size."""
    return meaning(row) in (BETTER, WORSE), abs(row.value or 0.0)
