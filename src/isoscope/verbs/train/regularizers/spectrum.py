"""Spectrum control: singular values are drawn to a decay that is prescribed.

    λ Σ_k (σ_k − t_k)²,  t_k = c₁ k^γ with γ < 0  or  t_k = c₁ exp(−c₂ k^γ) with γ > 0

over the singular values σ_1 ≥ σ_2 ≥ … of a matrix W. With W = U Σ Vᵀ the gradient is
U diag(2λ (σ − t)) Vᵀ = W V diag(2λ (σ − t) / σ) Vᵀ, which needs V alone: the eigenvectors of the
smaller of WᵀW and WWᵀ. It stays finite where singular values repeat, as no difference of two is
divided by, unlike in the gradient of the decomposition itself; where one is 0, W V is 0 there and
the direction in which it could grow is open: its part is left out.

References
----------
Wang et al. (2020), Improving neural language generation with spectrum control, ICLR.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from isoscope.errors import UsageError
from isoscope.verbs.train.regularizers.base import check_weight, checked_matrix, full_precision

Decay = Literal["polynomial", "exponential"]

# Singular values below this share of the largest are rounding of a Gram matrix in single.
EMPTY = 1e-6

# The same in double precision.
EMPTY_DOUBLE = 1e-14


@dataclass(frozen=True)
class SpectrumControl:
    """A prescribed decay of singular values.

    Attributes
    ----------
    kind : {"polynomial", "exponential"}
        Which decay.
    weight : float
        λ.
    c1 : float
        The largest value, or what it would be without the exponential.
    c2 : float
        Rate of the exponential decay.
    gamma : float, optional
        Power of k: below 0 for the polynomial (−1 by default), above for the exponential (1).
    """

    kind: Decay = "polynomial"
    weight: float = 1.0
    c1: float = 1.0
    c2: float = 1.0
    gamma: float | None = None

    def __post_init__(self) -> None:
        check_weight(self.weight)
        if self.kind not in ("polynomial", "exponential"):
            raise UsageError(
                f"spectrum control must be polynomial or exponential, got {self.kind!r}"
            )
        if not (self.c1 > 0 and self.c2 > 0 and math.isfinite(self.c1) and math.isfinite(self.c2)):
            raise UsageError(f"c1 and c2 must be above 0, got {self.c1} and {self.c2}")
        power = self.power
        if (power < 0) != (self.kind == "polynomial") or power == 0 or not math.isfinite(power):
            which = "a polynomial" if self.kind == "polynomial" else "an exponential"
            side = "below" if self.kind == "polynomial" else "above"
            raise UsageError(f"gamma of {which} decay lies {side} 0, not at {power}")

    @property
    def name(self) -> str:
        """What results call it."""
        return "spectrum-pol" if self.kind == "polynomial" else "spectrum-exp"

    @property
    def power(self) -> float:
        """γ."""
        if self.gamma is not None:
            return self.gamma
        return -1.0 if self.kind == "polynomial" else 1.0

    def prescribed(self, count: int) -> Tensor:
        """Return the first values of the decay, in double precision."""
        places = torch.arange(1, count + 1, dtype=torch.float64)
        if self.kind == "polynomial":
            return self.c1 * places**self.power
        return self.c1 * torch.exp(-self.c2 * places**self.power)

    def __call__(self, matrix: Tensor) -> Tensor:
        """Return the term."""
        rows = checked_matrix(matrix, self.name)
        target = self.prescribed(min(rows.shape)).to(rows.device)
        with full_precision(rows):
            distance: Tensor = SpectrumDistance.apply(rows, target)  # type: ignore[no-untyped-call]
            return self.weight * distance


class SpectrumDistance(torch.autograd.Function):
    """The sum of squares with the gradient that the module describes."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, target: Tensor) -> Tensor:
        """Decompose the smaller Gram matrix, in double precision."""
        tall = matrix.shape[0] >= matrix.shape[1]
        gram = matrix.T @ matrix if tall else matrix @ matrix.T
        squares, vectors = torch.linalg.eigh(gram.double())
        values = squares.clamp_min(0).sqrt().flip(0)
        apart = values - target
        empty = EMPTY_DOUBLE if matrix.dtype == torch.float64 else EMPTY
        full = values > empty * values[0].clamp_min(torch.finfo(torch.float64).tiny)
        factors = torch.where(full, 2 * apart / values.where(full, values.new_ones(())), 0.0)
        turned = vectors.flip(1)
        ctx.save_for_backward(matrix, ((turned * factors) @ turned.T).to(matrix.dtype))
        ctx.tall = tall
        distance: Tensor = (apart @ apart).to(matrix.dtype)
        return distance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """W V diag(2 (σ − t) / σ) Vᵀ, or with U from the other side."""
        matrix, kernel = ctx.saved_tensors
        with full_precision(matrix):
            return grad * (matrix @ kernel if ctx.tall else kernel @ matrix), None
