"""One read of a cloud for the sums that a correction needs, with a weight for every row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from isoscope.corrections.single import SingleMoments
from isoscope.errors import DataError, UsageError
from isoscope.measures.kernels import moments_kernel_for
from isoscope.measures.reading import merged, run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isoscope.clouds.contract import Array, CloudGroup
    from isoscope.measures.kernels import MomentsKernel
    from isoscope.measures.moments import MomentParts, Moments
    from isoscope.measures.reading import Batches, Progress

    Weights = NDArray[np.float64]

Precision = Literal["double", "single"]


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
        if self._precision == "single" and self._parts.scatter:
            return SingleMoments(self._parts)
        return moments_kernel_for(vectors, self._parts, double=False)


def read_moments(
    group: CloudGroup,
    parts: MomentParts,
    *,
    weights: Weights | None = None,
    precision: Precision = "double",
    progress: Progress | None = None,
) -> Moments:
    """Sum over the rows of a group of one cloud; a single row is enough.

    The same read as the one that measures begin with: batches over threads, sums in float64, or
    with products of numpy batches in ``single`` precision.
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
    return moments
