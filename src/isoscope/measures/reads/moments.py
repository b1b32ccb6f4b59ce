"""The first read: everything about a cloud that is a sum over its rows.

The state is a frozen dataclass of float64 arrays on the host. Merging is associative, so threads,
processes, machines and a resumed run all use the same one. Sums over the rows of each block are for
values without one of them.

With the means m₁ and m₂ of two parts of weights w₁ and w₂, and δ = m₂ − m₁, the scatter of both
together is S₁ + S₂ + w₁ w₂ / (w₁ + w₂) · δ δᵀ, and the mean m₁ + δ w₂ / (w₁ + w₂) (Chan, Golub &
LeVeque 1983, Algorithms for computing the sample variance).

Norms are counted in a histogram whose edges never move, so that histograms of any two parts add up:
sixteen bins per octave from 2⁻⁴⁰ to 2⁴⁰, one below and one above. A bin is 4.4 % wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stage import Summed, first
from isoscope.data.blocks import BLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.data.blocks import Dealt
    from isoscope.typing import Ids, Matrix, Vector


@dataclass(frozen=True)
class BlockSums(Summed):
    """What ``Moments`` sums over all rows, for the rows of each block; weights are w_i.

    The sum over all rows but those of block b is the total less row b. There is no scatter among
    them: 31 matrices of d × d would take more memory than all else together, and one eigenbasis
    serves all blocks instead (``Projections.block_squares``).
    """

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
        # Zero vectors have no direction, and count neither in cosines nor in their number of pairs.
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


# The edges are fixed before anything is read, as a histogram whose edges followed from the data
# could not be added to that of another shard. Lengths from 1e-12 to 1e12 lie in bins of finite
# width, which is enough for vectors of any usual scale.
PER_OCTAVE = 16
OCTAVES = 40
BINS = 2 * OCTAVES * PER_OCTAVE + 2

EDGES: NDArray[np.float64] = np.concatenate(
    (
        [0.0],
        np.exp2(np.arange(-OCTAVES * PER_OCTAVE, OCTAVES * PER_OCTAVE + 1) / PER_OCTAVE),
        [np.inf],
    )
)


def count_norms(norms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count positive lengths per bin; bin k holds EDGES[k] ≤ length < EDGES[k + 1]."""
    # The edges are powers of 2^(1/16), so that the logarithm itself tells the bin.
    position = np.floor(np.log2(norms) * PER_OCTAVE) + OCTAVES * PER_OCTAVE + 1
    bins = np.clip(position, 0, BINS - 1).astype(np.int64)
    return np.bincount(bins, minlength=BINS).astype(np.int64)


def median_norm(counts: NDArray[np.int64]) -> float | None:
    """Return the median length, evenly spread over the logarithms within its bin.

    None where nothing was counted, or where the median lies outside the finite bins.
    """
    total = int(counts.sum())
    if not total:
        return None
    below = np.cumsum(counts)
    position = int(np.searchsorted(below, total / 2))
    low, high = float(EDGES[position]), float(EDGES[position + 1])
    # The two outermost bins have no width in logarithms, so that no place within them is known.
    if low == 0 or not np.isfinite(high):
        return None
    # Which part of the bin's own rows lies below the median.
    inside = (total / 2 - (int(below[position]) - int(counts[position]))) / int(counts[position])
    return float(low * (high / low) ** inside)


BLOCK_PREFIX = "blocks."


@dataclass(frozen=True)
class MomentParts:
    """Which of the dearer sums are wanted; lengths are always summed."""

    scatter: bool = True
    dimensions: bool = True
    mean: bool = True
    """Whether the mean is taken, as it is with scatter or variances; otherwise it stays zero."""
    variances: bool = False
    """Whether the squares around the mean are summed for each dimension, where no scatter is."""
    units: bool = True
    """Whether unit vectors are summed; a sum that nobody wants is NaN, or there all the same."""
    factored: bool = False
    """Whether the scatter is kept as a factor, for clouds of fewer rows than dimensions."""

    @property
    def sums_vectors(self) -> bool:
        """Whether the mean is taken, for itself or to take squares around it."""
        return self.scatter or self.mean or self.variances


@dataclass(frozen=True)
class Moments(Summed):
    """Sums over the rows x_i of a cloud with weights w_i (1 unless given).

    Cosines leave zero vectors out, and so do the sums over unit vectors u_i = x_i / ‖x_i‖.
    """

    reductions: ClassVar = {
        "norm_max": max, "mean": first, "scatter": first, "blocks": first, "factor": first,
        "square_sum": first,
    }  # fmt: skip

    rows: int
    """Number of rows, whatever their weight."""
    zero_rows: int
    """Rows of length zero."""
    weight: float
    """Σ w_i over all rows."""
    unit_weight: float
    """Σ w_i over rows that are not zero."""
    unit_weight_squares: float
    """Σ w_i² over rows that are not zero."""
    mean: Vector
    """Σ w_i x_i / Σ w_i"""
    unit_sum: Vector
    """Σ w_i u_i"""
    norm_sum: float
    """Σ w_i ‖x_i‖"""
    norm_square_sum: float
    """Σ w_i ‖x_i‖²"""
    norm_max: float
    """Largest length."""
    norm_counts: Ids
    """Rows per length bin, see ``count_norms``; zero vectors are in none."""
    scatter: Matrix | None
    """Σ w_i (x_i − mean)(x_i − mean)ᵀ"""
    unit_square_sum: Vector | None
    """Σ w_i² u_ij² for each dimension j"""
    minimum_counts: Ids | None
    """Rows, not zero, whose smallest entry is in dimension j (the first of equals)."""
    maximum_counts: Ids | None
    """Rows, not zero, whose largest entry is in dimension j (the first of equals)."""
    blocks: BlockSums | None = None
    """The same sums for each block of rows, where intervals are wanted."""
    square_sum: Vector | None = None
    """Σ w_i (x_ij − mean_j)² for each dimension j, where they are wanted without the scatter."""
    factor: Matrix | None = None
    """F with FᵀF = Σ w_i (x_i − mean)(x_i − mean)ᵀ, in the place of the scatter: see ``merge``."""

    @classmethod
    def empty(cls, width: int, parts: MomentParts = MomentParts()) -> Moments:
        """Return the state of no rows, which changes nothing when merged."""
        zeros = np.zeros(width)
        counts = np.zeros(width, np.int64)
        return cls(
            rows=0,
            zero_rows=0,
            weight=0.0,
            unit_weight=0.0,
            unit_weight_squares=0.0,
            mean=zeros,
            unit_sum=zeros,
            norm_sum=0.0,
            norm_square_sum=0.0,
            norm_max=0.0,
            norm_counts=np.zeros(BINS, np.int64),
            scatter=np.zeros((width, width)) if parts.scatter else None,
            square_sum=zeros if parts.variances and not parts.scatter else None,
            unit_square_sum=zeros if parts.dimensions else None,
            minimum_counts=counts if parts.dimensions else None,
            maximum_counts=counts if parts.dimensions else None,
        )

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return len(self.mean)

    @property
    def covariance(self) -> Matrix:
        """Population covariance: the scatter divided by the weight, not by the weight less one."""
        if self.factor is not None:
            return self.factor.T @ self.factor / self.weight
        if self.scatter is None:
            raise ValueError("these moments were taken without the scatter matrix")
        return self.scatter / self.weight

    @property
    def variances(self) -> Vector | None:
        """Variance of each dimension; None where neither scatter nor squares were taken."""
        if self.factor is not None:
            found: Vector = np.einsum("ij,ij->j", self.factor, self.factor)
            return found / self.weight
        squares = self.square_sum if self.scatter is None else np.diag(self.scatter)
        return None if squares is None else squares / self.weight

    @property
    def mean_cosine(self) -> float | None:
        """Mean cosine of all pairs of rows: (‖Σ w u‖² − Σ w²) / ((Σ w)² − Σ w²), u = x / ‖x‖."""
        pairs = self.unit_weight**2 - self.unit_weight_squares
        square = float(self.unit_sum @ self.unit_sum) - self.unit_weight_squares
        return square / pairs if pairs > 0 else None

    def merge(self, other: Self) -> Self:
        """Combine the sums of two disjoint sets of rows.

        Mean and scatter follow Chan, Golub & LeVeque (1983): sums around each part's own mean
        lose no digits to a common offset, which plain sums of squares would.

        Of fewer rows than dimensions a factor F of the scatter is kept, which begins as the centred
        rows. Factors of two parts and the row √w δ, one below the other, are a factor of both
        together, since S₁ + S₂ + w δδᵀ = F₁ᵀF₁ + F₂ᵀF₂ + (√w δ)(√w δ)ᵀ.
        """
        step, weight = self.step_to(other)
        # The weight of the step is w₁ w₂ / (w₁ + w₂), so that dividing by w₁ leaves the other
        # part's share of all weight, by which the mean moves. Means are never rebuilt from sums of
        # vectors: the digits of a large common offset would be lost to them.
        mean = other.mean if self.weight == 0 else self.mean + step * (weight / self.weight)
        return replace(
            super().merge(other),
            mean=mean,
            scatter=_merged_scatter(self.scatter, other.scatter, step, weight),
            square_sum=_merged_squares(self.square_sum, other.square_sum, step, weight),
            blocks=self._merged_blocks(other),
            factor=self._merged_factor(other, step, weight),
        )

    def _merged_factor(self, other: Moments, step: Vector, weight: float) -> Matrix | None:
        if self.rows == 0 or other.rows == 0:
            return other.factor if self.rows == 0 else self.factor
        if self.factor is None or other.factor is None:
            return None
        return np.concatenate((self.factor, other.factor, [math.sqrt(weight) * step]))

    def without(self, part: Moments) -> Moments:
        """Return the sums of the rows that are left where some are taken away again.

        The inverse of ``merge`` but for rounding, and but for the largest norm, which stays an
        upper bound, and the blocks, which are let go. So a cross-fit needs no read of its own.

        Parameters
        ----------
        part : Moments
            Sums over some of the rows; what was not summed over them is None in the result.
        """
        kept = {name: getattr(self, name) for name in self.reductions}
        sums = {
            name: subtracted(value, getattr(part, name))
            for name, value in vars(self).items()
            if name not in kept
        }
        left = sums["weight"]
        mean = self.mean + (self.mean - part.mean) * (part.weight / left)
        step = part.mean - mean
        weight = left * (part.weight / self.weight)
        scatter = None
        if self.scatter is not None and part.scatter is not None:
            scatter = self.scatter - part.scatter - np.multiply.outer(step * weight, step)
        lost = {"blocks": None, "factor": None, "square_sum": None}
        return Moments(**{**sums, **kept, "mean": mean, "scatter": scatter, **lost})

    def _merged_blocks(self, other: Moments) -> BlockSums | None:
        # No rows have no blocks either, which must not lose those of the other side.
        if self.rows == 0 or other.rows == 0:
            return other.blocks if self.rows == 0 else self.blocks
        if self.blocks is None or other.blocks is None:
            return None
        return self.blocks.merge(other.blocks)

    def step_to(self, other: Moments) -> tuple[Vector, float]:
        """Return the step δ between two means and the weight w of the scatter w δδᵀ of them."""
        total = self.weight + other.weight
        # Divided first: the product of two large weights could overflow.
        # Two parts whose rows all have weight 0 add no scatter, whatever their means are.
        weight = self.weight * (other.weight / total) if total > 0 else 0.0
        return other.mean - self.mean, weight

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays, for a file or another process."""
        arrays = super().to_arrays()
        if self.blocks is not None:
            del arrays["blocks"]
            blocks = self.blocks.to_arrays()
            arrays |= {BLOCK_PREFIX + name: array for name, array in blocks.items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild the state that ``to_arrays`` took apart."""
        blocks = {
            name.removeprefix(BLOCK_PREFIX): array
            for name, array in arrays.items()
            if name.startswith(BLOCK_PREFIX)
        }
        found = super().from_arrays(arrays)
        return replace(found, blocks=BlockSums.from_arrays(blocks)) if blocks else found


def subtracted(one: Any, other: Any) -> Any:
    """Subtract a sum from another; None where one of them was not taken."""
    return None if one is None or other is None else one - other


def _merged_squares(
    one: Vector | None, other: Vector | None, step: Vector, weight: float
) -> Vector | None:
    """Combine the diagonals of two scatter matrices."""
    return None if one is None or other is None else one + other + weight * step * step


def _merged_scatter(
    one: Matrix | None, other: Matrix | None, step: Vector, weight: float
) -> Matrix | None:
    if one is None or other is None:
        return None
    # In place: every sum of two d × d matrices would otherwise be a third one.
    merged = np.multiply.outer(step * weight, step)
    merged += one
    merged += other
    return merged
