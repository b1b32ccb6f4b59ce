"""Mean and scatter of rows that come part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


class RunningScatter:
    """Mean and scatter in float64, merged part by part in place (Chan, Golub & LeVeque 1983)."""

    def __init__(self, width: int) -> None:
        self.weight = 0.0
        self.mean = np.zeros(width)
        self.scatter = np.zeros((width, width))

    def add(self, weight: float, near: Vector, rest: Vector, product: NDArray[Any]) -> None:
        """Take a part into account.

        Parameters
        ----------
        weight : float
            Σ w of its rows.
        near : array of shape (width,)
            A point p near the mean of the rows.
        rest : array of shape (width,)
            Σ w (x − p) / Σ w, what p lacks.
        product : array of shape (width, width)
            Σ w (x − p)(x − p)ᵀ, in single or double precision.
        """
        total = self.weight + weight
        if total == 0:
            return
        step = near + rest - self.mean
        self.scatter += product
        # What p lacked is in the product of every row; the means of both parts differ by a step.
        between = np.array([step * np.sqrt(self.weight * (weight / total)), rest * np.sqrt(weight)])
        self.scatter += (between * [[1.0], [-1.0]]).T @ between
        self.mean = self.mean + step * (weight / total)
        self.weight = total
