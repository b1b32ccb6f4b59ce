"""From one read of a cloud to the corrections that follow from it.

A read gives a ``Summary``: the sums over all rows, the type in which they are stored and, when
somebody asks for it, the eigen-system of the covariance, Σ w (x − μ)(x − μ)ᵀ / Σ w = V Λ Vᵀ.
Corrections that follow from sums are solved from it, any number of them from the same one; others
only note what they were fitted on.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from isoscope.compute.map_reduce import Run, read, summed, with_progress, without_skipped
from isoscope.compute.memory import FITTED, check_matrices
from isoscope.data.arrays import is_tensor, unit_tolerance
from isoscope.data.base import EPSILON
from isoscope.data.open import one_cloud
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError, one_of
from isoscope.measures.kernels import moments_kernel_for
from isoscope.measures.kernels.single_precision import SingleMoments
from isoscope.measures.reads.geometry import centred_geometry_of
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import FirstWork

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.compute.map_reduce import Batches
    from isoscope.corrections.base import Correction
    from isoscope.corrections.closed_form import ClosedForm
    from isoscope.data.base import Batch, CloudGroup
    from isoscope.measures.kernels import MomentsKernel
    from isoscope.measures.reads.geometry import CentredGeometry
    from isoscope.measures.reads.moments import Moments
    from isoscope.progress import Progress
    from isoscope.typing import Matrix, Vector


# Digits of sums in a fingerprint; another machine, with another BLAS library, changes only those
# that are far behind them.
DECIMALS = 8


# By less than this do sums of the same vectors differ, relative to their size.
ROUNDING = 1e-6


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
    unit_length = has_unit_length(moments, stored)
    return FittedOn(moments.rows, stored, unit_length, fingerprint_of(moments))


def has_unit_length(moments: Moments, stored: str) -> bool:
    """Whether lengths are 1 up to rounding: none is above, and their mean is not below."""
    if not moments.unit_weight > 0:
        return False
    # The mean tells of short vectors, the maximum of long ones: no pass over the rows is needed.
    tolerance = unit_tolerance(stored)
    mean_length = moments.norm_sum / moments.unit_weight
    return moments.norm_max <= 1 + tolerance and mean_length >= 1 - tolerance


def fingerprint_of(moments: Moments) -> str:
    """SHA-256 of the sums that are taken for every correction, rounded."""
    digest = hashlib.sha256()
    sums = (moments.weight, moments.norm_sum, moments.norm_square_sum, moments.norm_max)
    facts = [str(moments.rows), str(moments.zero_rows), *(f"{x:.{DECIMALS}e}" for x in sums)]
    digest.update(" ".join(facts).encode())
    # In a fixed byte order, so that a fingerprint is the same on every machine.
    digest.update(moments.norm_counts.astype("<i8").tobytes())
    with np.errstate(over="ignore"):  # of sums that somebody forged: they have a fingerprint too
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

# Products in single precision are off by about one eps(float32) of the largest variance; up to
# this many of them an eigenvalue is rounding.
SINGLE_ROUNDINGS = 8


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
            # The coarser type: a variance that is rounding in one part is no more than that in
            # both.
            max(self.stored, other.stored, key=EPSILON.__getitem__),
            "single" if "single" in (self.precision, other.precision) else "double",
        )


def single_floor(largest: float) -> float:
    """Eigenvalue up to which a direction is rounding of single-precision products.

    Errors of such products are a share of the largest variance in every direction, so that a small
    eigenvalue may be nothing else, and whitening would divide by the root of it.
    """
    return SINGLE_ROUNDINGS * EPSILON["float32"] * largest


def only_cloud(group: CloudGroup, progress: Progress | None, stage: str) -> Iterator[Batch]:
    """Yield the batches of a group of one cloud."""
    for batches in with_progress(group, progress, stage):
        (batch,) = batches.values()
        yield batch


# What progress and journals call the read that a correction follows from.
FIT = "fit"


class WeightedTaker:
    """Accumulates the moments of one cloud, chunk by chunk, on one thread."""

    def __init__(self, parts: MomentParts, weights: Vector | None, precision: Precision) -> None:
        self._parts, self._weights, self._precision = parts, weights, precision
        self.kernel: MomentsKernel | SingleMoments | None = None

    def add(self, batches: Batches, /) -> None:
        """Take one batch into account."""
        (batch,) = batches.values()
        # The kernel is chosen when the first batch is there: only then is it known whether vectors
        # are tensors, and how wide their numbers are.
        if self.kernel is None:
            narrow = not is_tensor(batch.vectors) and batch.vectors.dtype.itemsize <= 4
            if self._precision == "single" and self._parts.scatter and narrow:
                self.kernel = SingleMoments(self._parts)
            else:
                self.kernel = moments_kernel_for(batch.vectors, self._parts, double=False)
        weights = None
        if self._weights is not None:
            weights = self._weights[batch.first_row : batch.first_row + len(batch.vectors)]
            if len(weights) < len(batch.vectors):
                raise UsageError(f"there are more rows than the {len(self._weights):,} weights")
        self.kernel.add(batch.vectors, weights)

    def take(self) -> WeightedMoments:
        """Return the sums since the last call, and begin anew."""
        # A chunk has at least one batch, so there is a kernel by now.
        assert self.kernel is not None
        moments = self.kernel.result()
        assert moments is not None
        self.kernel.restart()
        return WeightedMoments(moments, isinstance(self.kernel, SingleMoments))


@dataclass(frozen=True)
class WeightedMoments:
    """Moments, and whether products were in single precision."""

    moments: Moments
    single: bool

    def merge(self, other: WeightedMoments) -> WeightedMoments:
        """Merge the moments."""
        return WeightedMoments(self.moments.merge(other.moments), self.single or other.single)


def read_summary(
    group: CloudGroup,
    parts: MomentParts,
    *,
    weights: Vector | None = None,
    precision: Precision = "double",
    progress: Progress | None = None,
    plan: Run | None = None,
) -> Summary:
    """Sum over the rows of a group of one cloud; a single row is enough.

    Rows with weights, and products in ``single`` precision, are left to the threads of this
    process; all else is read as ``read_with_sample`` does.
    """
    # The usual case takes the same read as `measure`, with shards, other workers and a journal.
    # Weights are one array for all rows, in this process; so that case stays here.
    if weights is None and precision == "double":
        return read_with_sample(group, parts, 0, progress=progress, plan=plan)[0]
    if plan is not None:
        raise UsageError(
            "rows with weights, or summed in single precision, are read by this process; give no "
            "plan"
        )
    return read_weighted(group, parts, weights, precision, progress)


def check_fit(group: CloudGroup, parts: MomentParts) -> None:
    """Refuse a fit whose matrices would not fit into memory."""
    if parts.scatter:
        check_matrices(
            group.widths[0], FITTED, f"fitting on {group.names[0]}",
            "reduce the dimensions first, or choose a correction without directions, such as "
            "center or clip",
        )  # fmt: skip


def read_with_sample(
    group: CloudGroup,
    parts: MomentParts,
    size: int,
    *,
    progress: Progress | None = None,
    plan: Run | None = None,
    stage: str = FIT,
) -> tuple[Summary, Matrix]:
    """Sum over the rows of a group of one cloud, and keep ``size`` of them at random.

    The same read as the one that measures begin with: shards over threads or other workers, sums
    in float64. Sums and rows are the same bit by bit whoever reads.
    """
    check_fit(group, parts)
    widths = dict(zip(group.names, group.widths, strict=True))
    work = FirstWork(parts, widths, size, rows=getattr(group, "certain_rows", None))
    state = read(group, work, stage, plan or Run(), progress).state
    if isinstance(group, RowSelection):
        group.left_out = dict(state.left_out)
    (name,) = group.names
    if name not in state.moments:
        raise DataError(f"{name}: all rows were excluded")
    return Summary(state.moments[name], group.dtypes[0]), state.samples[name].vectors


def read_weighted(
    group: CloudGroup,
    parts: MomentParts,
    weights: Vector | None,
    precision: Precision,
    progress: Progress | None,
) -> Summary:
    """Sum with a weight for every row, or in the precision of what is stored: batches over threads.

    Tensors and vectors in double precision are summed in double either way.
    """
    check_fit(group, parts)
    found = summed(group, partial(WeightedTaker, parts, weights, precision), FIT, progress)
    if found is None:
        raise DataError(f"{group.names[0]}: all rows were excluded")
    if weights is not None and found.moments.rows != len(weights):
        raise UsageError(f"there are {len(weights):,} weights for {found.moments.rows:,} rows")
    return Summary(found.moments, group.dtypes[0], "single" if found.single else "double")


def kept_rows(group: CloudGroup, plan: Run) -> CloudGroup:
    """Return a group without the shards that a read left out, for reads by this process."""
    rest = without_skipped(group, plan)
    # Rows of shards are numbered with gaps, which a selection closes.
    return rest if rest is group else RowSelection(rest, drop_invalid=True)


@contextmanager
def forgotten_if_refused(plan: Run | None) -> Iterator[None]:
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


def checked_weights(sample_weight: Any, rows: int | None = None) -> Vector | None:
    """Return one finite weight per row, not negative; None where there are none."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim != 1 or (rows is not None and len(weights) != rows):
        wanted = "one number per row" if rows is None else f"{rows:,} numbers, one per row"
        raise UsageError(f"sample_weight is {wanted}; its shape is {weights.shape}")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise DataError("sample_weight holds negative numbers, NaN or infinities")
    return weights


def fit_and_sample(
    correction: Correction,
    cloud: Any,
    size: int,
    *,
    progress: Progress | None = None,
    plan: Run | None = None,
) -> Matrix:
    """Fit a correction as ``fit_cloud`` does, and draw a sample in the same read.

    Returns
    -------
    array of shape (at most size, n_features)
        Random rows in their order, the same whoever reads.
    """
    return correction._fit_group(correction._begin_on(cloud), progress, plan, size)


def fit_together(
    corrections: Sequence[Correction],
    cloud: Any,
    *,
    sample_weight: Any = None,
    precision: Precision = "double",
    progress: Progress | None = None,
) -> list[Correction]:
    """Fit corrections on the same cloud; all that follow from sums share one read.

    They share the decomposition as well. Others (clusters, flows) are fitted after them, with
    reads of their own and without weights.

    Parameters
    ----------
    corrections : sequence of Correction
        Fitted in place.
    cloud : str, Path, array, tensor or CloudGroup
        Anything that ``isoscope.open_cloud`` takes.
    sample_weight : array of shape (n_samples,), optional
        Weight of each row.
    precision : {"double", "single"}
        Precision of the products that the covariance is summed from. ``single`` takes half the
        time for vectors stored in single or half precision, leaves an error of about 1e-7 of the
        largest variance, and takes directions with less than 1e-6 of it for empty. Vectors in
        double precision and tensors are summed in double.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.

    Returns
    -------
    list of Correction
        The corrections, fitted.
    """
    for correction in corrections:
        correction._begin()
    one_of("precision", precision, get_args(Precision))
    group = one_cloud(cloud)
    closed: list[Any] = [correction for correction in corrections if correction.from_sums]
    if closed:
        weights = checked_weights(sample_weight)
        summary = read_summary(
            group, parts_together(closed), weights=weights, precision=precision, progress=progress
        )
        for correction in closed:
            correction.fit_summary(summary)
    for correction in corrections:
        if not correction.from_sums:
            correction.fit_cloud(group, progress=progress)
    return list(corrections)


def fit_summary_together(corrections: Sequence[ClosedForm], moments: Moments, stored: str) -> None:
    """Fit corrections from sums that were taken before; they share the decomposition."""
    summary = Summary(moments, stored)
    for correction in corrections:
        correction.fit_summary(summary)


def parts_together(corrections: Sequence[ClosedForm]) -> MomentParts:
    """Return the sums that several corrections need between them."""
    wanted = [correction._parts() for correction in corrections]
    return MomentParts(
        scatter=any(part.scatter for part in wanted),
        dimensions=any(part.dimensions for part in wanted),
        mean=any(part.mean for part in wanted),
    )
