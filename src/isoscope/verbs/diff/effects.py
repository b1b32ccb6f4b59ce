"""How far two clouds lie apart: means, covariances and lengths, over all rows.

Sampling alone puts two clouds of one distribution apart: E‖m̂_A − m̂_B‖² is larger than
‖m_A − m_B‖² by tr C_A / n_A + tr C_B / n_B, and E‖Ĉ_A − Ĉ_B‖_F² is larger than ‖C_A − C_B‖_F² by
the sum over both of (E‖r‖⁴ − ‖C‖_F²) / n, with r the centred rows. Both are taken out, the fourth
moments from the sample; what two clouds of the same rows have in common is put back in. A
difference that is smaller than what sampling makes is 0.

Norms may differ in more than their mean. Their distance is Wasserstein's of first order between the
norms of both samples, ∫ |F_A⁻¹(u) − F_B⁻¹(u)| du, over the mean norm of both clouds: by which share
of its norm a vector of A has to change on average for the norms to be those of B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from isoscope.typing import Matrix, Vector
from isoscope.verbs.diff.names import (
    COVARIANCE_LIMIT,
    COVARIANCES,
    LENGTH_LIMIT,
    LENGTHS,
    MEAN_LIMIT,
    MEANS,
    QUANTILES,
)
from isoscope.verbs.diff.paired.cka import square
from isoscope.verbs.diff.two_clouds import TwoSides


@dataclass(frozen=True)
class Effects:
    """Differences, B against A.

    Attributes
    ----------
    mean_shift : float
        ‖m_A − m_B‖ over the spread √(tr C̄), C̄ the mean of both covariances.
    mean_share : float
        Share of the variance of both clouds together, each weighing the same, between the means.
    covariance_distance : float
        ‖C_A − C_B‖_F / ‖C̄‖_F.
    total_variance_ratio : float or None
        tr C_B / tr C_A.
    length_distance : float
        Distance of the norms over their mean.
    effective_ranks, mean_lengths, length_quantiles : list
        Of A and of B; quantiles of the sample, at ``QUANTILES``.
    """

    mean_shift: float
    mean_share: float
    covariance_distance: float
    total_variance_ratio: float | None
    length_distance: float
    effective_ranks: list[float | None]
    mean_lengths: list[float]
    length_quantiles: list[Vector]

    @property
    def sizes(self) -> dict[str, tuple[float, float]]:
        """The effect size behind each test, and the limit below which it is negligible."""
        return {
            MEANS: (self.mean_shift, MEAN_LIMIT),
            COVARIANCES: (self.covariance_distance, COVARIANCE_LIMIT),
            LENGTHS: (self.length_distance, LENGTH_LIMIT),
        }


def effects(two: TwoSides) -> Effects | None:
    """Return how far two clouds of one width lie apart; None where neither has any variance."""
    sides = (two.a, two.b)
    covariances = [side.moments.covariance for side in sides]
    traces = [float(np.trace(one)) for one in covariances]
    spread = math.sqrt(sum(traces) / 2)
    if not spread > 0:
        return None
    step = two.b.moments.mean - two.a.moments.mean
    residuals = [side.sample.vectors - side.moments.mean for side in sides]
    # What sampling alone makes is taken from the squares, where it adds up, and not from roots.
    shift = float(step @ step) - chance_of_means(two, traces, residuals)
    shift = math.sqrt(max(shift, 0.0)) / spread
    apart = square(covariances[0] - covariances[1])
    apart -= chance_of_covariances(two, covariances, residuals)
    middle = square((covariances[0] + covariances[1]) / 2)
    sampled_norms = [np.linalg.norm(side.sample.vectors, axis=1) for side in sides]
    return Effects(
        mean_shift=shift,
        mean_share=(shift**2 / 4) / (shift**2 / 4 + 1),
        covariance_distance=math.sqrt(max(apart, 0.0) / middle),
        total_variance_ratio=traces[1] / traces[0] if traces[0] > 0 else None,
        length_distance=length_distance(sampled_norms[0], sampled_norms[1]),
        effective_ranks=[effective_rank(covariance) for covariance in covariances],
        mean_lengths=[side.moments.norm_sum / side.moments.rows for side in sides],
        length_quantiles=[np.percentile(norms, QUANTILES) for norms in sampled_norms],
    )


def equal_effects(two: TwoSides) -> Effects | None:
    """Return the differences of a cloud from itself: none, exactly."""
    found = effects(two)
    if found is None:
        return None
    return replace(
        found,
        mean_shift=0.0,
        mean_share=0.0,
        covariance_distance=0.0,
        total_variance_ratio=1.0,
        length_distance=0.0,
        effective_ranks=[found.effective_ranks[0]] * 2,
        mean_lengths=[found.mean_lengths[0]] * 2,
        length_quantiles=[found.length_quantiles[0]] * 2,
    )


def chance_of_means(two: TwoSides, traces: list[float], residuals: list[Matrix]) -> float:
    """How far apart sampling alone puts two means, squared."""
    rows = (two.a.moments.rows, two.b.moments.rows)
    chance = sum(trace / (n - 1) for trace, n in zip(traces, rows, strict=True))
    if not two.paired:
        return chance
    return chance - 2 * float(np.mean(products(residuals))) / (rows[0] - 1)


def chance_of_covariances(
    two: TwoSides, covariances: list[Matrix], residuals: list[Matrix]
) -> float:
    """How far apart sampling alone puts two covariances, squared."""
    rows = (two.a.moments.rows, two.b.moments.rows)
    chance = 0.0
    for covariance, left, n in zip(covariances, residuals, rows, strict=True):
        fourth = float(np.mean(np.einsum("ij,ij->i", left, left) ** 2))
        chance += (fourth - square(covariance)) / (n - 1)
    if not two.paired:
        return chance
    common = float(np.mean(products(residuals) ** 2))
    common -= float(np.einsum("ij,ij->", covariances[0], covariances[1]))
    return chance - 2 * common / (rows[0] - 1)


def products(residuals: list[Matrix]) -> Vector:
    """Inner product of every row of A with its partner in B."""
    return np.asarray(np.einsum("ij,ij->i", residuals[0], residuals[1]))


def length_distance(a: Vector, b: Vector) -> float:
    """Wasserstein's distance of two lists of norms over the mean norm; 0 where all are 0."""
    mean = (float(a.mean()) + float(b.mean())) / 2
    if not mean > 0:
        return 0.0
    # Lists of different lengths are compared at the quantiles in the middle of as many steps.
    steps = (np.arange(max(len(a), len(b))) + 0.5) / max(len(a), len(b))
    first, second = (np.quantile(one, steps, method="inverted_cdf") for one in (a, b))
    return float(np.abs(first - second).mean()) / mean


def effective_rank(covariance: Matrix) -> float | None:
    """exp(−Σ p ln p), p the shares of the eigenvalues, as the measure of that name."""
    variances = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    total = float(variances.sum())
    if not total > 0:
        return None
    shares = variances[variances > 0] / total
    return float(np.exp(-(shares @ np.log(shares))))
