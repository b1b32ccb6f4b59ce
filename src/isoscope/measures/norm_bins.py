"""A histogram of lengths whose edges never move, so that histograms of any two parts add up.

Sixteen bins per octave from 2⁻⁴⁰ to 2⁴⁰, one below and one above. A bin is 4.4 % wide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PER_OCTAVE = 16
OCTAVES = 40
BINS = 2 * OCTAVES * PER_OCTAVE + 2

EDGES: NDArray[np.float64] = np.concatenate(
    (
        [0.0],
        np.exp2(np.arange(-OCTAVES * PER_OCTAVE, OCTAVES * PER_OCTAVE + 1) / PER_OCTAVE),
        [np.inf],
    )
)


def count_norms(norms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count positive lengths per bin; bin k holds EDGES[k] ≤ length < EDGES[k + 1]."""
    position = np.floor(np.log2(norms) * PER_OCTAVE) + OCTAVES * PER_OCTAVE + 1
    bins = np.clip(position, 0, BINS - 1).astype(np.int64)
    return np.bincount(bins, minlength=BINS).astype(np.int64)


def median_norm(counts: NDArray[np.int64]) -> float | None:
    """Return the median length, evenly spread over the logarithms within its bin.

    None where nothing was counted, or where the median lies outside the finite bins.
    """
    total = int(counts.sum())
    if not total:
        return None
    below = np.cumsum(counts)
    position = int(np.searchsorted(below, total / 2))
    low, high = float(EDGES[position]), float(EDGES[position + 1])
    if low == 0 or not np.isfinite(high):
        return None
    inside = (total / 2 - (int(below[position]) - int(counts[position]))) / int(counts[position])
    return float(low * (high / low) ** inside)
