"""Between the two reads: the directions in which a cloud is measured.

The covariance is S = Σ w_i (x_i − μ)(x_i − μ)ᵀ / Σ w_i = V Λ Vᵀ, the second moment S + μ μᵀ. The
partition function is taken over the eigenvectors of the second moment. Where eigenvalues
repeat, eigenvectors are whatever the LAPACK build made of the rounding; here such a group gets a
basis that rounding cannot change, and the measures say that it was a choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.threads import in_parallel
from isoscope.data.base import EPSILON

if TYPE_CHECKING:
    from isoscope.measures.reads.moments import Moments
    from isoscope.typing import Matrix, Vector


# Eigenvalues closer than this, relative to the larger one, count as repeated (float64 sums). An
# error of relative size e in the matrix turns two eigenvectors into each other by about e / gap, so
# that the directions of close eigenvalues are decided by rounding.
REPEATED_GAP = 1e-6

# An eigenvalue of up to this many roundings of d times the largest is zero: the decomposition
# itself is only good to a small multiple of d · eps of the largest eigenvalue, so that whatever is
# smaller may have been made by it.
SUM_ROUNDINGS = 8

# A mean vector of up to this many roundings of the vectors' length is zero.
NULL_ROUNDINGS = 8

# Coordinate axes whose shares in an eigenspace differ by less than this are tied.
TIE = 1e-8


@dataclass(frozen=True)
class EigenSystem:
    """Eigenvalues in falling order, eigenvectors in columns, and where eigenvalues repeat.

    Of a cloud of fewer rows than dimensions there are fewer eigenvectors than eigenvalues: the
    cloud has no extent in the others, whose eigenvalues are zero.
    """

    values: Vector
    vectors: Matrix
    repeated: tuple[slice, ...]
    """Runs of at least two eigenvalues, above zero, that cannot be told apart."""

    def coordinates(self, rows: Matrix) -> Matrix:
        """Return rows on all eigenvectors; they are zero on those that are not there."""
        return self.padded(rows @ self.vectors)

    def padded(self, columns: Matrix) -> Matrix:
        """Add zeros for the eigenvectors that are not there."""
        missing = len(self.values) - columns.shape[1]
        return np.pad(columns, ((0, 0), (0, missing))) if missing else columns

    def combined(self, weights: Vector, *, squared: bool = False) -> Vector:
        """Return Σ_k w_k v_k over the eigenvectors, or Σ_k w_k v_k² by dimension."""
        basis = self.vectors * self.vectors if squared else self.vectors
        return np.asarray(basis @ weights[: self.vectors.shape[1]])


@dataclass(frozen=True)
class CentredGeometry:
    """Eigen-system of the covariance, and what it takes for a direction to count as empty."""

    centred: EigenSystem
    """Of the covariance."""
    dead_variance: float
    """A variance up to this is rounding: (eps · root mean square entry)²."""
    null_variance: float
    """An eigenvalue up to this is rounding of the stored numbers or of the sums."""
    null_length: float
    """A mean vector up to this long is rounding: 8 eps · root mean square length."""


@dataclass(frozen=True)
class Geometry(CentredGeometry):
    """Both eigen-systems of a cloud."""

    raw: EigenSystem | None
    """Of the second moment, XᵀX / n; None where nobody asks for its directions."""


def geometry_of(
    moments: Moments,
    stored: str,
    *,
    spectrum: bool = True,
    centred_vectors: bool = True,
    raw: bool = True,
) -> Geometry:
    """Decompose the second moment and the covariance, side by side.

    Without ``centred_vectors`` the covariance has eigenvalues alone, in a third of the time: all
    that a cloud as it is needs. Without ``raw`` the second moment is left alone, whose directions
    only partition sums and the alignment of the mean need. Without ``spectrum``, where these alone
    are wanted, the covariance is left alone, and its eigen-system is empty.
    """
    if moments.factor is not None:
        return wide_geometry(moments, moments.factor, stored)
    decompose = eigen_system if centred_vectors else eigenvalues_alone
    if not raw:
        only = decompose(moments.covariance)
        return Geometry(raw=None, **vars(with_floors(only, moments, stored)))
    # Both matrices are decomposed: I1 is defined on the eigenvectors of XᵀX, in which the mean
    # still is, whereas corrections begin by taking the mean away.
    covariance = moments.covariance
    second = covariance + np.multiply.outer(moments.mean, moments.mean)
    if not spectrum:
        nothing = EigenSystem(np.empty(0), np.empty((moments.width, 0)), ())
        return Geometry(raw=eigen_system(second), **vars(with_floors(nothing, moments, stored)))
    both, centred = in_parallel([partial(eigen_system, second), partial(decompose, covariance)])
    return Geometry(raw=both, **vars(with_floors(centred, moments, stored)))


def wide_geometry(moments: Moments, factor: Matrix, stored: str) -> Geometry:
    """Decompose a factor of the scatter instead of d × d matrices.

    With F = U Σ Vᵀ the covariance FᵀF / w has the eigenvectors V and the eigenvalues Σ² / w. The
    second moment is that of F with one row more, √w μ.
    """
    scaled = factor / math.sqrt(moments.weight)
    both = np.concatenate((scaled, [moments.mean]))
    raw, centred = in_parallel([partial(thin_eigen_system, rows) for rows in (both, scaled)])
    return Geometry(raw=raw, **vars(with_floors(centred, moments, stored)))


def thin_eigen_system(factor: Matrix) -> EigenSystem:
    """Decompose FᵀF for a factor F of fewer rows than columns."""
    _, singular, rows = np.linalg.svd(factor, full_matrices=False)
    values = np.zeros(factor.shape[1])
    values[: len(singular)] = singular**2
    return settled_system(values, np.ascontiguousarray(rows.T))


def centred_geometry_of(moments: Moments, stored: str) -> CentredGeometry:
    """Decompose the covariance alone, which is all that corrections need."""
    return with_floors(eigen_system(moments.covariance), moments, stored)


def with_floors(centred: EigenSystem, moments: Moments, stored: str) -> CentredGeometry:
    """Say from where on eigenvalues and lengths are more than rounding."""
    dead = dead_variance(moments, stored)
    null = null_variance(moments, stored, float(centred.values.max(initial=0.0)))
    # The dead variance is that of one entry; times the width it is the squared rounding of a whole
    # vector.
    null_length = NULL_ROUNDINGS * math.sqrt(dead * moments.width)
    return CentredGeometry(centred, dead, null, null_length)


def dead_variance(moments: Moments, stored: str) -> float:
    """Variance up to which a dimension is rounding: (eps · root mean square entry)².

    Small numbers in half precision have a rounding of their own, far below that of the largest:
    only what single precision would drown beside the others counts as rounding. Entries are taken
    with the mean in them, because that is how they were rounded when they were stored.
    """
    eps = min(EPSILON[stored], EPSILON["float32"])
    return eps**2 * moments.norm_square_sum / moments.weight / moments.width


def null_variance(moments: Moments, stored: str, largest: float) -> float:
    """Eigenvalue up to which a direction is rounding of the stored numbers or of the sums.

    Two causes, and the larger one decides. Numbers were rounded when they were stored, which adds
    a variance of its own to every direction; and the sums and the decomposition round as well, in
    proportion to the largest eigenvalue. Dividing by the root of such a variance, as whitening
    does, would blow rounding up to the size of all other directions.
    """
    sums = SUM_ROUNDINGS * largest * moments.width * EPSILON["float64"]
    return max(dead_variance(moments, stored), sums)


def eigen_system(symmetric: Matrix) -> EigenSystem:
    """Decompose a covariance-like matrix, with settled bases where eigenvalues repeat."""
    values, vectors = np.linalg.eigh(symmetric)
    # Rounding may make the smallest eigenvalues of a covariance negative.
    return settled_system(np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1]))


def settled_system(values: Vector, vectors: Matrix) -> EigenSystem:
    """Give falling eigenvalues that repeat a settled basis, and all eigenvectors a sign."""
    null = SUM_ROUNDINGS * values[0] * len(values) * EPSILON["float64"]
    repeated = repeated_runs(values, null)
    for run in repeated:
        vectors[:, run] = settled_basis(vectors[:, run])
    return EigenSystem(values, oriented(vectors), repeated)


def eigenvalues_alone(symmetric: Matrix) -> EigenSystem:
    """Return the eigenvalues of a covariance-like matrix, and no eigenvectors."""
    values = np.maximum(np.linalg.eigvalsh(symmetric)[::-1], 0.0)
    return EigenSystem(values, np.empty((len(values), 0)), ())


def oriented(vectors: Matrix) -> Matrix:
    """Turn every eigenvector so that its largest entry, the first of equals, is positive.

    The sign is as open as a basis is: this one does not depend on rounding or the LAPACK build.
    """
    # Entries within TIE of the largest are equals: rounding alone would decide between them.
    sizes = np.abs(vectors)
    largest = np.argmax(sizes >= sizes.max(axis=0) - TIE, axis=0)
    return vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def repeated_runs(values: Vector, null: float, gap: float = REPEATED_GAP) -> tuple[slice, ...]:
    """Find runs of falling eigenvalues above ``null`` whose neighbours differ by less than gap."""
    present = values > null
    # A chain of close neighbours is one run, even if its ends are further apart than the gap: any
    # two neighbours in it may have been mixed by rounding. As values fall, the later one of a pair
    # being above zero is enough.
    close = (values[:-1] - values[1:] < gap * values[:-1]) & present[1:]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], close, [False])).astype(np.int8)))
    return tuple(slice(int(a), int(b) + 1) for a, b in edges.reshape(-1, 2))


def settled_basis(vectors: Matrix) -> Matrix:
    """Choose a basis of an eigenspace from the space alone, not from the vectors that span it.

    Greedy: the coordinate axis that lies deepest in what is left of the space, lowest index among
    equals, gives the next vector. The result depends on the coordinate axes (a rotation changes
    it, as any choice must) but not on rounding, row order or the LAPACK build.
    """
    if vectors.shape[0] == vectors.shape[1]:
        # The whole space, as after whitening: every axis lies in it.
        return np.eye(len(vectors))
    # Rows of the projector on the space, and how much of each axis lies in what is left of it.
    # Unlike the vectors that span the space, they stay the same when these are rotated within it,
    # which is what makes the choice independent of the LAPACK build.
    projector = vectors @ vectors.T
    depth = np.diagonal(projector).copy()
    settled = np.empty_like(vectors, order="F")
    for position in range(vectors.shape[1]):
        axis = int(np.flatnonzero(depth >= depth.max() - TIE)[0])
        # The projection of the axis, less that on the directions before (a Cholesky decomposition
        # of the projector with pivots), and once more what rounding left of these.
        before = settled[:, :position]
        direction = projector[axis] - before @ before[axis]
        direction -= before @ (before.T @ direction)
        direction /= np.linalg.norm(direction)
        settled[:, position] = direction
        depth -= direction * direction
    return settled
