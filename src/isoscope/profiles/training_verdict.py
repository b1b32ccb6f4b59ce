"""What happens over a training, in a sentence per part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.results.layered import columns_of, heading, short
from isoscope.results.trained import curve_of, part_rows, step_name, telling_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Row

SAID = ("mean_cosine", "intra_sim", "i1_scaled", "gain_avgnorm", "bias_over_gain")
"""Measures of a part that the sentences are about, where it has one of them."""


def training_verdicts(model: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Say of each part that is shown how its measures go."""
    own = [row for row in rows if row.extra.get("model") == model]
    found = []
    for kind, part in telling_parts(own):
        of_part = part_rows(own, kind, part)
        said = [
            sentence
            for column in said_columns(columns_of(of_part))
            if (sentence := course(heading(*column), curve_of(of_part, *column)))
        ]
        if said:
            found.append({"subject": model, "part": part, "sentence": " ".join(said)})
    return found


def said_columns(columns: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return measures and corrections that are worth a sentence: the first, if none is known."""
    return [(name, "none") for name in SAID if (name, "none") in columns] or columns[:1]


def course(name: str, curve: Sequence[Row]) -> str:
    """Say where a curve begins and ends, and where it is highest or lowest in between."""
    if len(curve) < 2:
        return ""
    first, last = curve[0], curve[-1]
    said = f"{name} goes from {at(first)} to {at(last)}"
    seen = {short(first), short(last)}
    for word, row in (("highest", max(curve, key=size)), ("lowest", min(curve, key=size))):
        if short(row) not in seen:  # else nobody would see a difference
            said += f", {word} with {at(row)}"
    return f"{said}."


def at(row: Row) -> str:
    """Return a value and its step."""
    return f"{short(row)} at {step_name(row)}"


def size(row: Row) -> float:
    """Return what values are compared by: the logarithm of what may be below any double."""
    return float((row.value if row.log10 is None else row.log10) or 0.0)
