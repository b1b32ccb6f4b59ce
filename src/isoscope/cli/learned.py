"""What a correction learned, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.corrections.base import Correction

LISTED = 12
"""Dimensions that are named; of more only the number is told."""

TITLES = {
    "clusters": "clusters",
    "directions_removed": "directions removed",
    "directions_removed_per_cluster": "directions removed from a cluster, at most",
    "directions_kept": "directions kept",
    "directions_dropped": "directions dropped, as they have no variance",
    "dimensions_zeroed": "dimensions set to zero",
}
"""What people read for every fact."""


def learned(correction: Correction) -> dict[str, Any]:
    """Return the numbers that say what a correction does to these vectors."""
    facts: dict[str, Any] = {}
    if hasattr(correction, "n_clusters_"):
        facts["clusters"] = int(correction.n_clusters_)
        facts["directions_removed_per_cluster"] = max(map(len, correction.components_))
    if hasattr(correction, "n_components_"):
        facts["directions_removed"] = int(correction.n_components_)
    if hasattr(correction, "explained_variance_"):
        facts["directions_kept"] = len(correction.explained_variance_) - len(correction.dropped_)
    if hasattr(correction, "dropped_"):
        if hasattr(correction, "scale_"):  # one for each dimension
            facts["dimensions_zeroed"] = correction.dropped_.tolist()
        else:
            facts["directions_dropped"] = len(correction.dropped_)
    if hasattr(correction, "dimensions_"):
        facts["dimensions_zeroed"] = correction.dimensions_.tolist()
    return facts


def as_line(name: str, fact: Any) -> str:
    """Write one fact as a line."""
    if isinstance(fact, list):
        shown = ", ".join(map(str, fact)) if len(fact) <= LISTED else f"{len(fact):,}"
        return f"{TITLES[name]}: {shown or 'none'}"
    return f"{TITLES[name]}: {fact:,}"


def mean_cosine(rows: NDArray[Any]) -> float | None:
    """(‖Σ u‖² − n) / (n² − n) with u = x / ‖x‖, over rows that are not zero."""
    lengths = np.linalg.norm(rows, axis=1)
    units = rows[lengths > 0] / lengths[lengths > 0, None]
    count = len(units)
    if count < 2:
        return None
    total = units.sum(axis=0)
    return float((total @ total - count) / (count * (count - 1)))
