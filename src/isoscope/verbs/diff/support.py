"""How much of one cloud lies where the other has no rows.

The sample of A is dealt into a reference and a held-out part. The strangeness of a row is its
Euclidean distance to the k-th nearest row of the reference. A row of B is outside A's support at
95 % when it is further than the ⌈0.95 (m + 1)⌉-th of the m held-out rows of A. Held-out rows of A
and rows of B meet the same reference, so that under equality a row of B is outside with a chance of
5 %, exactly, whatever the distribution and the width (split conformal novelty detection; Vovk et
al. 2005). What exceeds that is the finding. Documents are held out as a whole; of clouds with the
same rows, B's rows are the partners of A's held-out ones, never of the reference.

Balls around every row with the distance to its k-th neighbour as radius (Kynkäänniemi et al. 2019)
are kin, but how much of A itself lies in them is not known.

The interval resamples held-out rows of A and rows of B (bootstrap, percentiles; documents as a
whole): it has the error of the limit in it. The reference stays. Both directions, B outside A and A
outside B, are judged together: a share is called different where an interval of 97.5 % excludes the
expected one (Bonferroni), so that of equal clouds at most 5 % are.

References
----------
Vovk, Gammerman & Shafer (2005), Algorithmic learning in a random world. Laxhammar & Falkman (2010),
Conformal prediction for distribution-independent anomaly detection in streaming vessel data.
Kynkäänniemi, Karras, Laine, Lehtinen & Aila (2019), Improved precision and recall metric for
assessing generative models, NeurIPS.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from isoscope.compute.stats.estimates import Estimate
from isoscope.data.sampling import row_keys
from isoscope.typing import Ids, Matrix, Vector
from isoscope.verbs.diff.names import SUPPORT_LIMIT

# Rows of each cloud, half of them reference.
SAMPLE = 4_000

# k: more is smoother, fewer sees smaller holes.
NEIGHBOUR = 5

LEVELS = (0.95, 0.99)
RESAMPLES = 1_000
STRIPE = 512

# Not that of any sample: which rows are held out has nothing to do with which were drawn.
SPLIT_SEED = 0x5911


@dataclass(frozen=True)
class Outside(Estimate):
    """Share of a cloud outside the support of another.

    Attributes
    ----------
    level : float
        Share of the other cloud itself that lies inside.
    held_out : int
        Rows of the other cloud that set the limit.
    differs : int
        1 or −1 where the share is significantly larger or smaller than the expected one, by more
        than is negligible; 0 otherwise.
    """

    level: float = LEVELS[0]
    held_out: int = 0
    differs: int = 0

    @property
    def expected(self) -> float:
        """Share of the other cloud itself that lies outside."""
        return 1 - self.level


def outside(
    a: Matrix, units_a: Ids, b: Matrix, units_b: Ids, *, paired: bool, seed: int = 0
) -> list[Outside]:
    """Return the share of B outside the support of A, at every level.

    Parameters
    ----------
    a, b : array of shape (rows, width)
        Rows of both clouds.
    units_a, units_b : array of int
        The document of each row, or a number of its own.
    paired : bool
        Row i of ``a`` and row i of ``b`` are of one thing.
    seed : int
        Of the resampling.
    """
    # The highest bit of a document's hash is a fair coin, and the same for all of its rows.
    held = row_keys(units_a, SPLIT_SEED) >> np.uint64(63) == 1
    chosen = held if paired else np.ones(len(b), np.bool_)
    reference = a[~held]
    if len(reference) < NEIGHBOUR or not held.any():
        return [Outside(None, None, None, 0, "too few documents", level) for level in LEVELS]
    own = strangeness(a[held], reference)
    other = strangeness(b[chosen], reference)
    random = np.random.default_rng(seed)
    weights = resampled(units_a[held], units_b[chosen], paired, random)
    return [share_outside(own, other, weights, level) for level in LEVELS]


def strangeness(rows: Matrix, reference: Matrix) -> Vector:
    """Distance of every row to its k-th nearest row of the reference."""
    # Centred, so that products of a far-off cloud do not drown the distances within it.
    middle = reference.mean(axis=0)
    rows, reference = rows - middle, reference - middle
    squares = np.einsum("ij,ij->i", reference, reference)
    found = np.empty(len(rows))
    for first in range(0, len(rows), STRIPE):
        stripe = rows[first : first + STRIPE]
        distances = squares - 2 * (stripe @ reference.T)
        nearest = np.partition(distances, NEIGHBOUR - 1, axis=1)[:, NEIGHBOUR - 1]
        found[first : first + len(stripe)] = nearest + np.einsum("ij,ij->i", stripe, stripe)
    return np.sqrt(np.maximum(found, 0.0))


def share_outside(
    own: Vector, other: Vector, weights: list[tuple[Vector, Vector]], level: float
) -> Outside:
    """Return the share of strange rows with its interval."""
    place = math.ceil(level * (len(own) + 1))
    if place > len(own):
        note = f"needs {math.ceil(1 / (1 - level)) - 1} held-out rows, and there are {len(own)}"
        return Outside(None, None, None, len(other), f"undefined: {note}", level, len(own))
    share = float((other > np.partition(own, place - 1)[place - 1]).mean())
    order = np.argsort(own)
    sorted_own = own[order]
    shares = []
    for of_own, of_other in weights:
        below = np.cumsum(of_own[order])
        # ≥ but for rounding, as the limit without resampling
        limit = sorted_own[np.searchsorted(below, level * below[-1] * (1 - 1e-12))]
        shares.append(float(of_other[other > limit].sum() / of_other.sum()))
    lowest, low, high, highest = np.percentile(shares, (1.25, 2.5, 97.5, 98.75)).tolist()
    expected = 1 - level
    side = int(lowest > expected) - int(highest < expected)
    differs = side if abs(share - expected) > SUPPORT_LIMIT else 0
    return Outside(share, low, high, len(other), "", level, len(own), differs)


def resampled(
    units_own: Ids, units_other: Ids, paired: bool, random: np.random.Generator
) -> list[tuple[Vector, Vector]]:
    """Return how often each row is drawn, documents as a whole, in every resample."""
    own, place_own = np.unique(units_own, return_inverse=True)
    other, place_other = np.unique(units_other, return_inverse=True)
    weights = []
    for _ in range(RESAMPLES):
        of_own = drawn(len(own), random)
        of_other = of_own if paired else drawn(len(other), random)
        weights.append((of_own[place_own], of_other[place_other]))
    return weights


def drawn(count: int, random: np.random.Generator) -> Vector:
    """Return how often each of some units is drawn, with as many draws as units."""
    draws = np.bincount(random.integers(0, count, count), minlength=count)
    return draws.astype(np.float64)
