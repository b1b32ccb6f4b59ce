"""What happens over a training, in a sentence per part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.results.layered import columns_of, heading, short
from isoscope.results.trained import curve_of, part_rows, step_name, telling_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Row

SAID = 2
"""Measures of a part that the sentence is about."""


def training_verdicts(model: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Say of each part that is shown how its first measures go."""
    own = [row for row in rows if row.extra.get("model") == model]
    found = []
    for kind, part in telling_parts(own):
        of_part = part_rows(own, kind, part)
        said = [
            sentence
            for column in columns_of(of_part)
            if (sentence := course(heading(*column), curve_of(of_part, *column)))
        ]
        if said:
            sentence = " ".join(said[:SAID])
            found.append({"subject": model, "part": part, "model": model, "sentence": sentence})
    return found


def course(name: str, curve: Sequence[Row]) -> str:
    """Say where a curve begins and ends, and where it is highest or lowest in between."""
    if len(curve) < 2:
        return ""
    first, last = curve[0], curve[-1]
    said = f"{name} goes from {at(first)} to {at(last)}"
    low, high = min(curve, key=size), max(curve, key=size)
    ends = (size(first), size(last))
    if size(high) > max(ends):
        said += f", highest with {at(high)}"
    if size(low) < min(ends):
        said += f", lowest with {at(low)}"
    return f"{said}."


def at(row: Row) -> str:
    """Return a value and its step."""
    return f"{short(row)} at {step_name(row)}"


def size(row: Row) -> float:
    """Return what values are compared by: the logarithm of what may be below any double."""
    return float((row.value if row.log10 is None else row.log10) or 0.0)
