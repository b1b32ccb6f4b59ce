"""How variance is spread over directions, from the eigenvalues λ of the covariance.

Scale cancels in all of them, and so does the choice of n or n − 1.

How much finite n alone moves such a measure is known, and stands beside it. Sample eigenvalues
spread out more than the true ones: large ones come out larger, small ones smaller. For a smooth
function θ of the eigenvalues λ of a sample covariance E = Ŝ − S, second order perturbation gives,
with E[E_jk²] = λ_j λ_k / n and E[E_kk²] = 2 λ_k² / n for Gaussian rows,

    n · bias = Σ_k θ_kk λ_k² + ½ Σ_{j≠k} λ_j λ_k (θ_k − θ_j) / (λ_k − λ_j)

where θ_k and θ_kk are the first and second derivatives by λ_k (Lawley 1956 for eigenvalues
themselves). All measures here do not change with scale, so λ is divided by its sum: p. Rows that
are not Gaussian, or not independent, move the variances of all λ by about the same factor, which
the blocks tell: the caller multiplies by it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.registry import TableValue, Value, register
from isoscope.measures.space import known

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.space import Space
    from isoscope.typing import Vector


CONSTANT = "all vectors are the same, up to rounding: there is no variance"


variance_measure = partial(
    register, direction="higher", needs=["spectrum"], interval="spectrum"
)  # of shares of the variance, more evenly spread the higher it is


def shares(space: Space) -> NDArray[np.float64] | None:
    """λ / Σλ, or None for a constant cloud."""
    spectrum = space.spectrum
    if spectrum is None or spectrum.total == 0:
        return None
    return spectrum.variances / spectrum.total


def few_rows(space: Space) -> str:
    """Say that n limits what the spectrum can show."""
    # n vectors have at most n − 1 directions of variance around their mean.
    if space.rows > space.width:
        return ""
    return f"only {space.rows:,} vectors in {space.width:,} dimensions limit the rank"


def of_shares(space: Space, value: float | None) -> Value:
    """Return the value of a measure; None for a constant cloud."""
    return Value(value, note=CONSTANT if value is None else few_rows(space))


# Rows of the table of pairs that are held at a time.
STRIPE = 512


def top_variance_share_bias(p: Vector) -> float:
    """n · bias of p₁; infinite where the second eigenvalue equals the first."""
    others = p[1:]
    # The formula divides by the gap to the first, and to first order there is no single top
    # direction whose share could be followed.
    if (others >= p[0]).any():
        return float("inf")
    return float(2 * p[0] * (p @ p) - 2 * p[0] ** 2 + (p[0] * others / (p[0] - others)).sum())


def effective_rank_bias(p: Vector) -> float:
    """n · bias of exp(−Σ p ln p)."""
    p = p[p > 0]
    logs = np.log(p)
    entropy = -float(p @ logs)
    level = logs + entropy
    alone = float((((level + 1) * p) ** 2).sum() - 1)
    pairs = 0.0
    for first in range(0, len(p), STRIPE):
        rows = slice(first, first + STRIPE)
        # All pairs of eigenvalues, a stripe of rows at a time: for 10,000 dimensions the whole
        # table would take 800 MB.
        gap = p[rows, None] - p
        rise = logs[rows, None] - logs
        # Where two eigenvalues agree the ratio is the derivative of the logarithm.
        near = np.abs(gap) <= 1e-9 * p
        ratio = np.divide(rise, gap, out=np.broadcast_to(1 / p, gap.shape).copy(), where=~near)
        pairs += float(p[rows] @ ratio @ p)
    diagonal = float(p.sum())
    return float(np.exp(entropy) * (alone - (pairs - diagonal) / 2))


def participation_ratio_bias(p: Vector) -> float:
    """n · bias of 1 / Σ p²."""
    squares, cubes, fourths = (float((p**power).sum()) for power in (2, 3, 4))
    alone = 2 - 8 * cubes / squares**2 - 2 / squares + 8 * fourths / squares**3
    return alone - (1 - squares) / squares**2


def iso_score_bias(p: Vector) -> float:
    """n · bias of (1/Σ p² − 1) / (d − 1)."""
    return participation_ratio_bias(p) / (len(p) - 1)


@variance_measure(direction="lower", bias=top_variance_share_bias)
def top_variance_share(space: Space) -> Value:
    """Share of the variance along the strongest direction.

    Title: variance along the top direction
    Symbol: λ₁/Σλ
    When: to see whether one direction dominates
    Formula: λ₁ / Σλ
    Range: [1/d, 1]
    Reference: the first component's explained variance
    """
    p = shares(space)
    return of_shares(space, None if p is None else float(p[0]))


@variance_measure(bias=effective_rank_bias)
def effective_rank(space: Space) -> Value:
    """Number of directions that an even spread of the same entropy would fill.

    Title: effective rank
    Symbol: erank
    When: to see how many directions are used
    Formula: exp(−Σ p ln p), p = λ / Σλ
    Range: [1, d]
    Reference: after Roy & Vetterli 2007, who take singular values where we take variances
    """
    p = shares(space)
    if p is None:
        return of_shares(space, None)
    positive = p[p > 0]
    return of_shares(space, float(np.exp(-(positive @ np.log(positive)))))


@variance_measure(bias=participation_ratio_bias)
def participation_ratio(space: Space) -> Value:
    """Number of directions that an even spread with the same Σλ² would fill.

    Title: participation ratio
    Symbol: PR
    When: to count the directions with large variance
    Formula: (Σλ)² / Σλ²
    Range: [1, d]
    Reference: Gao et al. 2017
    """
    p = shares(space)
    return of_shares(space, None if p is None else 1 / float(p @ p))


@variance_measure(bias=iso_score_bias)
def iso_score(space: Space) -> Value:
    """Share of dimensions evenly used by the covariance.

    Title: IsoScore
    Symbol: ι
    When: to compare spaces of different dimension
    Formula: (participation_ratio − 1) / (d − 1)
    Range: [0, 1]
    Reference: Rudman et al. 2022, algorithm 1, which this equals
    """
    p = shares(space)
    if p is None:
        return Value(None, note=CONSTANT)
    if space.width == 1:
        return Value(None, note="one dimension cannot be filled unevenly")
    ratio = 1 / float(p @ p)
    return Value((ratio - 1) / (space.width - 1), note=few_rows(space))


@register(length_dependent=True, needs=["spectrum", "scatter"], table=True)
def spectrum(space: Space) -> TableValue:
    """The whole spectrum: singular values of the vectors, and variances around their mean.

    Title: spectrum
    Symbol: σ, λ
    When: to see where the variance falls off
    Formula: singular values of X (over the largest), variances λ, shares and cumulative shares
    Range: [0, 1] for shares
    Reference: Biś et al. 2021, figure 1
    """
    found = space.spectrum
    if found is None:
        return TableValue([], CONSTANT)
    # The eigenvalues of XᵀX/n are the squared singular values of X divided by n.
    singular = np.sqrt(space.rows * known(found.second_moments, "the second moment"))
    relative = singular / singular[0] if singular[0] > 0 else singular
    p = shares(space)
    part = np.zeros(space.width) if p is None else p
    rows = [
        {
            "component": k + 1,
            "singular_value": float(singular[k]),
            "relative_singular_value": float(relative[k]),
            "variance": float(found.variances[k]),
            "share": float(part[k]),
            "cumulative_share": float(total),
        }
        for k, total in enumerate(np.cumsum(part))
    ]
    return TableValue(rows, CONSTANT if p is None else "")
