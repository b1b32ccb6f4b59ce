"""IsoScore* as a term of the loss: variance that fills few directions costs something.

IsoScore* of eigenvalues λ of a covariance C is made of their sum and sum of squares alone. With
λ̂ = √d λ / ‖λ‖, δ = ‖λ̂ − 1‖ / √(2 (d − √d)) and φ = (d − δ² (d − √d))² / d², its value is

    (d φ − 1) / (d − 1) = (tr(C)² / ‖C‖_F² − 1) / (d − 1),

since δ² (d − √d) = d − √d tr(C) / ‖C‖_F. So no matrix is decomposed, and the gradient is smooth
wherever there is any variance. The term is λ (1 − IsoScore*).

A batch of fewer rows than dimensions has a covariance of low rank; C may be drawn to that of a
larger sample, (1 − ζ) C + ζ C₀.

References
----------
Rudman & Eickhoff (2024), Stable anisotropic regularization, ICLR. Rudman et al. (2022), IsoScore:
measuring the uniformity of embedding space utilization, ACL Findings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.errors import DataError, UsageError
from isoscope.verbs.train.regularizers.base import check_weight, checked_matrix, full_precision

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class IStar:
    """IsoScore* regularisation.

    Attributes
    ----------
    weight : float
        λ.
    shrinkage : float
        ζ, between 0 and 1.
    reference : Tensor, optional
        C₀, d × d; needed where ζ is above 0.
    """

    weight: float = 1.0
    shrinkage: float = 0.0
    reference: Tensor | None = None
    name: str = "i-star"

    def __post_init__(self) -> None:
        check_weight(self.weight)
        if not 0 <= self.shrinkage <= 1:
            raise UsageError(f"shrinkage must lie between 0 and 1, got {self.shrinkage}")
        if self.shrinkage and self.reference is None:
            raise UsageError("shrinkage needs the covariance of a larger sample (reference=)")

    def __call__(self, matrix: Tensor) -> Tensor:
        """Return the term; 1 − IsoScore* is 1 where nothing varies."""
        rows = checked_matrix(matrix, self.name)
        if min(rows.shape) < 2:
            raise DataError(
                f"{self.name} needs two rows and two dimensions, not {tuple(rows.shape)}"
            )
        with full_precision(rows):
            return self.weight * (1 - self._score(rows))

    def _score(self, rows: Tensor) -> Tensor:
        centred = rows - rows.mean(dim=0)
        covariance = centred.T @ centred / (len(rows) - 1)
        if self.reference is not None:
            covariance = (1 - self.shrinkage) * covariance + self.shrinkage * self.reference.to(
                rows
            )
        trace, square = covariance.diagonal().sum(), (covariance * covariance).sum()
        if not bool(square > 0):
            return 0 * trace  # nothing varies; the gradient is 0
        score: Tensor = (trace**2 / square - 1) / (rows.shape[1] - 1)
        return score
