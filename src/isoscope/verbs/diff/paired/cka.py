"""Linear CKA of two clouds of the same rows, from sums that one read of both takes.

With K = XXᵀ and L = YYᵀ of centred rows, linear CKA is HSIC(K, L) / √(HSIC(K, K) HSIC(L, L))
(Kornblith et al. 2019), and HSIC(K, L) = ‖XᵀY‖_F² up to a constant: no n × n matrix is needed.

That estimate is biased upwards unless n is far above the widths: of two unrelated clouds of 1,000
rows in 768 dimensions it makes 0.43. So there is a second one, of the unbiased HSIC of Song et al.
(2012), equation 5, which leaves out the products of rows with themselves. Of centred rows with
p_i = ‖x_i‖² and q_i = ‖y_i‖² it is

    n (n − 3) HSIC₁(K, L) = ‖XᵀY‖_F² − n/(n − 2) Σ p_i q_i + Σ p_i Σ q_i / ((n − 1)(n − 2)),

because rows of K sum to zero, so that without its diagonal row i sums to −p_i. Σ p_i q_i about the
final means follows from sums about any other point, here the means of the first batch: squares
are expanded, and nothing is read twice. The debiased one is 0 on average for unrelated clouds and
may be slightly below it; the plain one is what papers print, and both meet where n is large.

References
----------
Kornblith, Norouzi, Lee & Hinton (2019), Similarity of neural network representations revisited,
ICML. Song, Smola, Gretton, Bedo & Borgwardt (2012), Feature selection via dependence maximization,
JMLR 13. Murphy, Zylberberg & Fyshe (2024), Correcting biased centered kernel alignment measures in
biological and artificial neural networks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from isoscope.typing import Matrix, Vector

# HSIC₁ divides by n − 3.
FEWEST_ROWS = 4

# Share of a cloud's squared second moment below which its scatter is rounding, all squared.
CONSTANT = 1e-24


class CrossSums:
    """What CKA takes of batches of two clouds in step, about a fixed point of each; adds up.

    Parameters
    ----------
    shift_x, shift_y : array
        The fixed points; near the means, so that no digits are lost to a common offset.
    """

    def __init__(self, shift_x: Vector, shift_y: Vector) -> None:
        self.shifts = (shift_x, shift_y)
        x, y = len(shift_x), len(shift_y)
        self.rows = 0
        self.cross: Matrix = np.zeros((x, y))
        self.sums = (np.zeros(x), np.zeros(y))
        self.weighted = ((np.zeros(x), np.zeros(x)), (np.zeros(y), np.zeros(y)))
        """For each cloud Σ p_i x_i and Σ q_i x_i."""
        self.square_sums: Vector = np.zeros(2)
        """Σ p_i, Σ q_i"""
        self.square_products: Matrix = np.zeros((2, 2))
        """Σ p_i², Σ p_i q_i, Σ q_i²"""

    def add(self, x: Matrix, y: Matrix) -> None:
        """Take some rows of both into account."""
        rows = [x - self.shifts[0], y - self.shifts[1]]
        squares = np.stack([np.einsum("ij,ij->i", one, one) for one in rows])
        self.rows += len(x)
        self.cross += rows[0].T @ rows[1]
        self.square_sums += squares.sum(axis=1)
        self.square_products += squares @ squares.T
        for k, one in enumerate(rows):
            self.sums[k][:] += one.sum(axis=0)
            for weighted, weights in zip(self.weighted[k], squares, strict=True):
                weighted += weights @ one

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows about the same points."""
        self.rows += other.rows
        self.cross += other.cross
        self.square_sums += other.square_sums
        self.square_products += other.square_products
        for k in range(2):
            self.sums[k][:] += other.sums[k]
            for mine, theirs in zip(self.weighted[k], other.weighted[k], strict=True):
                mine += theirs
        return self


@dataclass(frozen=True)
class LinearCKA:
    """Both estimates; None where a cloud is constant or rows are too few."""

    plain: float | None
    debiased: float | None
    note: str = ""


def linear_cka(sums: CrossSums, scatters: tuple[Matrix, Matrix]) -> LinearCKA:
    """Return linear CKA from sums over all rows.

    Parameters
    ----------
    sums : CrossSums
        Sums of both clouds.
    scatters : tuple of array
        XᵀX and YᵀY of centred rows, which the moments of each cloud have.
    """
    n = sums.rows
    means = [total / n for total in sums.sums]
    cross = sums.cross - n * np.outer(means[0], means[1])
    plain = {(0, 0): square(scatters[0]), (1, 1): square(scatters[1]), (0, 1): square(cross)}
    for k in range(2):
        middle = means[k] + sums.shifts[k]
        if plain[k, k] <= CONSTANT * (n * float(middle @ middle)) ** 2:
            return LinearCKA(None, None, f"undefined: all rows of {'AB'[k]} are the same")
    biased = plain[0, 1] / math.sqrt(plain[0, 0] * plain[1, 1])
    if n < FEWEST_ROWS:
        return LinearCKA(biased, None, f"the debiased one needs {FEWEST_ROWS} rows")
    # The unbiased estimate needs products about the fixed points: n m mᵀ is put back.
    products = {
        (0, 0): scatters[0] + n * np.outer(means[0], means[0]),
        (1, 1): scatters[1] + n * np.outer(means[1], means[1]),
        (0, 1): sums.cross,
    }
    free = {
        pair: unbiased(sums, means, pair, value, products[pair]) for pair, value in plain.items()
    }
    if min(free[0, 0], free[1, 1]) <= 0:
        return LinearCKA(biased, None, "too few rows for the debiased one")
    return LinearCKA(biased, free[0, 1] / math.sqrt(free[0, 0] * free[1, 1]))


def square(matrix: Matrix) -> float:
    """‖M‖_F²"""
    return float(np.einsum("ij,ij->", matrix, matrix))


def unbiased(
    sums: CrossSums, means: list[Vector], pair: tuple[int, int], plain: float, products: Matrix
) -> float:
    """n (n − 3) HSIC₁ of two of the kernels.

    ``plain`` is ‖XᵀY‖_F² of centred rows, ``products`` is XᵀY about the fixed points.
    """
    n = sums.rows
    one, other = pair
    totals = [float(sums.square_sums[k] - n * means[k] @ means[k]) for k in range(2)]
    lengths = centred_lengths(sums, means, one, other, products)
    return plain - n / (n - 2) * lengths + totals[one] * totals[other] / ((n - 1) * (n - 2))


def centred_lengths(
    sums: CrossSums, means: list[Vector], one: int, other: int, products: Matrix
) -> float:
    """Σ ‖x_i − μ‖² ‖y_i − ν‖² out of ‖x_i − μ‖² = ‖x_i‖² − 2 μ·x_i + ‖μ‖²."""
    n = sums.rows
    mu, nu = means[one], means[other]
    m, v = float(mu @ mu), float(nu @ nu)
    return float(
        sums.square_products[one, other]
        - 2 * nu @ sums.weighted[other][one]
        - 2 * mu @ sums.weighted[one][other]
        + v * sums.square_sums[one]
        + m * sums.square_sums[other]
        + 4 * mu @ products @ nu
        - 2 * v * mu @ sums.sums[one]
        - 2 * m * nu @ sums.sums[other]
        + n * m * v
    )
