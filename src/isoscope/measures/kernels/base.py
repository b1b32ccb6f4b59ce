"""What both kernels share once a batch has become a few numbers per row, on the host."""

from __future__ import annotations

import math
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.blocks import BLOCKS
from isoscope.errors import DataError
from isoscope.measures.reads.moments import BINS, Moments, count_norms
from isoscope.measures.reads.projections import Projections

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from isoscope.measures.reads.moments import BlockSums
    from isoscope.measures.reads.projections import ProjectionPlan
    from isoscope.typing import Vector

    Indices = NDArray[np.int64]


PRODUCT_ROUNDINGS = 8.0
"""How many roundings of its length a projected vector may be off."""


LONGEST = 1e140
"""Longest vector whose square can be summed over any number of rows."""


def safe_exponent(dtype: DTypeLike, rows: int) -> float:
    """Return the largest |a| for which a sum of ``rows`` terms exp(±a) neither overflows nor
    becomes subnormal.
    """  # noqa: D205
    return float(np.log(np.finfo(dtype).max)) - math.log(max(rows, 1)) - 1.0


def check_lengths(squares: Vector) -> None:
    """Refuse vectors whose squares cannot be added up in float64."""
    if not (squares < LONGEST**2).all():
        raise DataError(
            f"squared lengths overflow: a vector is longer than {LONGEST:.0e}; "
            "divide the vectors by a constant"
        )


def moments_from(
    *,
    norms: Vector,
    weight: Vector,
    mean: Vector,
    unit_sum: Vector,
    unit_square_sum: Vector | None,
    extremes: tuple[Indices, Indices] | None,
    blocks: BlockSums | None,
) -> Moments:
    """Put the moments of a batch together, all but the scatter, which kernels sum in place."""
    width = len(mean)
    nonzero = norms > 0
    unit_weight = weight[nonzero]
    low, high = extremes if extremes is not None else (None, None)
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
        minimum_counts=None if low is None else count(low, width),
        maximum_counts=None if high is None else count(high, width),
        blocks=blocks,
    )


def count(indices: Indices, width: int) -> Indices:
    """How often each index occurs."""
    return np.bincount(indices, minlength=width).astype(np.int64)


class ViewSums:
    """What one batch adds to every view."""

    def __init__(self, plan: ProjectionPlan) -> None:
        views, width = len(plan.views), len(plan.mean)
        self._plan = plan
        self._mean_length = float(np.linalg.norm(plan.mean))
        self.zero_rows = np.zeros(views, np.int64)
        self.norm_sum = np.zeros(views)
        self.norm_max = np.zeros(views)
        self.norm_counts = np.zeros((views, BINS), np.int64)
        self.unit_sum = np.zeros((views, width))
        self.unit_square_sum = np.zeros((views, width))
        self.minimum_counts = np.zeros((views, width), np.int64)
        self.maximum_counts = np.zeros((views, width), np.int64)
        self.block_squares = np.zeros((BLOCKS, width))

    def add_norms(self, view: int, norms: Vector, lengths: Vector, eps: float) -> Vector:
        """Take the lengths of corrected vectors; return 1/length, 0 for zero vectors.

        A vector that equals the mean is not exactly zero after centring: it was rounded when it
        was stored, by half an eps of the mean at most, and the products round by some eps of the
        centred ``lengths``. The largest gain of a view stretches both.
        """
        gain = float(self._plan.views[view].gains.max(initial=0.0))
        rounding = eps * gain * (PRODUCT_ROUNDINGS * lengths + self._mean_length / 2)
        nonzero = norms > rounding
        kept = np.where(nonzero, norms, 0.0)
        self.zero_rows[view] += int(len(norms) - nonzero.sum())
        self.norm_sum[view] += kept.sum()
        self.norm_max[view] = max(self.norm_max[view], kept.max())
        self.norm_counts[view] += count_norms(norms[nonzero])
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=nonzero)

    def add_units(self, view: int, weighted: Vector, weights: float) -> None:
        """Take Σ_i z_i / ‖y_i‖ and Σ_i 1/‖y_i‖ of a view."""
        shape = self._plan.views[view]
        self.unit_sum[view] += shape.gains * weighted + shape.offset * weights

    def add_extremes(self, view: int, lowest: Indices, highest: Indices) -> None:
        """Take the extreme dimension of each corrected vector that is not zero."""
        width = self.unit_sum.shape[1]
        self.minimum_counts[view] += count(lowest, width)
        self.maximum_counts[view] += count(highest, width)

    def fields(self) -> dict[str, Any]:
        """Return the sums under the names that ``Projections`` gives them."""
        names = {field.name for field in dataclass_fields(Projections)}
        return {name: value for name, value in vars(self).items() if name in names}
