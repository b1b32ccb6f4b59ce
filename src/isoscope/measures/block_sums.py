"""Sums over the rows of each block, for values without one of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.blocks import BLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.data.blocks import Dealt
    from isoscope.typing import Matrix, Vector


@dataclass(frozen=True)
class BlockSums:
    """What ``Moments`` sums over all rows, for the rows of each block; weights are w_i."""

    rows: Vector
    weight: Vector
    unit_weight: Vector
    unit_weight_squares: Vector
    norm_sum: Vector
    vector_sum: Matrix
    """(blocks, width): Σ w_i x_i"""
    unit_sum: Matrix
    """(blocks, width): Σ w_i x_i / ‖x_i‖"""

    @classmethod
    def empty(cls, width: int) -> BlockSums:
        """Return the sums over no rows."""
        return cls(*(np.zeros(BLOCKS) for _ in range(5)), *np.zeros((2, BLOCKS, width)))

    @classmethod
    def of_batch(
        cls, dealt: Dealt, norms: Vector, weight: Vector, vector_sum: Matrix, unit_sum: Matrix
    ) -> BlockSums:
        """Put the sums of one batch together."""
        unit_weight = np.where(norms > 0, weight, 0.0)
        return cls(
            rows=dealt.totals(np.ones(len(norms))),
            weight=dealt.totals(weight),
            unit_weight=dealt.totals(unit_weight),
            unit_weight_squares=dealt.totals(unit_weight**2),
            norm_sum=dealt.totals(weight * norms),
            vector_sum=vector_sum,
            unit_sum=unit_sum,
        )

    def merge(self, other: BlockSums) -> BlockSums:
        """Combine the sums of two disjoint sets of rows."""
        return BlockSums(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the sums as arrays whose names start with the prefix."""
        return {prefix + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str) -> BlockSums | None:
        """Rebuild what ``to_arrays`` took apart; None where the arrays hold none."""
        names = [prefix + field.name for field in fields(cls)]
        return cls(*(arrays[name] for name in names)) if names[0] in arrays else None
