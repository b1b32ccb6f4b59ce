"""Nearest neighbours within a sample. Both measures change with its size, which they print.

Hubness is the skewness E[(N − E N)³] / Var(N)^(3/2) of how often a row is a neighbour (Radovanović
et al. 2010). The ratio μ = r₂/r₁ of the distances to the two nearest neighbours is distributed as
F(μ) = 1 − μ^(−d) in d dimensions, whatever the density, which gives d (Facco et al. 2017).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.nearest_neighbours import nearest_points
from isoscope.data.base import EPSILON
from isoscope.data.sampling import LARGE_SIZE
from isoscope.measures.families.cosine import NO_DIRECTIONS, directions
from isoscope.measures.registry import Value, register
from isoscope.measures.space import known
from isoscope.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.space import Space, SpaceSample
    from isoscope.typing import Matrix


NEIGHBOURS = 10

# Unit vectors whose entries differ by less are one direction.
SAME = 1e-12

# Neighbours that are looked at again exactly: distances from products round near zero.
CANDIDATES = 8

# Rows whose neighbours are looked at again at a time: they stay in the cache.
AT_ONCE = 32

# Share of the ratios of distances that the fit uses: the largest ones are the noisiest, and Facco
# et al. leave out a tenth as well.
KEPT_SHARE = 0.9

# Rows that are at most this many roundings of a stored vector apart are one row. A norm or a matrix
# product that sums in another order, as in a batch of another size, moves a vector by a few.
SAME_ROUNDINGS = 32

# Logarithms of ratios up to this are rounding of equal distances: nobody has a million dimensions.
EQUALLY_FAR = 1e-6

CHANGES = "changes with the size of the sample"
EQUALLY_OFTEN = "every row is a neighbour equally often"


def occurrences(units: Matrix, neighbours: int) -> NDArray[np.int64]:
    """How often each row is among the nearest of the others, by cosine."""
    # ‖u − v‖² = 2 − 2 cos for unit vectors.
    found = nearest_points(units, neighbours)
    return np.bincount(found.reshape(-1), minlength=len(units))


@register(direction="lower", needs=["large sample"], no_interval=CHANGES, default=False)
def hubness(space: Space) -> Value:
    """Whether a few vectors are near neighbours of very many, so that searches return them often.

    Title: hubness
    Symbol: S_N10
    When: if a search keeps returning the same items
    Formula: skewness of N₁₀, the number of rows that have a row among their 10 nearest by cosine
    Range: (−∞, ∞)
    Reference: Radovanović et al. 2010, section 3
    """
    sample = known(space.sample, "the sample")
    units = directions(sample, len(sample.vectors)).units
    rows = len(units)
    if rows < 2:
        return Value(None, note=NO_DIRECTIONS, rows=rows)
    if rows <= NEIGHBOURS + 1:
        return Value(None, note=f"needs more than {NEIGHBOURS + 1} rows", rows=rows)
    if np.ptp(units, axis=0).max() < SAME:
        return Value(None, note="all directions are the same: no neighbour is nearer", rows=rows)
    value = skewness(occurrences(units, NEIGHBOURS))
    note = f"on {rows_looked_at(sample, rows)}; {CHANGES}"
    if value is None:
        return Value(0.0, note=f"{EQUALLY_OFTEN}; {note}", rows=rows)
    return Value(value, note=note, rows=rows)


def rows_looked_at(sample: SpaceSample, rows: int) -> str:
    """Say whether neighbours were looked for in a sample, or in all rows as --exact wants it."""
    return counted(rows, "row" if len(sample.vectors) > LARGE_SIZE else "sampled row")


def skewness(counts: NDArray[np.int64]) -> float | None:
    """Return the skewness of how often rows are found; None where all are found equally often."""
    centred = counts - counts.mean()
    variance = float((centred**2).mean())
    return None if variance == 0 else float((centred**3).mean()) / variance**1.5


def two_nearest(vectors: Matrix) -> Matrix:
    """Return the Euclidean distances of every row to its nearest and second nearest other."""
    candidates = min(CANDIDATES, len(vectors) - 1)
    near = nearest_points(vectors, candidates)
    found = np.empty((len(vectors), 2))
    for first in range(0, len(vectors), AT_ONCE):
        rows = slice(first, first + AT_ONCE)
        apart = vectors[near[rows]]
        apart -= vectors[rows, None, :]
        found[rows] = np.sort(np.einsum("ijk,ijk->ij", apart, apart), axis=1)[:, :2]
    return np.sqrt(found)


@register(direction="higher", needs=["large sample"], no_interval=CHANGES, default=False)
def intrinsic_dimension(space: Space) -> Value:
    """Dimension of the surface on which the vectors lie, estimated from nearest neighbours.

    Title: intrinsic dimension
    Symbol: TwoNN
    When: to see the local dimension of the data
    Formula: slope of −ln(1 − F(μ)) against ln μ, μ = r₂/r₁ of the two nearest neighbours
    Range: (0, d]
    Reference: Facco et al. 2017 (TwoNN), without the largest tenth of the ratios, as in the paper
    """
    sample = known(space.sample, "the sample")
    distinct = different_rows(sample)
    vectors = sample.vectors[distinct]
    repeats = len(sample.vectors) - len(vectors)
    rows = len(vectors)
    if rows < 3:
        return Value(None, note="needs three different rows", rows=rows)
    # Centred, so that products of a far-off cloud do not drown the distances within it.
    ratios = np.sort(np.divide(*two_nearest(vectors - vectors.mean(axis=0)).T[::-1]))
    kept = int(KEPT_SHARE * rows)
    logs = np.log(ratios[:kept])
    levels = -np.log1p(-np.arange(1, kept + 1) / rows)
    note = f"on {rows_looked_at(sample, rows)}; {CHANGES}"
    if repeats:
        note += f"; {counted(repeats, 'repeated row')} left out"
    if logs.max(initial=0.0) <= EQUALLY_FAR:
        return Value(
            None, note="all neighbours are equally far: no ratio can be computed", rows=rows
        )
    # Least squares for a line through the origin, as F(1) = 0 leaves no intercept to fit.
    return Value(float(logs @ levels) / float(logs @ logs), note=note, rows=rows)


def different_rows(sample: SpaceSample) -> NDArray[np.int64]:
    """Return the first row of every set of rows that are equal up to rounding.

    Equal rows are at distance 0 from each other, and r₂/r₁ would be a division by zero; rows that
    were rounded differently are almost at distance 0, and the dimension would be that of the
    rounding. Which rows are equal is decided on the cloud as it is stored: turning and centring it
    rounds again, so that equal rows would differ in one space and not in another. What a correction
    makes equal, such as by leaving out directions, is found in the corrected space.
    """
    labels = equal_rows(sample.stored, SAME_ROUNDINGS * sample.rounding)
    _, first = np.unique(labels, return_index=True)
    first = np.sort(first)
    vectors = sample.vectors[first]
    length = math.sqrt(float(np.einsum("ij,ij->", vectors, vectors)) / len(vectors))
    labels = equal_rows(vectors, SAME_ROUNDINGS * EPSILON["float64"] * length)
    _, again = np.unique(labels, return_index=True)
    return np.asarray(first[np.sort(again)])


def equal_rows(vectors: Matrix, tolerance: float) -> NDArray[np.int64]:
    """Return the same number for rows that are no further apart than a tolerance.

    Rows that are close to each other are close in any direction: they are sorted along one, and
    only those that are near in it are compared.
    """
    centred = vectors - vectors.mean(axis=0)
    direction = np.random.default_rng(0).normal(size=vectors.shape[1])
    along = centred @ (direction / np.linalg.norm(direction))
    # Products of equal rows may differ by rounding.
    reach = max(centred.max(initial=0.0), -centred.min(initial=0.0))
    size = float(reach) * math.sqrt(vectors.shape[1])
    window = tolerance + vectors.shape[1] * EPSILON["float64"] * size
    order = np.argsort(along, kind="stable")
    ends = np.searchsorted(along[order], along[order] + window, side="right")
    labels, free = np.arange(len(vectors)), np.ones(len(vectors), bool)
    for place in np.flatnonzero(ends > np.arange(1, len(order) + 1)):
        row = order[place]
        if free[row]:
            others = order[place + 1 : ends[place]]
            others = others[free[others]]
            apart = np.linalg.norm(centred[others] - centred[row], axis=1)
            near = others[apart <= tolerance]
            labels[near], free[near] = row, False
    return labels
