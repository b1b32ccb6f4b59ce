"""Cosine regularisation: rows that point the same way cost something.

    λ / n² · Σ_{i ≠ j} u_i · u_j = λ / n² · (‖Σ u_i‖² − m)

with u_i the rows divided by their lengths and m the number of rows that have one: the sum over all
pairs is one vector's squared length, so that n rows cost O(n d) and never n².

References
----------
Gao et al. (2019), Representation degeneration problem in training natural language generation
models, ICLR. Biś et al. (2021), Too much in common: shifting of embeddings in transformer language
models and its implications, appendix A, for the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.training.contract import check_weight, checked_matrix

if TYPE_CHECKING:
    from torch import Tensor


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
        lengths = rows.norm(dim=1, keepdim=True)
        has = lengths > 0
        # Dividing by 1 where a length is 0 keeps its gradient 0 instead of NaN.
        units = rows / lengths.where(has, lengths.new_ones(()))
        total = units.where(has, units.new_zeros(())).sum(dim=0)
        term: Tensor = self.weight / len(rows) ** 2 * (total @ total - has.sum())
        return term
