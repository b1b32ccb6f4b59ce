"""A score with its interval as a row of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.results.result import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.compute.stats.estimates import Estimate


def score_row(
    where: tuple[str, str],
    correction: str,
    measure: str,
    found: Estimate,
    protocol: str,
    notes: Iterable[str],
    extra: Mapping[str, Any],
) -> Row:
    """File one score; empty notes are left out."""
    subject, part = where
    return Row(
        subject,
        part,
        correction,
        measure,
        found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        protocol=protocol,
        note="; ".join(note for note in notes if note),
        extra=extra,
    )
