"""The sums of a fit with products in single precision: half the time of double.

The error of about eps(float32) times the largest variance is small enough for a centre and for
the top components, and for whitening of directions that are not much smaller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.corrections.running import RunningScatter
from isoscope.measures.kernels.numpy_kernel import NumpyMoments, WorkingMemory, working
from isoscope.measures.moments import MomentParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.moments import Moments


class SingleMoments:
    """Moments of numpy batches; mean and scatter by products in their own precision."""

    def __init__(self, parts: MomentParts) -> None:
        others = MomentParts(scatter=False, dimensions=parts.dimensions, mean=False)
        self._others = NumpyMoments(others, double=False)
        self._memory = WorkingMemory()
        self._running: RunningScatter | None = None

    def add(self, vectors: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        """Take one batch into account."""
        self._others.add(vectors, weights)
        if self._running is None:
            self._running = RunningScatter(vectors.shape[1])
        self._running.add(working(vectors, double=False), weights, self._memory)

    def result(self) -> Moments | None:
        """Return the moments of all batches so far; None before the first."""
        others = self._others.result()
        if others is None or self._running is None:
            return None
        return replace(others, mean=self._running.mean, scatter=self._running.scatter())
