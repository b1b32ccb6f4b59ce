"""The first read's arithmetic for small batches: the layers of a model, text by text.

With a point c near the mean, n rows have Σ (x_i − c) = n δ and the scatter

    Σ (x_i − m)(x_i − m)ᵀ = Σ (x_i − c)(x_i − c)ᵀ − n δ δᵀ,    m = c + δ

(Chan, Golub & LeVeque 1983, section 3). Products are added up in place, and δδᵀ is taken away once
at the end: to merge the scatter of every batch with that of all before costs passes over d × d
numbers, which for a batch of a thousand rows take half as long as its product. The point is the
mean of the first batch, so that δ is no longer than the spread, and no digits are lost.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.data.arrays import square_norms, within_single_range
from isoscope.data.blocks import BLOCKS
from isoscope.measures.kernels.base import MomentsKernel, RowNorms
from isoscope.measures.kernels.numpy_kernel import working
from isoscope.measures.kernels.working_memory import WorkingMemory
from isoscope.measures.reads.moments import BlockSums

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from isoscope.data.blocks import Dealt
    from isoscope.measures.reads.moments import MomentParts, Moments
    from isoscope.typing import Doubles, Floats, Vector


class TextMoments(MomentsKernel):
    """The first read's arithmetic for arrays, in working memory that a thread keeps.

    Parameters
    ----------
    parts : MomentParts
        What is summed.
    memory : callable
        Returns the working memory of the thread that asks.
    double : bool
        Whether products over rows are in float64 whatever the vectors are stored in; those of the
        scatter always are.
    """

    def __init__(
        self, parts: MomentParts, memory: Callable[[], WorkingMemory], *, double: bool
    ) -> None:
        super().__init__(parts, double=double)
        self._memory = memory
        self._point: Vector | None = None
        self._offset: Vector | None = None
        """Σ (x_i − c)"""
        self._square_sum: Vector | None = None
        """Σ (x_i − c)² of each dimension, where nobody needs the scatter."""

    def add(
        self,
        vectors: NDArray[Any],
        weights: Any = None,
        dealt: Dealt | None = None,
        squares: Vector | None = None,
    ) -> None:
        """Take one batch into account; with its sums for each block where rows are dealt."""
        if weights is not None:
            raise ValueError("tokens have no weights")
        x = working(vectors, double=self._double)
        if squares is None or x.dtype != vectors.dtype:
            squares = square_norms(x)
        if x.dtype == np.float32 and not within_single_range(squares):
            x = x.astype(np.float64)
            squares = square_norms(x)
        rows = RowNorms.of(squares, None, zero=lambda: not x.any())
        if self._point is None:
            # In single, in which a dimension that is constant is met exactly: it has no variance.
            near = x.mean(axis=0, dtype=np.float64).astype(np.float32)
            self._point = np.where(np.isfinite(near), near, 0.0).astype(np.float64)
        offset, unit_sum, blocks = self._sums(x, rows, dealt)
        self._offset = offset if self._offset is None else self._offset + offset
        zeros = np.zeros(x.shape[1])  # the mean follows at the end, from the sums
        batch = rows.moments(zeros, unit_sum, *self._dimensions(x, rows.scale), blocks)
        self._total = batch if self._total is None else self._total.merge(batch)

    def result(self) -> Moments | None:
        """Return the moments of all batches so far; None before the first."""
        if self._total is None or self._point is None or self._offset is None:
            return None
        weight = self._total.weight
        step = self._offset / weight
        scatter = None
        if self._scatter is not None:
            upper = np.triu(self._scatter)
            scatter = upper + np.triu(upper, 1).T
            rooted = step * math.sqrt(weight)  # by whose product the matrix stays symmetric
            scatter -= np.multiply.outer(rooted, rooted)
        square_sum = None
        if self._square_sum is not None:
            square_sum = np.maximum(self._square_sum - weight * step**2, 0.0)
        mean = self._point + step
        return replace(self._total, mean=mean, scatter=scatter, square_sum=square_sum)

    def restart(self) -> None:
        """Begin anew."""
        super().restart()
        self._point = self._offset = self._square_sum = None

    def _sums(
        self, x: Floats, rows: RowNorms, dealt: Dealt | None
    ) -> tuple[Vector, Vector, BlockSums | None]:
        """Add the product of a batch to the scatter; return its sums, by block where it is dealt.

        Σ s_i x_i = Σ s_i (x_i − c) + c Σ s_i, for weights s of 1 and of 1 / ‖x_i‖.
        """
        assert self._point is not None
        wide: Doubles = self._memory().like("wide", x, np.float64)  # type: ignore[assignment]
        np.copyto(wide, x)
        wide -= self._point
        if self._parts.scatter:
            self._add_product(wide)
        elif self._parts.variances:
            found = np.einsum("ij,ij->j", wide, wide)
            self._square_sum = found if self._square_sum is None else self._square_sum + found
        groups = np.zeros(len(x), np.int64) if dealt is None else dealt.blocks
        offsets = grouped(wide, groups)
        wide *= rows.scale[:, None]
        counts, scales = (
            np.bincount(groups, values, BLOCKS)[:, None] for values in (np.ones(len(x)), rows.scale)
        )
        units = grouped(wide, groups) + scales * self._point
        blocks = None
        if dealt is not None:
            sums = offsets + counts * self._point
            blocks = BlockSums.of_batch(dealt, rows.norms, rows.weight, sums, units)
        return offsets.sum(axis=0), units.sum(axis=0), blocks

    def _add_product(self, wide: Doubles) -> None:
        """Add XᵀX to the upper triangle of the scatter, in place."""
        if self._scatter is None:
            self._scatter = np.zeros((wide.shape[1], wide.shape[1]), order="F")
        # Not numpy's product, which needs a second d × d matrix and a pass to add it.
        self._scatter = self._syrk(1.0, wide.T, beta=1.0, c=self._scatter, overwrite_c=1)

    @cached_property
    def _syrk(self) -> Any:
        from scipy.linalg.blas import dsyrk  # late, as it takes long to import

        return dsyrk

    def _dimensions(
        self, x: Floats, scale: Vector
    ) -> tuple[Vector | None, tuple[NDArray[np.int64], NDArray[np.int64]] | None]:
        if not self._parts.dimensions:
            return None, None
        squared = np.multiply(x, x, out=self._memory().like("squares", x))
        found = np.asarray((scale * scale).astype(x.dtype) @ squared, dtype=np.float64)
        nonzero = scale > 0
        return found, (x.argmin(axis=1)[nonzero], x.argmax(axis=1)[nonzero])


def grouped(rows: Doubles, groups: NDArray[np.int64]) -> Doubles:
    """Σ of the rows of each block, one after the other."""
    found = np.zeros((BLOCKS, rows.shape[1]))
    # numpy's own indexed sum takes ten times as long.
    torch.from_numpy(found).index_add_(0, torch.from_numpy(groups), torch.from_numpy(rows))
    return found
