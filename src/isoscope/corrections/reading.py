"""One read of a cloud for the sums that a correction needs, with a weight for every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.arrays import is_tensor
from isoscope.corrections.single_precision import SingleMoments
from isoscope.corrections.summary import Summary
from isoscope.errors import DataError, UsageError
from isoscope.measures.kernels import moments_kernel_for
from isoscope.measures.reading import merged, run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isoscope.clouds.contract import Array, CloudGroup
    from isoscope.corrections.summary import Precision
    from isoscope.measures.kernels import MomentsKernel
    from isoscope.measures.moments import MomentParts
    from isoscope.measures.reading import Batches, Progress

    Weights = NDArray[np.float64]


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
) -> Summary:
    """Sum over the rows of a group of one cloud; a single row is enough.

    The same read as the one that measures begin with: batches over threads, sums in float64, or
    with products in ``single`` precision of what is stored in that or half, tensors excepted.
    """
    takers: list[WeightedTaker] = []

    def new() -> WeightedTaker:
        takers.append(WeightedTaker(parts, weights, precision))
        return takers[-1]

    run(group, new, None, progress, "fit")
    states = [taker.kernel.result() for taker in takers if taker.kernel is not None]
    moments = merged([state for state in states if state is not None])
    if moments is None:
        raise DataError(f"{group.names[0]}: no row is left to learn from")
    if weights is not None and moments.rows != len(weights):
        raise UsageError(f"there are {len(weights):,} weights for {moments.rows:,} rows")
    single = any(isinstance(taker.kernel, SingleMoments) for taker in takers)
    return Summary(moments, group.dtypes[0], "single" if single else "double")
