"""The plane that a cloud is drawn on: its first two principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.corrections.summary import read_summary
from isoscope.data.arrays import ArrayCloud
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from numpy.typing import NDArray


TIED = 0.999
"""Variances from this share of the largest on are one: a whitened cloud has no first component."""


@dataclass(frozen=True)
class Plane:
    """Two directions of a space.

    Attributes
    ----------
    mean : array of shape (d,)
        Of the cloud: the middle of the picture.
    axes : array of shape (d, 2)
        Unit vectors; the second is zero in one dimension.
    shares : tuple of float
        What part of the variance lies along each.
    """

    mean: NDArray[np.float32]
    axes: NDArray[np.float32]
    shares: tuple[float, float]

    def of(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return where vectors are drawn."""
        return np.asarray((vectors - self.mean) @ self.axes, np.float32)


def find_plane(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int64],
    before: NDArray[np.float32] | None = None,
) -> Plane:
    """Find the plane of the largest variance.

    The sign of a component is open, and so is every component of a cloud with the same variance
    all around, which whitening makes. Both are settled so that the picture stays as near as can be
    to the one before.

    Parameters
    ----------
    vectors : array of shape (n, d)
        The cloud.
    rows : array of int
        Some of its rows.
    before : array of shape (len(rows), 2), optional
        Where these were drawn before a correction.
    """
    summary = read_summary(ArrayCloud(vectors), MomentParts(dimensions=False), precision="single")
    system = summary.geometry.centred
    mean = summary.moments.mean.astype(np.float32)
    tied = int(np.sum(system.values >= TIED * system.values[0]))
    span = system.vectors[:, : max(tied, 2)]
    turn = np.eye(span.shape[1], 2)
    if before is not None:
        like = ((vectors[rows] - mean) @ span).T @ (before - before.mean(axis=0))
        turn = nearest_turn(like) if tied > 2 else turn * np.where(np.diag(like) < 0, -1.0, 1.0)
    axes = span @ turn
    total = float(system.values.sum())
    variances = (turn**2).T @ system.values[: span.shape[1]]
    first, second = variances / total if total > 0 else (0.0, 0.0)
    return Plane(mean, axes.astype(np.float32), (float(first), float(second)))


def nearest_turn(like: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two orthonormal columns Q with the largest trace of Qᵀ like (Procrustes)."""
    left, _, right = np.linalg.svd(like, full_matrices=False)
    turn: NDArray[np.float64] = left @ right
    return turn
