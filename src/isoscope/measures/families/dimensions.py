"""Single dimensions that stand out: extreme ones, and dead ones.

The mean cosine is a sum over dimensions, Σ_k Σ_{i≠j} u_ik u_jk / (n² − n) with u = x / ‖x‖, so that
each has its part of it (Timkey & van Schijndel 2021); Luo et al. 2021 count how often a dimension
is the minimum or the maximum of a vector.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.registry import TableValue, register
from isoscope.measures.space import known

if TYPE_CHECKING:
    from isoscope.measures.space import Space
    from isoscope.typing import Vector


# Dimensions that the table of outliers shows.
LISTED = 32

# Below this mean cosine, shares of it are noise over noise and are left undefined.
SMALLEST_SHARED = 1e-3


dimension_table = partial(
    register, needs=["dimensions", "variances"], table=True
)  # a row per dimension


def cosine_parts(space: Space) -> Vector:
    """Return what each dimension adds to the mean cosine: Σ_{i≠j} u_ik u_jk / (n² − n)."""
    found, units = space.dimensions, space.units
    if found is None or units.rows < 2:
        return np.zeros(space.width)
    return split_cosine(found.unit_sum, found.unit_square_sum, units.weight, units.weight_squares)


def split_cosine(
    unit_sum: Vector, unit_square_sum: Vector, weight: float, weight_squares: float
) -> Vector:
    """Split the mean cosine of distinct rows over dimensions, from sums over unit vectors."""
    # (Σ_i u_ik)² has all pairs of rows in it, and those of a row with itself are Σ_i u_ik².
    return (unit_sum**2 - unit_square_sum) / (weight**2 - weight_squares)


def variance_shares(space: Space) -> Vector:
    """Each dimension's share of the total variance."""
    found = space.dimensions
    total = 0.0 if found is None else float(found.variance.sum())
    return np.zeros(space.width) if found is None or total == 0 else found.variance / total


@dimension_table()
def outlier_dimensions(space: Space) -> TableValue:
    """The dimensions that are most often extreme or carry most of the mean cosine or variance.

    Title: outlier dimensions
    When: if a few dimensions decide the cosines
    Formula: per dimension: mean, share of vectors where it is the minimum or maximum, its part of
        the mean cosine Σ_{i≠j} u_ik u_jk / (n² − n), its share of the variance
    Range: [0, 1] for shares
    Reference: Luo et al. 2021, section 3.2; Timkey & van Schijndel 2021
    """
    found = known(space.dimensions, "the sums over dimensions")
    counted = max(space.units.rows, 1)
    lowest, highest = found.minimum_counts / counted, found.maximum_counts / counted
    parts, spread = cosine_parts(space), variance_shares(space)
    mean_cosine = float(parts.sum())
    defined = abs(mean_cosine) >= SMALLEST_SHARED
    cosine_share = parts / mean_cosine if defined else np.zeros(space.width)
    prominence = np.max([lowest, highest, np.abs(cosine_share), spread], axis=0)
    order = np.argsort(-prominence, kind="stable")[:LISTED]
    rows = [
        {
            found.kind: int(k),
            "mean": float(found.mean[k]),
            "share_minimum": float(lowest[k]),
            "share_maximum": float(highest[k]),
            "mean_cosine_part": float(parts[k]),
            "share_of_mean_cosine": float(cosine_share[k]) if defined else None,
            "share_of_variance": float(spread[k]),
        }
        for k in order
    ]
    note = f"{len(rows)} of {space.width:,}, the most prominent first" * (space.width > LISTED)
    return TableValue(rows, note)


@dimension_table()
def dead_dimensions(space: Space) -> TableValue:
    """Dimensions that contain only rounding errors, which naive whitening amplifies.

    Title: dead dimensions
    When: before whitening
    Formula: dimensions with variance ≤ (eps(stored type) · root mean square entry)²
    Reference: ours
    """
    found = known(space.dimensions, "the sums over dimensions")
    dead = np.flatnonzero(found.variance <= space.dead_variance)
    rows = [
        {found.kind: int(k), "mean": float(found.mean[k]), "variance": float(found.variance[k])}
        for k in dead
    ]
    return TableValue(rows)
