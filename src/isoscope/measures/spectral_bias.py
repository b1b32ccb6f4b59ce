"""How much finite n alone moves a measure of the spectrum.

Sample eigenvalues spread out more than the true ones: large ones come out larger, small ones
smaller. For a smooth function θ of the eigenvalues λ of a sample covariance E = Ŝ − S, second
order perturbation gives, with E[E_jk²] = λ_j λ_k / n and E[E_kk²] = 2 λ_k² / n for Gaussian rows,

    n · bias = Σ_k θ_kk λ_k² + ½ Σ_{j≠k} λ_j λ_k (θ_k − θ_j) / (λ_k − λ_j)

where θ_k and θ_kk are the first and second derivatives by λ_k (Lawley 1956 for eigenvalues
themselves). All measures here do not change with scale, so λ is divided by its sum: p. Rows that
are not Gaussian, or not independent, move the variances of all λ by about the same factor, which
the blocks tell: the caller multiplies by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.typing import Vector


STRIPE = 512
"""Rows of the table of pairs that are held at a time."""


def top_variance_share(p: Vector) -> float:
    """n · bias of p₁; infinite where the second eigenvalue equals the first."""
    others = p[1:]
    if (others >= p[0]).any():
        return float("inf")
    return float(2 * p[0] * (p @ p) - 2 * p[0] ** 2 + (p[0] * others / (p[0] - others)).sum())


def effective_rank(p: Vector) -> float:
    """n · bias of exp(−Σ p ln p)."""
    p = p[p > 0]
    logs = np.log(p)
    entropy = -float(p @ logs)
    level = logs + entropy
    alone = float((((level + 1) * p) ** 2).sum() - 1)
    pairs = 0.0
    for first in range(0, len(p), STRIPE):
        rows = slice(first, first + STRIPE)
        gap = p[rows, None] - p
        rise = logs[rows, None] - logs
        # Where two eigenvalues agree the ratio is the derivative of the logarithm.
        near = np.abs(gap) <= 1e-9 * p
        ratio = np.divide(rise, gap, out=np.broadcast_to(1 / p, gap.shape).copy(), where=~near)
        pairs += float(p[rows] @ ratio @ p)
    diagonal = float(p.sum())
    return float(np.exp(entropy) * (alone - (pairs - diagonal) / 2))


def participation_ratio(p: Vector) -> float:
    """n · bias of 1 / Σ p²."""
    squares, cubes, fourths = (float((p**power).sum()) for power in (2, 3, 4))
    alone = 2 - 8 * cubes / squares**2 - 2 / squares + 8 * fourths / squares**3
    return alone - (1 - squares) / squares**2


def iso_score(p: Vector) -> float:
    """n · bias of (1/Σ p² − 1) / (d − 1)."""
    return participation_ratio(p) / (len(p) - 1)


BIASES: dict[str, Callable[[Vector], float]] = {
    function.__name__: function
    for function in (top_variance_share, effective_rank, participation_ratio, iso_score)
}
