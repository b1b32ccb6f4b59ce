"""One read of a cloud for the sums that a correction needs, by any workers or with weights."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoscope.compute.map_reduce import Plan, merged, read, run, without_skipped
from isoscope.corrections.summary import Summary
from isoscope.data.arrays import is_tensor
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError
from isoscope.measures.kernels import moments_kernel_for
from isoscope.measures.kernels.single_precision import SingleMoments
from isoscope.measures.reads.passes import FirstWork

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from isoscope.compute.map_reduce import Batches
    from isoscope.compute.stage import Progress
    from isoscope.corrections.summary import Precision
    from isoscope.data.base import Array, CloudGroup
    from isoscope.measures.kernels import MomentsKernel
    from isoscope.measures.reads.moments import MomentParts
    from isoscope.typing import Matrix

    Weights = NDArray[np.float64]


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
