"""Mean and scatter of rows that come part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Matrix = NDArray[np.float64]


PENDING = 64
"""Directions between means that wait for one product instead of many of rank one."""


class RunningScatter:
    """Mean and scatter in float64, merged part by part in place (Chan, Golub & LeVeque 1983)."""

    def __init__(self, width: int) -> None:
        self.weight = 0.0
        self.mean = np.zeros(width)
        self._scatter = np.zeros((width, width))
        self._between: list[Vector] = []
        self._signs: list[float] = []

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
        self._scatter += product
        # What p lacked is in the product of every row; the means of both parts are a step apart.
        self._between += [step * np.sqrt(self.weight * (weight / total)), rest * np.sqrt(weight)]
        self._signs += [1.0, -1.0]
        if len(self._signs) >= PENDING:
            self._settle()
        self.mean = self.mean + step * (weight / total)
        self.weight = total

    def scatter(self) -> Matrix:
        """Return Σ w (x − mean)(x − mean)ᵀ of everything so far."""
        self._settle()
        return self._scatter

    def _settle(self) -> None:
        if self._signs:
            between = np.array(self._between)
            self._scatter += (between * np.array(self._signs)[:, None]).T @ between
        self._between, self._signs = [], []
