"""Nearest neighbours within a sample. Both measures change with its size, which they print.

Hubness is the skewness E[(N − E N)³] / Var(N)^(3/2) of how often a row is a neighbour (Radovanović
et al. 2010). The ratio μ = r₂/r₁ of the distances to the two nearest neighbours is distributed as
F(μ) = 1 − μ^(−d) in d dimensions, whatever the density, which gives d (Facco et al. 2017).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.sampling import LARGE_SIZE
from isoscope.measures.families.cosine import NO_DIRECTIONS, directions
from isoscope.measures.registry import Value, register
from isoscope.measures.space import known
from isoscope.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.space import Space
    from isoscope.typing import Matrix


NEIGHBOURS = 10

# Rows whose distances to all others are held at a time.
STRIPE = 512

# Unit vectors whose entries differ by less are one direction.
SAME = 1e-12

# Neighbours that are looked at again exactly: distances from products round near zero.
CANDIDATES = 8

# Share of the ratios of distances that the fit uses: the largest ones are the noisiest, and Facco
# et al. leave out a tenth as well.
KEPT_SHARE = 0.9

CHANGES = "changes with the size of the sample"
EQUALLY_OFTEN = "every row is a neighbour equally often"


def occurrences(units: Matrix, neighbours: int) -> NDArray[np.int64]:
    """How often each row is among the nearest of the others, by cosine."""
    counts = np.zeros(len(units), np.int64)
    for first in range(0, len(units), STRIPE):
        stripe = units[first : first + STRIPE]
        cosines = stripe @ units.T
        cosines[np.arange(len(stripe)), first + np.arange(len(stripe))] = -np.inf
        nearest = np.argpartition(-cosines, neighbours - 1, axis=1)[:, :neighbours]
        counts += np.bincount(nearest.reshape(-1), minlength=len(units))
    return counts


@register(direction="lower", needs=["large sample"], no_interval=CHANGES, default=False)
def hubness(space: Space) -> Value:
    """Whether a few vectors are neighbours of very many, as searches then return them always.

    Title: hubness
    Symbol: S_N10
    When: if a search returns the same items again and again
    Formula: skewness of N₁₀, the number of rows that have a row among their 10 nearest by cosine
    Range: (−∞, ∞)
    Reference: Radovanović et al. 2010, section 3
    """
    units = directions(space.sample, LARGE_SIZE).units
    rows = len(units)
    if rows < 2:
        return Value(None, note=NO_DIRECTIONS, rows=rows)
    if rows <= NEIGHBOURS + 1:
        return Value(None, note=f"needs more than {NEIGHBOURS + 1} rows", rows=rows)
    if np.ptp(units, axis=0).max() < SAME:
        return Value(None, note="all directions are the same: no neighbour is nearer", rows=rows)
    value = skewness(occurrences(units, NEIGHBOURS))
    note = f"on {counted(rows, 'sampled row')}; {CHANGES}"
    if value is None:
        return Value(0.0, note=f"{EQUALLY_OFTEN}; {note}", rows=rows)
    return Value(value, note=note, rows=rows)


def skewness(counts: NDArray[np.int64]) -> float | None:
    """Return the skewness of how often rows are found; None where all are found equally often."""
    centred = counts - counts.mean()
    variance = float((centred**2).mean())
    return None if variance == 0 else float((centred**3).mean()) / variance**1.5


def two_nearest(vectors: Matrix) -> Matrix:
    """Return the Euclidean distances of every row to its nearest and second nearest other."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    candidates = min(CANDIDATES, len(vectors) - 1)
    found = np.empty((len(vectors), 2))
    for first in range(0, len(vectors), STRIPE):
        stripe = vectors[first : first + STRIPE]
        rows = np.arange(len(stripe))
        # ‖a − b‖² without ‖a‖², which is the same for all candidates b of a row a.
        distances = squares - 2 * (stripe @ vectors.T)
        distances[rows, first + rows] = np.inf
        near = np.argpartition(distances, candidates - 1, axis=1)[:, :candidates]
        exact = np.linalg.norm(vectors[near] - stripe[:, None, :], axis=2)
        exact.sort(axis=1)
        found[first : first + len(stripe)] = exact[:, :2]
    return found


@register(direction="higher", needs=["large sample"], no_interval=CHANGES, default=False)
def intrinsic_dimension(space: Space) -> Value:
    """Dimension of the surface on which the vectors lie, seen from neighbour to neighbour.

    Title: intrinsic dimension
    Symbol: TwoNN
    When: to see how many dimensions the data have locally
    Formula: slope of −ln(1 − F(μ)) against ln μ, μ = r₂/r₁ of the two nearest neighbours
    Range: (0, d]
    Reference: Facco et al. 2017 (TwoNN), the largest tenth of the ratios left out as there
    """
    sample = known(space.sample, "the sample").take(LARGE_SIZE).vectors
    # Equal rows are at distance 0 from each other, and r₂/r₁ would be a division by zero.
    vectors = np.unique(sample, axis=0)
    repeats = len(sample) - len(vectors)
    rows = len(vectors)
    if rows < 3:
        return Value(None, note="needs three different rows", rows=rows)
    # Centred, so that products of a far-off cloud do not drown the distances within it.
    ratios = np.sort(np.divide(*two_nearest(vectors - vectors.mean(axis=0)).T[::-1]))
    kept = int(KEPT_SHARE * rows)
    logs = np.log(ratios[:kept])
    levels = -np.log1p(-np.arange(1, kept + 1) / rows)
    note = f"on {counted(rows, 'sampled row')}; {CHANGES}"
    if repeats:
        note += f"; {counted(repeats, 'repeated row')} left out"
    if float(logs @ logs) == 0:
        return Value(None, note="all neighbours are equally far: no ratio tells", rows=rows)
    # Least squares for a line through the origin, as F(1) = 0 leaves no intercept to fit.
    return Value(float(logs @ levels) / float(logs @ logs), note=note, rows=rows)
