"""Mean and scatter of rows that come part by part, with products in the precision of the rows.

With the mean m_p of a part of weight w_p, and the mean m of the weight w before it, the scatter
grows by Σ w_i (x_i − m_p)(x_i − m_p)ᵀ + w w_p / (w + w_p) · (m_p − m)(m_p − m)ᵀ (Chan, Golub &
LeVeque 1983). Products of one part are summed in its precision, parts in float64.

For float32 that takes half the time of double, and leaves errors of about one eps(float32) of the
largest variance: small enough for a centre and for the top components, and for whitening of
directions that are not much smaller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.measures.kernels.numpy_kernel import NumpyMoments, working
from isoscope.measures.kernels.working_memory import WorkingMemory, blocks
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.reads.moments import Moments
    from isoscope.typing import Floats, Matrix, Vector


# Directions between means that wait for one product instead of many of rank one: adding one outer
# product reads and writes the whole d × d matrix, for as little arithmetic as there can be.
PENDING = 64

# Parts whose squares sum to less or more are summed in float64.
SINGLE_RANGE = (1e-30, 1e30)


class RunningScatter:
    """Mean and scatter, merged part by part in place (Chan, Golub & LeVeque 1983)."""

    def __init__(self, width: int) -> None:
        self.weight = 0.0
        self.mean = np.zeros(width)
        self._scatter = np.zeros((width, width))
        self._between: list[Vector] = []
        self._signs: list[float] = []

    def add(self, rows: Floats, weights: Vector | None, memory: WorkingMemory) -> None:
        """Take float32 or float64 rows into account."""
        weight = np.ones(len(rows)) if weights is None else weights
        total = float(weight.sum())
        if total == 0:
            return
        narrow = weight.astype(rows.dtype)
        # Rounded to the type of the rows, so that the subtraction stays in it. What the rounding
        # left over is measured on the centred rows, where it has all its digits.
        kind = rows.dtype.str
        # An overflow shows in the trace below, and the part is then summed again in float64.
        with np.errstate(over="ignore", invalid="ignore"):
            near = (weighted_sum(narrow, rows) / total).astype(rows.dtype)
            centred = np.subtract(rows, near, out=memory.like(f"centred {kind}", rows))
            rest = weighted_sum(narrow, centred) / total
            if weights is not None:
                centred *= np.sqrt(narrow)[:, None]
            product = memory.like(f"product {kind}", np.broadcast_to(near, self._scatter.shape))
            np.matmul(centred.T, centred, out=product)
        lowest, highest = SINGLE_RANGE
        squares = float(np.trace(product, dtype=np.float64))
        if rows.dtype == np.float32 and not lowest < squares < highest:
            self.add(rows.astype(np.float64), weights, memory)
        else:
            self._merge(total, near.astype(np.float64), rest, product)

    def scatter(self) -> Matrix:
        """Return Σ w (x − mean)(x − mean)ᵀ of everything so far."""
        self._settle()
        return self._scatter

    def _merge(self, weight: float, near: Vector, rest: Vector, product: Floats) -> None:
        """Merge Σ w (x − p)(x − p)ᵀ around a point p that lacks ``rest`` to the mean."""
        total = self.weight + weight
        step = near + rest - self.mean
        self._scatter += product
        # What p lacked is in the product of every row; the means of both parts are a step apart.
        self._between += [step * np.sqrt(self.weight * (weight / total)), rest * np.sqrt(weight)]
        self._signs += [1.0, -1.0]
        if len(self._signs) >= PENDING:
            self._settle()
        self.mean = self.mean + step * (weight / total)
        self.weight = total

    def _settle(self) -> None:
        if self._signs:
            between = np.array(self._between)
            self._scatter += (between * np.array(self._signs)[:, None]).T @ between
        self._between, self._signs = [], []


def weighted_sum(weights: Floats, rows: Floats) -> Vector:
    """Σ w_i x_i, block by block, as long sums in float32 lose digits."""
    total = np.zeros(rows.shape[1])
    for block in blocks(rows):
        total += weights[block] @ rows[block]
    return total


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

    def restart(self) -> None:
        """Begin anew, with the working memory as it is."""
        self._others.restart()
        self._running = None

    def result(self) -> Moments | None:
        """Return the moments of all batches so far; None before the first."""
        others = self._others.result()
        if others is None or self._running is None:
            return None
        return replace(others, mean=self._running.mean, scatter=self._running.scatter())
