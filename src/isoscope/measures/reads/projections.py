"""The second read: every row projected on the eigenvectors that the first read gave.

A *view* is what a correction would make of the cloud: gains g on the eigenbasis V of the
covariance, y = V (g ∘ z + o) with z = Vᵀ(x − μ) and, for one variant only, a constant o. So the
partition sums, lengths and cosines of every corrected cloud come from one projection, without a
corrected copy. What it has to sum is planned from what the first read found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from isoscope.compute.stage import Summed
from isoscope.data.blocks import BLOCKS
from isoscope.measures.reads.moments import BINS
from isoscope.measures.views import NONE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from isoscope.measures.reads.geometry import Geometry
    from isoscope.measures.reads.moments import Moments
    from isoscope.measures.registry import Need
    from isoscope.measures.views import View, ViewShape
    from isoscope.typing import Matrix, Vector


Source = Literal["raw", "centred"]
Scaling = Literal["plain", "scaled"]


@dataclass(frozen=True)
class Exponents:
    """One family of partition sums: Z(±c_k) = Σ_i exp(±g_k t_ik) for every direction k.

    The coordinates t are those of the raw cloud on its own eigenvectors, or of the centred one.
    """

    source: Source
    gains: Vector


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
    zero_rows: bool = False
    """Whether there are zero vectors, which stay zero vectors in every view."""


@dataclass(frozen=True)
class Projections(Summed):
    """What the second read found: a row per family of exponents, a row per view."""

    # Sums of exponentials are only ever held as logarithms, where adding is logaddexp: the sums
    # themselves overflow for vectors longer than about 700.
    reductions: ClassVar = {"log_partition": np.logaddexp, "norm_max": np.maximum}

    rows: int
    log_partition: NDArray[np.float64]
    """(families, 2, width): ln Z(c_k) and ln Z(−c_k)"""
    zero_rows: NDArray[np.int64]
    """(views): rows that a view makes zero, up to rounding, or that were zero vectors before"""
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


# Whitening stretches the rounding of single-precision coordinates by length / σ. Up to this much
# the error of ln Z stays below 1e-4; beyond it the whole read is done in float64.
LARGEST_SINGLE_STRETCH = 1e3

# Vectors of lengths outside this range are projected in float64 too: float32 ends at about 1e38 and
# 1e-38, which squares of coordinates, and their sums over a row, should stay well away from.
SINGLE_LENGTHS = (1e-12, 1e12)


@dataclass(frozen=True)
class SecondRead:
    """The plan, and which family of partition sums belongs to which space."""

    plan: ProjectionPlan
    families: dict[tuple[str, Scaling], int]


def inverse_scale(root_mean_square: float) -> float:
    """1/scale, and 1 for a space of zero vectors, which no scale can change."""
    return 1.0 / root_mean_square if root_mean_square > 0 else 1.0


def root_mean_square(moments: Moments) -> float:
    """Root of the mean squared length of the raw vectors."""
    return math.sqrt(moments.norm_square_sum / moments.weight)


def plan_second_read(
    moments: Moments,
    geometry: Geometry,
    views: Sequence[View],
    needs: Collection[Need],
    *,
    raw: bool,
    dealt: bool = False,
    double: bool,
) -> SecondRead:
    """Decide which sums to take; views whose gains are 0 or 1 share those of the centred cloud.

    Rows that are ``dealt`` are projected for the variances by block, views or not.
    """
    exponents: list[Exponents] = []
    families: dict[tuple[str, Scaling], int] = {}

    def add(correction: str, scaling: Scaling, family: Exponents) -> None:
        for row, known in enumerate(exponents):
            # Without scaling, centring and every all-but-the-top need the same sums, which are then
            # taken once: exponentials are the dearest part of this read.
            if known.source == family.source and np.array_equal(known.gains, family.gains):
                families[correction, scaling] = row
                return
        families[correction, scaling] = len(exponents)
        exponents.append(family)

    def add_space(correction: str, source: Source, gains: Vector, root_mean_square: float) -> None:
        if "partition" in needs:
            add(correction, "plain", Exponents(source, gains))
        if "scaled" in needs:
            add(correction, "scaled", Exponents(source, gains * inverse_scale(root_mean_square)))

    ones = np.ones(moments.width)
    if raw:
        add_space(NONE, "raw", ones, root_mean_square(moments))
    for view in views:
        # A removed direction has Z = n exactly, whatever was summed there: its gain may be 1.
        gains = ones if np.isin(view.shape.gains, (0.0, 1.0)).all() else view.shape.gains
        add_space(view.correction, "centred", gains, view.root_mean_square)
    # A product with a basis costs about as much as the scatter did, so each is made only if it is
    # used.
    raw_wanted = any(correction == NONE for correction, _ in families)
    plan = ProjectionPlan(
        mean=moments.mean,
        raw_basis=geometry.raw.vectors if raw_wanted and geometry.raw is not None else None,
        basis=geometry.centred.vectors if views or dealt else None,
        exponents=tuple(exponents),
        views=tuple(view.shape for view in views),
        dimensions="dimensions" in needs,
        double=double or not single_suffices(moments, views, geometry),
        zero_rows=moments.zero_rows > 0,
    )
    return SecondRead(plan, families)


def single_suffices(moments: Moments, views: Sequence[View], geometry: Geometry) -> bool:
    """Whether float32 holds the squares of all coordinates, and whitening keeps their digits."""
    shortest, longest = SINGLE_LENGTHS
    fits = moments.norm_max < longest and root_mean_square(moments) > shortest
    return fits and largest_stretch(views, geometry) <= LARGEST_SINGLE_STRETCH


def largest_stretch(views: Sequence[View], geometry: Geometry) -> float:
    """How much longer a view makes a vector along one direction, in centred vector lengths.

    A coordinate in single precision is off by some eps of the length of the whole vector, however
    small the coordinate is. A gain of 1/σ makes that eps · length / σ, beside a variance of 1.
    """
    length = math.sqrt(float(geometry.centred.values.sum()))
    gains = [float(view.shape.gains.max()) for view in views if view.shape.on_components]
    return max(gains, default=0.0) * length
