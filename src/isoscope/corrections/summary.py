"""One read of a cloud, and the sums that corrections follow from.

What a correction was fitted on, in a few facts that are cheap to keep and to compare.

What was summed over a cloud, and what of it is rounding.

One read of a cloud for the sums that a correction needs, by any workers or with weights.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.compute.map_reduce import Plan, merged, read, run, without_skipped
from isoscope.data.arrays import is_tensor
from isoscope.data.base import EPSILON
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError
from isoscope.measures.kernels import moments_kernel_for
from isoscope.measures.kernels.single_precision import SingleMoments
from isoscope.measures.reads.geometry import centred_geometry_of
from isoscope.measures.reads.passes import FirstWork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.compute.map_reduce import Batches
    from isoscope.compute.stage import Progress
    from isoscope.data.base import Array, CloudGroup
    from isoscope.measures.kernels import MomentsKernel
    from isoscope.measures.reads.geometry import CentredGeometry
    from isoscope.measures.reads.moments import MomentParts, Moments
    from isoscope.typing import Matrix

    Weights = NDArray[np.float64]


NORMALIZED_ELSEWHERE = 1e-5
"""Vectors brought to length 1 in single precision miss it by less, whatever they are stored in."""

DECIMALS = 8
"""Digits of sums in a fingerprint; the number of threads changes the ones far behind them."""


ROUNDING = 1e-6
"""By less than this do sums of the same vectors differ, relative to their size."""


@dataclass(frozen=True)
class FittedOn:
    """Facts about the vectors that a correction was fitted on."""

    rows: int
    dtype: str
    """Type in which they were stored."""
    unit_length: bool
    """Whether all of them had length 1, except zero vectors."""
    fingerprint: str
    """The same for the same cloud, on any number of cores and whichever correction is fitted."""


def fitted_on(moments: Moments, stored: str) -> FittedOn:
    """Tell what moments say about the vectors they were summed over."""
    return FittedOn(
        rows=moments.rows,
        dtype=stored,
        unit_length=has_unit_length(moments, stored),
        fingerprint=fingerprint_of(moments),
    )


def has_unit_length(moments: Moments, stored: str) -> bool:
    """Whether lengths are 1 up to rounding: none is above, and their mean is not below."""
    if not moments.unit_weight > 0:
        return False
    tolerance = max(2 * EPSILON[stored], NORMALIZED_ELSEWHERE)
    mean_length = moments.norm_sum / moments.unit_weight
    return moments.norm_max <= 1 + tolerance and mean_length >= 1 - tolerance


def fingerprint_of(moments: Moments) -> str:
    """SHA-256 of the sums that are taken for every correction, rounded."""
    digest = hashlib.sha256()
    sums = (moments.weight, moments.norm_sum, moments.norm_square_sum, moments.norm_max)
    facts = [str(moments.rows), str(moments.zero_rows), *(f"{x:.{DECIMALS}e}" for x in sums)]
    digest.update(" ".join(facts).encode())
    digest.update(moments.norm_counts.astype("<i8").tobytes())
    direction = moments.unit_sum / (moments.unit_weight or 1.0)
    # Adding zero turns −0 into 0: which of them rounding gives says nothing.
    digest.update((np.round(direction, DECIMALS) + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()


def same_vectors(one: Moments, other: Moments) -> bool:
    """Whether two sums could be those of the same vectors, in whatever order they were read.

    Unit vectors of data in single precision are summed in single precision within a batch, so
    that other batches give other last digits; a fingerprint would take them for other vectors.
    """
    if (one.rows, one.zero_rows, one.width) != (other.rows, other.zero_rows, other.width):
        return False
    first, second = (
        np.array([each.norm_sum, each.norm_square_sum, each.norm_max]) for each in (one, other)
    )
    here, there = (each.unit_sum / (each.unit_weight or 1.0) for each in (one, other))
    alike = np.allclose(first, second, rtol=ROUNDING, atol=0)
    return alike and np.allclose(here, there, rtol=0, atol=ROUNDING)


Precision = Literal["double", "single"]

SINGLE_ROUNDINGS = 8
"""Products in single precision are off by about one eps(float32) of the largest variance; up to
this many of them an eigenvalue is rounding."""


@dataclass(frozen=True)
class Summary:
    """What was summed over a cloud, decomposed once for all corrections that share it."""

    moments: Moments
    stored: str
    """Type in which the vectors are stored, which decides what counts as rounding."""
    precision: Precision = "double"
    """Precision of the products that were summed."""

    @cached_property
    def geometry(self) -> CentredGeometry:
        """Eigen-system and rounding floors, as the measures take them."""
        geometry = centred_geometry_of(self.moments, self.stored)
        if self.precision == "double":
            return geometry
        floor = single_floor(float(geometry.centred.values[0]))
        return replace(geometry, null_variance=max(geometry.null_variance, floor))

    def merge(self, other: Summary) -> Summary:
        """Combine two; the less precise one decides what is rounding."""
        return Summary(
            self.moments.merge(other.moments),
            max(self.stored, other.stored, key=EPSILON.__getitem__),
            "single" if "single" in (self.precision, other.precision) else "double",
        )


def single_floor(largest: float) -> float:
    """Eigenvalue up to which a direction is rounding of single-precision products."""
    return SINGLE_ROUNDINGS * EPSILON["float32"] * largest


FIT = "fit"
"""What progress and journals call the read that a correction follows from."""


class WeightedTaker:
    """Accumulates the moments of one cloud on one thread."""

    def __init__(self, parts: MomentParts, weights: Weights | None, precision: Precision) -> None:
        self._parts, self._weights, self._precision = parts, weights, precision
        self.kernel: MomentsKernel | SingleMoments | None = None

    def add(self, batches: Batches, /) -> None:
        """Take one batch into account."""
        (batch,) = batches.values()
        if self.kernel is None:
            self.kernel = self._kernel_for(batch.vectors)
        weights = None
        if self._weights is not None:
            weights = self._weights[batch.first_row : batch.first_row + len(batch.vectors)]
            if len(weights) < len(batch.vectors):
                raise UsageError(f"there are more rows than the {len(self._weights):,} weights")
        self.kernel.add(batch.vectors, weights)

    def _kernel_for(self, vectors: Array) -> MomentsKernel | SingleMoments:
        narrow = not is_tensor(vectors) and vectors.dtype.itemsize <= 4
        if self._precision == "single" and self._parts.scatter and narrow:
            return SingleMoments(self._parts)
        return moments_kernel_for(vectors, self._parts, double=False)


def read_summary(
    group: CloudGroup,
    parts: MomentParts,
    *,
    weights: Weights | None = None,
    precision: Precision = "double",
    progress: Progress | None = None,
    plan: Plan | None = None,
) -> Summary:
    """Sum over the rows of a group of one cloud; a single row is enough.

    Rows with weights, and products in ``single`` precision, are left to the threads of this
    process; all else is read as ``read_with_sample`` does.
    """
    if weights is None and precision == "double":
        return read_with_sample(group, parts, 0, progress=progress, plan=plan)[0]
    if plan is not None:
        raise UsageError(
            "rows with weights, or summed in single precision, are read by this process; give no "
            "plan"
        )
    return read_weighted(group, parts, weights, precision, progress)


def read_with_sample(
    group: CloudGroup,
    parts: MomentParts,
    size: int,
    *,
    progress: Progress | None = None,
    plan: Plan | None = None,
    stage: str = FIT,
) -> tuple[Summary, Matrix]:
    """Sum over the rows of a group of one cloud, and keep ``size`` of them at random.

    The same read as the one that measures begin with: shards over threads or other workers, sums
    in float64. Sums and rows are the same bit by bit whoever reads.
    """
    widths = dict(zip(group.names, group.widths, strict=True))
    work = FirstWork(parts, widths, size, rows=getattr(group, "certain_rows", None))
    state = read(group, work, stage, plan or Plan(), progress).state
    if isinstance(group, RowSelection):
        group.left_out = dict(state.left_out)
    (name,) = group.names
    if name not in state.moments:
        raise DataError(f"{name}: no row is left to learn from")
    return Summary(state.moments[name], group.dtypes[0]), state.samples[name].vectors


def read_weighted(
    group: CloudGroup,
    parts: MomentParts,
    weights: Weights | None,
    precision: Precision,
    progress: Progress | None,
) -> Summary:
    """Sum with a weight for every row, or in the precision of what is stored: batches over threads.

    Tensors and vectors in double precision are summed in double either way.
    """
    takers: list[WeightedTaker] = []

    def new() -> WeightedTaker:
        takers.append(WeightedTaker(parts, weights, precision))
        return takers[-1]

    run(group, new, None, progress, FIT)
    states = [taker.kernel.result() for taker in takers if taker.kernel is not None]
    moments = merged([state for state in states if state is not None])
    if moments is None:
        raise DataError(f"{group.names[0]}: no row is left to learn from")
    if weights is not None and moments.rows != len(weights):
        raise UsageError(f"there are {len(weights):,} weights for {moments.rows:,} rows")
    single = any(isinstance(taker.kernel, SingleMoments) for taker in takers)
    return Summary(moments, group.dtypes[0], "single" if single else "double")


def kept_rows(group: CloudGroup, plan: Plan) -> CloudGroup:
    """Return a group without the shards that a read left out, for reads by this process."""
    rest = without_skipped(group, plan)
    # Rows of shards are numbered with gaps, which a selection closes.
    return rest if rest is group else RowSelection(rest, drop_invalid=True)


@contextmanager
def forgotten_if_refused(plan: Plan | None) -> Iterator[None]:
    """Let a journal forget a read that is over where its sums do not allow what was asked for.

    No run can go on from there, and the next call should not have to delete it first.
    """
    try:
        yield
    except UsageError:
        if plan is not None and plan.journal is not None:
            for step in plan.journal.steps:
                plan.journal.forget(step)
        raise
