"""Cosine regularisation: rows that point the same way cost something.

    λ / n² · Σ_{i ≠ j} u_i · u_j = λ / n² · (‖Σ u_i‖² − m)

with u_i the rows divided by their lengths and m the number of rows that have one: the sum over all
pairs is one vector's squared length, so that n rows cost O(n d) and never n². With s = Σ u_i the
gradient in row w_i is 2 λ / n² · (s − (s · u_i) u_i) / ‖w_i‖. It is written by hand, as two
products of the matrix with a vector: autograd would keep and pass through several copies of it.

References
----------
Gao et al. (2019), Representation degeneration problem in training natural language generation
models, ICLR. Biś et al. (2021), Too much in common: shifting of embeddings in transformer language
models and its implications, appendix A, for the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from isoscope.verbs.train.regularizers.base import check_weight, checked_matrix, full_precision


@dataclass(frozen=True)
class CosReg:
    """Cosine regularisation.

    Attributes
    ----------
    weight : float
        λ.
    """

    weight: float = 1.0
    name: str = "cosreg"

    def __post_init__(self) -> None:
        check_weight(self.weight)

    def __call__(self, matrix: Tensor) -> Tensor:
        """Return the term; a zero row has no direction, and neither adds nor learns anything."""
        rows = checked_matrix(matrix, self.name)
        with full_precision(rows):
            found: Tensor = PairSum.apply(rows)  # type: ignore[no-untyped-call]
            return self.weight / len(rows) ** 2 * found


class PairSum(torch.autograd.Function):
    """Σ_{i ≠ j} u_i · u_j over the rows of a matrix."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        """Sum the directions of all rows."""
        lengths = torch.linalg.vector_norm(matrix, dim=1)
        has = lengths > 0
        inverse = torch.where(has, 1 / lengths.where(has, lengths.new_ones(())), 0.0)
        total = inverse @ matrix
        ctx.save_for_backward(matrix, inverse, total)
        pairs: Tensor = total @ total - has.sum()
        return pairs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """2 (s − (s · u_i) u_i) / ‖w_i‖ in every row."""
        matrix, inverse, total = ctx.saved_tensors
        with full_precision(matrix):
            along = (matrix @ total) * inverse**3
            found = torch.outer(2 * grad * inverse, total)
        return found.addcmul_(matrix, (-2 * grad * along)[:, None])
