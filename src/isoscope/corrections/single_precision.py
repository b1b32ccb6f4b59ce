"""The sums of a fit with products in single precision: half the time of double.

Products of a batch are summed in float32, batches in float64. That leaves errors of about
eps(float32) times the largest variance in the covariance: enough for a centre and for the top
components, and for whitening of directions that are not much smaller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.running import RunningScatter
from isoscope.measures.kernels.numpy_kernel import NumpyMoments, WorkingMemory, blocks, working
from isoscope.measures.moments import MomentParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.moments import Moments

SINGLE_RANGE = (1e-30, 1e30)
"""Batches whose squares sum to less or more are summed in float64."""


class SingleMoments:
    """Moments of numpy batches; mean and scatter by single-precision products."""

    def __init__(self, parts: MomentParts) -> None:
        others = MomentParts(scatter=False, dimensions=parts.dimensions, mean=False)
        self._others = NumpyMoments(others, double=False)
        self._memory = WorkingMemory()
        self._running: RunningScatter | None = None

    def add(self, vectors: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        """Take one batch into account."""
        self._others.add(vectors, weights)
        x = working(vectors, double=False)
        if self._running is None:
            self._running = RunningScatter(x.shape[1])
        if not self._add(self._running, x, weights):
            self._add(self._running, x.astype(np.float64), weights)

    def _add(self, running: RunningScatter, x: NDArray[Any], weights: Any) -> bool:
        """Add a batch in its own precision; False, and nothing added, where that overflows."""
        weight = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
        total = float(weight.sum())
        if total == 0:
            return True
        narrow = weight.astype(x.dtype)
        near = np.zeros(x.shape[1])
        for block in blocks(x):
            near += narrow[block] @ x[block]
        near = (near / total).astype(x.dtype)
        centred = np.subtract(x, near, out=self._memory.like(f"centred {x.dtype}", x))
        rest = np.zeros(x.shape[1])
        for block in blocks(x):
            rest += narrow[block] @ centred[block]
        if weights is not None:
            centred *= np.sqrt(narrow)[:, None]
        square = self._memory.like(f"product {x.dtype}", np.empty((x.shape[1],) * 2, x.dtype))
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(centred.T, centred, out=square)
        lowest, highest = SINGLE_RANGE
        if x.dtype == np.float32 and not lowest < np.trace(square, dtype=np.float64) < highest:
            return False
        running.add(total, near.astype(np.float64), rest / total, square)
        return True

    def result(self) -> Moments | None:
        """Return the moments of all batches so far; None before the first."""
        others = self._others.result()
        if others is None or self._running is None:
            return None
        return replace(others, mean=self._running.mean, scatter=self._running.scatter())
