"""How alike two spaces are that hold the same rows: two models, two versions, two layers.

- The overlap of neighbours, the mean over rows of |N_A(i) ∩ N_B(i)| / k, with N the k nearest rows
  by cosine.
- Linear CKA, see ``isoscope.verbs.diff.paired.cka``.
- Spearman's ρ between the cosines that random pairs of rows have in both spaces, as in
  representational similarity analysis (Kriegeskorte et al. 2008).

None of the figures needs the same axes, or as many, in both; only the cosine between a row's two
vectors does, and it is given where dimensions are equal.

References
----------
Kriegeskorte, Mur & Bandettini (2008), Representational similarity analysis: connecting the branches
of systems neuroscience, Frontiers in Systems Neuroscience 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoscope.compute.nearest_neighbours import has_direction, nearest_rows, shared
from isoscope.compute.stats.estimates import CORRELATION, Score, clustered_mean, spearman, undefined
from isoscope.data.arrays import unit_rows
from isoscope.errors import UsageError
from isoscope.typing import Ids, Matrix
from isoscope.verbs.diff.paired.cka import LinearCKA, linear_cka
from isoscope.verbs.diff.two_clouds import TwoSides

# Why a figure has no interval.
EXACT = "exact: A and B hold the same vectors"


@dataclass(frozen=True)
class SameRows:
    """The figures of two spaces with the same rows.

    ``sampled`` rows have a direction in both spaces, the others are ``without_direction``. The
    overlap is the share of the k nearest rows that both spaces have in common; of neighbours drawn
    at random it would be ``chance`` = k / (n − 1). ``to_partner`` is the mean cosine between a
    row's two vectors, None where dimensions differ.
    """

    k: int
    rows: int
    sampled: int
    without_direction: int
    overlap: Score
    chance: float
    cka: LinearCKA
    rank_correlation: Score
    to_partner: Score | None


def compare_same_rows(two: TwoSides, k: int, seed: int) -> SameRows:
    """Compare two spaces row by row.

    Parameters
    ----------
    two : TwoSides
        Two clouds that were read in step.
    k : int
        Neighbours of each row.
    seed : int
        Of the random pairs.
    """
    assert two.cross is not None
    vectors = [side.sample.vectors for side in (two.a, two.b)]
    known = has_direction(vectors[0]) & has_direction(vectors[1])
    a, b = (one[known] for one in vectors)
    units = two.a.sample.groups[known]
    if k > len(a) - 2:
        raise UsageError(f"{k} neighbours need {k + 2} sampled rows with a direction, not {len(a)}")
    overlaps = shared(nearest_rows(a, k), nearest_rows(b, k))
    return SameRows(
        k=k,
        rows=two.a.moments.rows,
        sampled=len(a),
        without_direction=int((~known).sum()),
        overlap=clustered_mean(overlaps, units),
        chance=k / (len(a) - 1),
        cka=linear_cka(two.cross, (two.a.scatter, two.b.scatter)),
        rank_correlation=ranked_pairs(a, b, seed),
        to_partner=partners(a, b, units) if two.same_width else None,
    )


def equal_spaces(two: TwoSides, k: int) -> SameRows:
    """Return the figures of two spaces that are one: exactly 1, whatever was sampled."""
    rows = two.a.moments.rows
    exact = Score(1.0, None, None, rows, EXACT)
    sampled = len(two.a.sample.keys)
    return SameRows(
        k=k,
        rows=rows,
        sampled=sampled,
        without_direction=0,
        overlap=exact,
        chance=k / (sampled - 1),
        cka=LinearCKA(1.0, 1.0, EXACT),
        rank_correlation=exact,
        to_partner=exact,
    )


def ranked_pairs(a: Matrix, b: Matrix, seed: int) -> Score:
    """Spearman's ρ between the cosines of random pairs in both spaces.

    No row is in two pairs: pairs that share one are not independent, and an interval would be too
    short.
    """
    order = np.random.default_rng(seed).permutation(len(a))
    half = len(a) // 2
    cosines = []
    for vectors in (a, b):
        units = unit_rows(vectors)
        first, second = units[order[:half]], units[order[half : 2 * half]]
        cosines.append(np.einsum("ij,ij->i", first, second))
    return spearman(*cosines)


def partners(a: Matrix, b: Matrix, units: Ids) -> Score:
    """Mean cosine between the two vectors of a row."""
    cosines = np.einsum("ij,ij->i", unit_rows(a), unit_rows(b))
    if not len(cosines):
        return undefined("no row has a direction in both", 0)
    return clustered_mean(cosines, units, CORRELATION)
