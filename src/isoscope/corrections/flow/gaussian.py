"""The first, linear step of the flow: the best Gaussian, found in closed form.

With the correlation matrix R = V Λ Vᵀ of the dimensions and their deviations σ, the step is
w = ((x − μ) / σ) V ((1 − a) Λ + a)^(−1/2): whitening with R drawn towards the identity by a share
a, as Ledoit & Wolf 2004 draw a covariance, but by what makes held-out vectors likeliest.

Gradient steps would need long to learn a covariance that one decomposition gives. What is left to
the network is what no Gaussian has.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.base import EPSILON
from isoscope.errors import DataError
from isoscope.measures.reads.geometry import SUM_ROUNDINGS, dead_variance, oriented

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.measures.reads.moments import Moments
    from isoscope.typing import Matrix, Vector


# Shares of the identity that are tried; a fifth apart is nearer than any cloud can tell.
SHARES = np.concatenate(([0.0], np.geomspace(1e-6, 1.0, 61)))


@dataclass(frozen=True)
class Prewhitening:
    """w = (x − mean) · forward, x = mean + w · backward, on the k directions that have variance.

    ``frame`` turns a vector of k numbers back towards the axes of x: y = w · frame. Its rows are
    orthonormal, so that a normal distribution stays one.
    """

    mean: Vector
    forward: Matrix
    backward: Matrix
    frame: Matrix
    log_det: float
    """−½ ln det(backward · backwardᵀ): how much the k-dimensional volume shrinks or grows, ln."""
    shrinkage: float
    """Share of the identity in the correlation matrix that was decomposed."""
    dropped: NDArray[np.int64]
    """Dimensions without variance."""

    @property
    def n_directions(self) -> int:
        """Number k of directions that have variance."""
        return len(self.frame)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields as arrays."""
        return {item.name: np.asarray(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Prewhitening:
        """Rebuild what ``to_arrays`` took apart."""
        values: dict[str, Any] = {item.name: arrays[item.name] for item in fields(cls)}
        scalars = {name: float(values[name]) for name in ("log_det", "shrinkage")}
        return cls(**{**values, **scalars})


def best_shrinkage(values: Vector, squares: Vector, *, few: bool) -> float:
    """How far to draw a correlation matrix towards the identity.

    The share a that makes vectors which were not seen likeliest, that is, for which
    Σ_k ln λ_k(a) + s_k/λ_k(a) is least, where λ_k(a) = (1 − a) λ_k + a.

    Parameters
    ----------
    values : array
        Eigenvalues λ_k of the correlation matrix.
    squares : array
        s_k, the mean square of unseen, standardised vectors along each eigenvector.
    few : bool
        Whether the matrix comes from too few rows to have an inverse, so that a is not 0.
    """
    shares = SHARES[1:] if few else SHARES
    drawn = (1 - shares[:, None]) * values + shares[:, None]
    # Twice the negative log-likelihood of a Gaussian on these axes, less a constant. Eigenvalues of
    # few rows spread too widely, and unseen rows show by how much.
    return float(shares[np.argmin((np.log(drawn) + squares / drawn).sum(axis=1))])


def prewhiten(moments: Moments, stored: str, unseen: Matrix) -> Prewhitening:
    """Whiten by the shrunk correlation matrix of the dimensions that are alive.

    Parameters
    ----------
    moments : Moments
        Sums over the training rows, with the scatter matrix.
    stored : str
        Type in which the rows are stored.
    unseen : array of shape (rows, width)
        Other rows, by which the shrinkage is chosen.
    """
    alive = np.diag(moments.covariance) > dead_variance(moments, stored)
    if not alive.any():
        raise DataError(
            f"all {moments.width} dimensions are constant in the training rows; "
            "a flow needs vectors that differ"
        )
    covariance = moments.covariance[np.ix_(alive, alive)]
    deviations = np.sqrt(np.diag(covariance))
    # Correlations are shrunk, not covariances: towards the identity a covariance would be drawn to
    # one scale for all dimensions, however much these differ.
    correlation = covariance / np.multiply.outer(deviations, deviations)
    values, vectors = np.linalg.eigh(correlation)
    vectors = oriented(vectors)
    rows, width = moments.rows, len(values)
    few = rows <= width
    if not few:
        # Enough rows to know that a direction is empty, as Σ x_j = 0 after a layer norm: its
        # likelihood would have no bound.
        noise = dead_variance(moments, stored) / np.square(deviations)
        sums = SUM_ROUNDINGS * values[-1] * width * EPSILON["float64"]
        # The rounding of each dimension has its own size once it is divided by its deviation; an
        # eigenvector mixes them with its squared entries.
        present = values > np.maximum(noise @ np.square(vectors), sums)
        values, vectors = values[present], vectors[:, present]
    standardised = (unseen - moments.mean)[:, alive] / deviations
    squares = np.square(standardised @ vectors).mean(axis=0)
    share = best_shrinkage(values, squares, few=few)
    lengths = np.sqrt((1 - share) * values + share)
    forward = np.zeros((moments.width, len(values)))
    backward = np.zeros((len(values), moments.width))
    frame = np.zeros_like(backward)
    forward[alive] = vectors / deviations[:, None] / lengths
    backward[:, alive] = (vectors * lengths).T * deviations
    frame[:, alive] = vectors.T
    # R of backwardᵀ = QR: squaring backward would lose half of the digits.
    volume = np.abs(np.diag(np.linalg.qr(backward.T, mode="r")))
    return Prewhitening(
        mean=moments.mean,
        forward=forward,
        backward=backward,
        frame=frame,
        log_det=-float(np.log(volume).sum()),
        shrinkage=share,
        dropped=np.flatnonzero(~alive),
    )
