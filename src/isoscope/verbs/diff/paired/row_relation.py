"""Are rows with the same number of the same thing?

Without ids, as many rows may be the same rows, or two months of a store. If rows with the same
number are of one thing, then rows that are close in A are close in B. With K and L the products of
centred unit rows of both clouds, without their diagonals, and σ an order of the rows of B,

    T(σ) = Σ_ij K_ij L_σ(i)σ(j) / (‖K‖ ‖L‖),

which is a correlation like linear CKA, and needs neither the same axes nor as many. T of the rows
as they stand is compared with T of all rotations σ(i) = i + s: where the rows have nothing to do
with each other it is the largest of n in one case of n. Rotations, not random orders, because files
are often sorted by topic or by date: then rows that stand near each other are alike in both clouds
without being the same, and T falls slowly from one rotation to the next. So the rows are taken for
the same only if T clearly exceeds that of every rotation, and also what the rotations by one row
and by two let expect of none: 2 T₁ − T₂, on either side.

The rows are a random sample, the same of both clouds, in the order of the files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoscope.data.arrays import on_host
from isoscope.data.base import CloudGroup
from isoscope.data.sampling import draw
from isoscope.typing import Matrix, Vector

# Rows that are looked at: unrelated rows pass for related ones in less than one case of 512.
SAMPLE = 512

# Rows below which chance alone makes one rotation the largest too often.
FEWEST_ROWS = 20

# Share of what the rotations leave to 1 by which T must exceed them. In simulations of 500 rows,
# unrelated rows reach 0.00, rows of files that are sorted by topic 0.1 to 0.2 (more only where
# topics are far apart and have a handful of sampled rows each), and rows that share half of their
# variance 0.4 and more; two layers of MiniLM have 0.8.
MARGIN = 0.2


@dataclass(frozen=True)
class RowRelation:
    """How closely rows with the same number belong together.

    ``aligned`` is T of the rows as they stand, ``rotated`` the largest T of any rotation, and
    ``expected`` what the rotations let expect of ``aligned`` where rows with the same number are
    not the same; all are None where a cloud has no directions to compare. ``equal`` tells that all
    sampled rows are equal.
    """

    rows: int
    aligned: float | None
    rotated: float | None
    expected: float | None = None
    equal: bool = False

    @property
    def same(self) -> bool:
        """Whether rows with the same number are taken for the same thing."""
        if self.equal:
            return True
        if self.aligned is None or self.expected is None or self.rows < FEWEST_ROWS:
            return False
        return self.aligned > self.expected + MARGIN * (1 - self.expected)


def relate_rows(a: CloudGroup, b: CloudGroup, seed: int = 0) -> RowRelation:
    """Look at the same random rows of two clouds with as many rows."""
    first, second = (drawn_rows(group, seed) for group in (a, b))
    finite = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
    return relation(first[finite], second[finite])


def drawn_rows(group: CloudGroup, seed: int) -> Matrix:
    """Return a sample of the rows of a cloud, which depends on their number and the seed only."""
    sample = draw(group, SAMPLE, seed)
    name = sample.names[0]
    return np.concatenate(
        [on_host(batches[name].vectors, slice(None)) for batches in sample.batches()]
    )


def relation(a: Matrix, b: Matrix) -> RowRelation:
    """Compare rows in their order with all rotations of them."""
    rows = len(a)
    if a.shape == b.shape and np.array_equal(a, b):
        return RowRelation(rows, 1.0, None, equal=True)
    first, second = similarities(a), similarities(b)
    if first is None or second is None or rows < FEWEST_ROWS:
        return RowRelation(rows, None, None)
    values = rotations(first, second)
    rotated = float(values[1:].max())
    continued = max(2 * values[1] - values[2], 2 * values[-1] - values[-2])
    return RowRelation(rows, float(values[0]), rotated, max(rotated, float(continued)))


def similarities(vectors: Matrix) -> Matrix | None:
    """Return the products of centred unit rows without the diagonal, scaled to norm 1."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(norms > 0, norms, 1.0)
    rows = rows - rows.mean(axis=0)
    products = rows @ rows.T
    # Products of a row with itself say nothing of others, and of few rows they are the largest.
    np.fill_diagonal(products, 0.0)
    # Centring makes all products of different rows a little negative; that is no similarity.
    products -= products.sum() / max(products.size - len(products), 1)
    np.fill_diagonal(products, 0.0)
    size = float(np.linalg.norm(products))
    return products / size if size > np.finfo(np.float64).eps * len(products) else None


def rotations(first: Matrix, second: Matrix) -> Vector:
    """Return T of every rotation of the second cloud, that of the rows as they stand first."""
    n = len(first)
    # The second matrix twice in both directions: a rotation of it is a window.
    doubled = np.tile(second, (2, 2))
    return np.array([np.einsum("ij,ij->", first, doubled[s : s + n, s : s + n]) for s in range(n)])
