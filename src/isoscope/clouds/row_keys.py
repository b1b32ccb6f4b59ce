"""Random-looking numbers that rows get from their positions, the same wherever they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def row_keys(indices: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Mix index and seed into 64 random-looking bits (SplitMix64; Steele, Lea & Flood 2014)."""
    start = np.uint64((seed * 0xD1342543DE82EF95 + 1) % 2**64)
    z = (indices.astype(np.uint64) + start) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
