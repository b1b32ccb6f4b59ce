"""The first, linear step of the flow: the best Gaussian, found in closed form.

Gradient steps would need long to learn a covariance that one decomposition gives. What is left to
the network is what no Gaussian has.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.contract import EPSILON
from isoscope.errors import DataError
from isoscope.measures.geometry import SUM_ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.measures.moments import Moments

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]


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


def living_dimensions(moments: Moments, stored: str) -> NDArray[np.bool_]:
    """Tell which dimensions vary by more than the rounding of the stored numbers.

    The floor is that of the measures: (eps · root mean square entry)², with an eps not coarser
    than that of single precision.
    """
    return np.asarray(np.diag(moments.covariance) > rounding_variance(moments, stored))


def rounding_variance(moments: Moments, stored: str) -> float:
    """Return the variance that rounding alone can give a dimension."""
    eps = min(EPSILON[stored], EPSILON["float32"])
    return eps**2 * moments.norm_square_sum / moments.weight / moments.width


def shrinkage_of(correlation: Matrix, fourth_moment: float, rows: int) -> float:
    """How far to draw a correlation matrix R of d dimensions towards the identity.

    β/δ with β = (mean ‖z‖⁴ − ‖R‖²)/n and δ = ‖R − I‖² (Ledoit & Wolf 2004): the share at which
    the expected squared error is least. Rows in the number of dimensions or fewer leave directions
    in which R sees no variance at all; the identity has a share of at least 1/(n + 1) then.
    """
    width = len(correlation)
    squares = float(np.square(correlation).sum())
    spread = squares - width
    error = max(fourth_moment - squares, 0.0) / rows
    share = min(error / spread, 1.0) if spread > 0 else 0.0
    return max(share, 1 / (rows + 1)) if rows <= width else share


def prewhiten(
    moments: Moments, stored: str, alive: NDArray[np.bool_], fourth: float
) -> Prewhitening:
    """Whiten by the shrunk correlation matrix of the dimensions that are alive.

    Parameters
    ----------
    moments : Moments
        Sums over the training rows, with the scatter matrix.
    stored : str
        Type in which the rows are stored.
    alive : array of bool
        ``living_dimensions`` of these moments.
    fourth : float
        Mean of ‖z‖⁴ over the standardised, living dimensions z of the rows.
    """
    if not alive.any():
        raise DataError(
            f"all {moments.width} dimensions are constant in the training rows; "
            "a flow needs vectors that differ"
        )
    covariance = moments.covariance[np.ix_(alive, alive)]
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.multiply.outer(deviations, deviations)
    values, vectors = np.linalg.eigh(correlation)
    rows, width = moments.rows, len(values)
    if rows > width:
        # Enough rows to know that a direction is empty, as Σ x_j = 0 after a layer norm: its
        # likelihood would have no bound.
        noise = rounding_variance(moments, stored) / np.square(deviations)
        sums = SUM_ROUNDINGS * values[-1] * width * EPSILON["float64"]
        present = values > np.maximum(noise @ np.square(vectors), sums)
        values, vectors = values[present], vectors[:, present]
    share = shrinkage_of(correlation, fourth, rows)
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
