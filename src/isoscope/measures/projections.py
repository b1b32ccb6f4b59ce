"""The second read: every row projected on the eigenvectors that the first read gave.

A *view* is what a correction would make of the cloud: gains g on the eigenbasis V of the
covariance, y = V (g ∘ z + o) with z = Vᵀ(x − μ) and, for one variant only, a constant o. So the
partition sums, lengths and cosines of every corrected cloud come from one projection, without a
corrected copy.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.data.blocks import BLOCKS
from isoscope.measures.norm_bins import BINS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.typing import Matrix, Vector


@dataclass(frozen=True)
class Exponents:
    """One family of partition sums: Z(±c_k) = Σ_i exp(±g_k t_ik) for every direction k.

    The coordinates t are those of the raw cloud on its own eigenvectors, or of the centred one.
    """

    source: Literal["raw", "centred"]
    gains: Vector


@dataclass(frozen=True)
class ViewShape:
    """What the kernel needs to know of a view: gains, constant part, and its output axes."""

    gains: Vector
    offset: Vector
    """The constant o in eigenbasis coordinates; zero wherever a gain is not."""
    on_components: bool
    """Whether the corrected vectors' dimensions are the components (whitening) or the original."""

    def constant_length(self) -> float:
        """‖o‖, the length that the constant part alone gives to every vector."""
        return float(np.linalg.norm(self.offset))


@dataclass(frozen=True)
class ProjectionPlan:
    """What the second read computes."""

    mean: Vector
    raw_basis: Matrix | None
    """Eigenvectors of the second moment in columns, where a raw partition sum is wanted."""
    basis: Matrix | None
    """Eigenvectors of the covariance in columns, where a view is wanted."""
    exponents: tuple[Exponents, ...]
    views: tuple[ViewShape, ...]
    dimensions: bool
    """Whether to look for the extreme dimensions of every view."""
    double: bool
    """Whether products are float64 whatever the vectors are stored in."""


@dataclass(frozen=True)
class Projections:
    """What the second read found: a row per family of exponents, a row per view."""

    rows: int
    log_partition: NDArray[np.float64]
    """(families, 2, width): ln Z(c_k) and ln Z(−c_k)"""
    zero_rows: NDArray[np.int64]
    """(views): rows that a view makes zero, up to rounding"""
    norm_sum: NDArray[np.float64]
    norm_max: NDArray[np.float64]
    norm_counts: NDArray[np.int64]
    """(views, bins)"""
    unit_sum: NDArray[np.float64]
    """(views, width): Σ y_i / ‖y_i‖ in eigenbasis coordinates"""
    unit_square_sum: NDArray[np.float64]
    """(views, width): Σ y_ij² / ‖y_i‖² over the view's output dimensions j"""
    minimum_counts: NDArray[np.int64]
    maximum_counts: NDArray[np.int64]
    block_squares: NDArray[np.float64]
    """(blocks, width): Σ z_ik² over the rows of each block, zero where rows were not dealt"""

    @classmethod
    def empty(cls, width: int, families: int, views: int) -> Projections:
        """Return the state of no rows, which changes nothing when merged."""
        return cls(
            rows=0,
            log_partition=np.full((families, 2, width), -np.inf),
            zero_rows=np.zeros(views, np.int64),
            norm_sum=np.zeros(views),
            norm_max=np.zeros(views),
            norm_counts=np.zeros((views, BINS), np.int64),
            unit_sum=np.zeros((views, width)),
            unit_square_sum=np.zeros((views, width)),
            minimum_counts=np.zeros((views, width), np.int64),
            maximum_counts=np.zeros((views, width), np.int64),
            block_squares=np.zeros((BLOCKS, width)),
        )

    def merge(self, other: Projections) -> Projections:
        """Combine what was found on two disjoint sets of rows."""
        return Projections(
            rows=self.rows + other.rows,
            log_partition=np.logaddexp(self.log_partition, other.log_partition),
            zero_rows=self.zero_rows + other.zero_rows,
            norm_sum=self.norm_sum + other.norm_sum,
            norm_max=np.maximum(self.norm_max, other.norm_max),
            norm_counts=self.norm_counts + other.norm_counts,
            unit_sum=self.unit_sum + other.unit_sum,
            unit_square_sum=self.unit_square_sum + other.unit_square_sum,
            minimum_counts=self.minimum_counts + other.minimum_counts,
            maximum_counts=self.maximum_counts + other.maximum_counts,
            block_squares=self.block_squares + other.block_squares,
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays, for a file or another process."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Projections:
        """Rebuild the state that ``to_arrays`` took apart."""
        values: dict[str, Any] = dict(arrays)
        return cls(**{**values, "rows": int(values["rows"])})
