"""What both kernels share once a batch has become a few numbers per row, on the host.

Zero vectors have no direction, and are left out of all sums over u = x / ‖x‖. In a raw cloud they
are exactly zero. After a correction they are zero up to rounding, and a threshold has to tell.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import DataError
from isoscope.measures.reads.moments import Moments, count_norms
from isoscope.measures.reads.projections import Projections

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from isoscope.data.base import Array
    from isoscope.data.blocks import Dealt
    from isoscope.measures.reads.moments import BlockSums, MomentParts
    from isoscope.measures.reads.projections import ProjectionPlan
    from isoscope.typing import Ids, Mask, Matrix, Vector


# How many roundings of its length a projected vector may be off. The bound of theory grows with the
# width, but errors of many products of random sign mostly cancel.
PRODUCT_ROUNDINGS = 8.0


# Longest vector whose square can be summed over any number of rows: squares of 1e280 leave a factor
# of 1e28 to the end of float64.
LONGEST = 1e140

# Clouds whose longest vector is shorter than this cannot be squared in float64, whose smallest
# normal number is about 2e-308: squares of 1e-280 leave some room for the smaller components.
SHORTEST = 1e-140

UNDERFLOW = (
    f"squared lengths underflow: all vectors are shorter than {SHORTEST:.0e}; multiply them by a "
    "constant"
)


def safe_exponent(dtype: DTypeLike, rows: int) -> float:
    """Return the largest |a| for which a sum of ``rows`` terms exp(±a) neither overflows nor
    becomes subnormal.
    """  # noqa: D205
    return float(np.log(np.finfo(dtype).max)) - math.log(max(rows, 1)) - 1.0


@dataclass(frozen=True)
class RowNorms:
    """What both kernels know of the rows of a batch before they sum over them."""

    norms: Vector
    weight: Vector
    scale: Vector
    """w_i / ‖x_i‖, 0 for zero vectors."""

    @classmethod
    def of(cls, squares: Vector, weights: Any, *, zero: Callable[[], bool]) -> RowNorms:
        """Take squared norms, and weights where there are any.

        ``zero`` says whether all entries are zero, not only their squares.
        """
        # Written so that NaN is refused as well, as comparisons with it are false.
        if not (squares < LONGEST**2).all():
            raise DataError(
                f"squared lengths overflow: a vector is longer than {LONGEST:.0e}; "
                "divide the vectors by a constant"
            )
        if not squares.any() and not zero():
            raise DataError(UNDERFLOW)
        norms = np.sqrt(squares)
        weight = np.ones(len(squares)) if weights is None else np.asarray(weights, np.float64)
        scale = np.divide(weight, norms, out=np.zeros_like(norms), where=squares > 0)
        return cls(norms, weight, scale)

    def moments(
        self,
        mean: Vector,
        unit_sum: Vector,
        unit_square_sum: Vector | None,
        extremes: tuple[Ids, Ids] | None,
        blocks: BlockSums | None,
    ) -> Moments:
        """Put the moments of a batch together, all but the scatter, which kernels sum in place."""
        norms, weight, width = self.norms, self.weight, len(mean)
        nonzero = norms > 0
        unit_weight = weight[nonzero]
        low, high = (None, None) if extremes is None else (count(one, width) for one in extremes)
        return Moments(
            rows=len(norms),
            zero_rows=int(len(norms) - nonzero.sum()),
            weight=float(weight.sum()),
            unit_weight=float(unit_weight.sum()),
            unit_weight_squares=float((unit_weight * unit_weight).sum()),
            mean=mean,
            unit_sum=unit_sum,
            norm_sum=float(weight @ norms),
            norm_square_sum=float(weight @ (norms * norms)),
            norm_max=float(norms.max()),
            norm_counts=count_norms(norms[nonzero]),
            scatter=None,
            unit_square_sum=unit_square_sum,
            minimum_counts=low,
            maximum_counts=high,
            blocks=blocks,
        )


def count(indices: Ids, width: int) -> Ids:
    """How often each index occurs."""
    return np.bincount(indices, minlength=width).astype(np.int64)


class MomentsKernel(ABC):
    """The first read's arithmetic, with its working memory.

    The scatter is summed in place, beside the other moments: merging it with them would make a new
    d × d matrix for every batch.
    """

    def __init__(self, parts: MomentParts, *, double: bool) -> None:
        self._parts, self._double = parts, double
        self._total: Moments | None = None
        self._scatter: Any = None

    @abstractmethod
    def add(
        self,
        vectors: Array,
        weights: Any = None,
        dealt: Dealt | None = None,
        squares: Vector | None = None,
    ) -> None:
        """Take one batch into account; with its sums for each block where rows are dealt.

        ``squares`` are ‖x‖² of the rows in their own type, where they have been summed already.
        """

    def _on_host(self, scatter: Any) -> Matrix:
        """Return the scatter matrix as an array of the host."""
        return np.asarray(scatter)

    def restart(self) -> None:
        """Begin anew, with the working memory as it is."""
        self._total = self._scatter = None

    def result(self) -> Moments | None:
        """Return the moments of all batches so far; None before the first."""
        if self._total is None or self._scatter is None:
            return self._total
        return replace(self._total, scatter=self._on_host(self._scatter))


class ViewSums:
    """What one batch adds to every view, summed in the arrays of a ``Projections``."""

    def __init__(self, plan: ProjectionPlan) -> None:
        self._plan = plan
        self._mean_length = float(np.linalg.norm(plan.mean))
        self.found = Projections.empty(len(plan.mean), len(plan.exponents), len(plan.views))

    def add_norms(
        self, view: int, norms: Vector, lengths: Vector, eps: float, missing: Mask | None
    ) -> Vector:
        """Take the lengths of corrected vectors; return 1/length, 0 for zero vectors.

        Rows that were zero vectors before the correction are ``missing``: they have no direction,
        and a correction leaves them as they are.

        A vector that equals the mean is not exactly zero after centring: it was rounded when it
        was stored, by half an eps of the mean at most, and the products round by some eps of the
        centred ``lengths``. The largest gain of a view stretches both.
        """
        gain = float(self._plan.views[view].gains.max(initial=0.0))
        rounding = eps * gain * (PRODUCT_ROUNDINGS * lengths + self._mean_length / 2)
        nonzero = norms > rounding
        if missing is not None:
            nonzero &= ~missing
        kept, found = np.where(nonzero, norms, 0.0), self.found
        found.zero_rows[view] += int(len(norms) - nonzero.sum())
        found.norm_sum[view] += kept.sum()
        found.norm_max[view] = max(found.norm_max[view], kept.max())
        found.norm_counts[view] += count_norms(norms[nonzero])
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=nonzero)

    def add_units(self, view: int, weighted: Vector, weights: float) -> None:
        """Take Σ_i z_i / ‖y_i‖ and Σ_i 1/‖y_i‖ of a view."""
        shape = self._plan.views[view]
        # Σ y/‖y‖ = g ∘ Σ z/‖y‖ + o Σ 1/‖y‖: gains are the same for all rows, so they are applied
        # once to the sum. It stays on the eigenbasis, as a rotation changes no length.
        there = len(weighted)  # eigenvectors
        gains, offset = shape.gains[:there], shape.offset[:there]
        self.found.unit_sum[view, :there] += gains * weighted + offset * weights

    def add_extremes(self, view: int, lowest: Ids, highest: Ids) -> None:
        """Take the extreme dimension of each corrected vector that is not zero."""
        self.found.minimum_counts[view] += count(lowest, len(self._plan.mean))
        self.found.maximum_counts[view] += count(highest, len(self._plan.mean))
