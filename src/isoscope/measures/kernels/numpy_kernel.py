"""The arithmetic of one batch in numpy.

A batch adds Σ w_i (x_i − m)(x_i − m)ᵀ around its own mean m, and w w_b / (w + w_b) · δ δᵀ for the
step δ from the mean so far (Chan, Golub & LeVeque 1983).

Products take a whole batch, and everything element by element takes blocks of it
(``working_memory``); sums of exponentials have a file of their own (``partition_sums``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import square_norms, within_single_range
from isoscope.measures.kernels.base import MomentsKernel, RowNorms, ViewSums
from isoscope.measures.kernels.partition_sums import log_partitions
from isoscope.measures.kernels.working_memory import WorkingMemory, blocks
from isoscope.measures.reads.moments import BlockSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.data.blocks import Dealt
    from isoscope.measures.reads.moments import MomentParts, Moments
    from isoscope.measures.reads.projections import ProjectionPlan, Projections
    from isoscope.measures.views import ViewShape
    from isoscope.typing import Doubles, Floats, Mask


def working(vectors: NDArray[Any], *, double: bool) -> Floats:
    """Return the batch contiguous and in the type that is computed in; a view where it is so."""
    wide = double or vectors.dtype.itemsize > 4
    return np.ascontiguousarray(vectors, dtype=np.float64 if wide else np.float32)


class NumpyMoments(MomentsKernel):
    """The first read's arithmetic.

    Means and scatter are always summed in float64. In float32 the smallest variances would drown
    (|cov − I| of 1e-3 after whitening at a condition number of 1e6), and float64 costs a fifth of
    the two reads at most.
    """

    def __init__(self, parts: MomentParts, *, double: bool) -> None:
        super().__init__(parts, double=double)
        self._memory = WorkingMemory()

    def add(
        self,
        vectors: NDArray[Any],
        weights: Any = None,
        dealt: Dealt | None = None,
        squares: Doubles | None = None,
    ) -> None:
        """Take one batch into account; with its sums for each block where rows are dealt."""
        x = working(vectors, double=self._double)
        if squares is None or x.dtype != vectors.dtype:
            squares = square_norms(x)
        if x.dtype == np.float32 and not within_single_range(squares):
            # Squares overflow long before the vectors themselves do, so that such a batch is good
            # data; only its squares need more room.
            x = x.astype(np.float64)
            squares = square_norms(x)
        rows = RowNorms.of(squares, weights, zero=lambda: not x.any())
        # In the precision of the data: a mean cosine needs no more digits than the vectors have.
        # That cannot be said of the scatter, whose small eigenvalues are differences of large
        # numbers.
        unit_sum = np.full(x.shape[1], np.nan)
        if self._parts.units:
            unit_sum = np.asarray(rows.scale.astype(x.dtype) @ x, dtype=np.float64)
        blocks = None if dealt is None else self._blocks(x, rows, dealt)
        batch = rows.moments(
            self._mean(x, rows.weight), unit_sum, *self._dimensions(x, rows.scale), blocks
        )
        if self._parts.scatter:
            batch = self._add_scatter(batch, None if weights is None else rows.weight)
        elif self._parts.variances:
            batch = self._with_squares(batch, rows.weight)
        self._total = batch if self._total is None else self._total.merge(batch)

    def _blocks(self, x: Floats, rows: RowNorms, dealt: Dealt) -> BlockSums:
        if self._parts.sums_vectors:
            vector_sum, unit_sum = dealt.sums(x, rows.weight, rows.scale)
        else:
            (unit_sum,) = dealt.sums(x, rows.scale)
            vector_sum = np.zeros_like(unit_sum)
        return BlockSums.of_batch(dealt, rows.norms, rows.weight, vector_sum, unit_sum)

    def _mean(self, x: Floats, weight: Doubles) -> Doubles:
        total = float(weight.sum())
        if total == 0 or not self._parts.sums_vectors:
            return np.zeros(x.shape[1])
        if not (self._parts.scatter or self._parts.variances):
            # Nobody needs the widened rows again, so that they are widened within the cache.
            found = np.zeros(x.shape[1])
            step = max(WIDENED_ELEMENTS // x.shape[1], 1)
            for first in range(0, len(x), step):
                part = x[first : first + step]
                if x.dtype != np.float64:
                    part = self._memory.like("wide", part, np.float64)
                    np.copyto(part, x[first : first + step])
                found += weight[first : first + step] @ part
            return found / total
        wide = self._memory.like("wide", x, np.float64)
        np.copyto(wide, x)
        return np.asarray(weight @ wide) / total

    def _dimensions(
        self, x: Floats, scale: Doubles
    ) -> tuple[Doubles | None, tuple[NDArray[np.int64], NDArray[np.int64]] | None]:
        if not self._parts.dimensions:
            return None, None
        total = np.zeros(x.shape[1])
        weights = (scale * scale).astype(x.dtype)
        for block in blocks(x):
            squared = np.multiply(x[block], x[block], out=self._memory.like("squares", x[block]))
            total += weights[block] @ squared
        nonzero = scale > 0
        return total, (x.argmin(axis=1)[nonzero], x.argmax(axis=1)[nonzero])

    def _add_scatter(self, batch: Moments, weights: Doubles | None) -> Moments:
        """Add the batch's scatter around its own mean, and that of the two means (Chan et al.).

        ``_mean`` left the batch in float64 in the working memory. Returns the batch, with a
        better mean where that matters.
        """
        width = batch.width
        # The same memory as in `_mean`, in which the batch still is: widening it twice would cost a
        # second copy.
        wide = self._memory.like("wide", np.empty((batch.rows, width), np.float64))
        wide -= batch.mean
        if weights is not None:
            wide *= np.sqrt(weights)[:, None]
        if self._scatter is None:
            self._scatter = np.zeros((width, width))
        square = self._memory.like("scatter", self._scatter)
        # numpy sees the transpose and calls syrk: half the arithmetic.
        self._scatter += np.matmul(wide.T, wide, out=square)
        # Rarely true, and then worth another product: a dimension that is 0.1 in every row has a
        # mean that misses 0.1 by a rounding, and would get a variance of the square of that.
        if (np.diagonal(square) <= NEARLY_CONSTANT * batch.weight * batch.mean**2).any():
            roots = np.ones(batch.rows) if weights is None else np.sqrt(weights)
            batch = self._with_exact_mean(batch, roots @ wide)
        if self._total is not None:
            # The merge of the moments below leaves the scatter alone, as it is summed in place
            # here.
            step, weight = self._total.step_to(batch)
            self._scatter += np.multiply.outer(step * weight, step, out=square)
        return batch

    def _with_squares(self, batch: Moments, weight: Doubles) -> Moments:
        """Add the squares around the batch's own mean, dimension by dimension.

        ``_mean`` left the batch in float64 in the working memory.
        """
        wide = self._memory.like("wide", np.empty((batch.rows, batch.width), np.float64))
        wide -= batch.mean
        # What the mean lacked: a constant has no variance, as in the scatter.
        rest = (weight @ wide) / batch.weight if batch.weight > 0 else 0 * batch.mean
        wide *= wide
        squares = weight @ wide - batch.weight * rest * rest
        return replace(batch, mean=batch.mean + rest, square_sum=np.maximum(squares, 0.0))

    def _with_exact_mean(self, batch: Moments, rest: Doubles) -> Moments:
        """Take what the mean lacked out of mean and scatter: a constant has no variance."""
        if self._scatter is None or batch.weight == 0:
            return batch
        step = rest / batch.weight
        # Around m + s with s = r / w the scatter is that around m, less r rᵀ / w.
        self._scatter -= np.multiply.outer(rest, step)
        return replace(batch, mean=batch.mean + step)


# Numbers that are widened at a time where only their mean is taken: a product of a row of weights
# with fewer rows takes longer for each, up to three times as long.
WIDENED_ELEMENTS = 262_144

# A variance below this share of the squared mean could be the rounding of that mean: a standard
# deviation of 1e-10 of it, while the mean of a batch is good to 1e-12 or better.
NEARLY_CONSTANT = 1e-20


class NumpyProjector:
    """The second read's arithmetic."""

    def __init__(self, plan: ProjectionPlan) -> None:
        self._plan = plan
        self._memory = WorkingMemory()
        self._bases: dict[tuple[str, str], Floats] = {}

    def __call__(self, vectors: NDArray[Any], dealt: Dealt | None = None) -> Projections:
        """Project one batch on every basis of the plan; squares by block where rows are dealt."""
        plan = self._plan
        x = working(vectors, double=plan.double)
        sums = ViewSums(plan)
        log_partition = sums.found.log_partition
        if plan.raw_basis is not None:
            raw = self._projected(x, "raw")
            self._sum_exponentials("raw", raw, log_partition)
        if plan.basis is not None:
            centred = self._centred(x)
            z = self._projected(centred, "centred")
            # x − μ was taken with a rounded μ. The difference is the same for all rows, and adding
            # it here costs one addition instead of a second read in float64.
            z += self._rounding_of_mean(x.dtype)
            self._sum_exponentials("centred", z, log_partition)
            missing = np.asarray(~x.any(axis=1)) if plan.zero_rows else None
            self._sum_views(centred, z, sums, dealt, missing)
        return replace(sums.found, rows=len(x))

    def _projected(self, x: Floats, which: str) -> Floats:
        """Return rows on a basis, which may have fewer directions than there are dimensions."""
        basis = self._basis(which, x.dtype)
        shape = np.broadcast_to(x[:1, :1], (len(x), basis.shape[1]))
        return np.matmul(x, basis, out=self._memory.like(f"{which} coordinates", shape))

    def _basis(self, which: str, dtype: np.dtype[Any]) -> Floats:
        key = (which, dtype.str)
        if key not in self._bases:
            basis = self._plan.raw_basis if which == "raw" else self._plan.basis
            assert basis is not None
            self._bases[key] = np.ascontiguousarray(basis, dtype=dtype)
        return self._bases[key]

    def _centred(self, x: Floats) -> Floats:
        """X − μ with μ rounded to the working type.

        Subtracting before the product keeps the digits that a large offset would take; what the
        rounding of μ left over is a constant that ``_rounding_of_mean`` adds after the product.
        """
        return np.subtract(x, self._plan.mean.astype(x.dtype), out=self._memory.like("centred", x))

    def _rounding_of_mean(self, dtype: np.dtype[Any]) -> Floats:
        plan = self._plan
        assert plan.basis is not None
        rest: Floats = (plan.mean.astype(dtype).astype(np.float64) - plan.mean) @ plan.basis
        return rest.astype(dtype)

    def _sum_views(
        self, centred: Floats, z: Floats, sums: ViewSums, dealt: Dealt | None, missing: Mask | None
    ) -> None:
        """Add a batch to the lengths, unit vectors and extreme dimensions of every view."""
        views = self._plan.views
        # ‖y‖² = Σ_k g_k² z_k², so that one array of squares gives the lengths in all views; with
        # gains of 1 they are the lengths of the centred vectors, against which rounding is judged.
        there = z.shape[1]
        squared_gains = ((v.gains[:there] ** 2).astype(z.dtype) for v in views)
        gains = [np.ones(there, z.dtype), *squared_gains]
        squares = np.empty((len(gains), len(z)))
        for block in blocks(z):
            squared = np.multiply(z[block], z[block], out=self._memory.like("block", z[block]))
            for row, gain in enumerate(gains):
                squares[row, block] = squared @ gain
        if dealt is not None:
            (blocked,) = dealt.sums(z, np.ones(len(z), z.dtype), squared=True)
            sums.found.block_squares[:, :there] += blocked
        lengths = np.sqrt(squares[0])
        eps = float(np.finfo(z.dtype).eps)
        inverses = []
        for row, view in enumerate(views):
            # The constant is orthogonal to all that varies, so that its square adds up with the
            # others.
            norms = np.sqrt(squares[row + 1] + view.constant_length() ** 2)
            inverses.append(sums.add_norms(row, norms, lengths, eps, missing))
        units = np.zeros((len(views), there))
        for block in blocks(z):
            for row, view in enumerate(views):
                inverse = inverses[row][block]
                units[row] += inverse.astype(z.dtype) @ z[block]
                if self._plan.dimensions:
                    y = self._output(view, centred[block], z[block])
                    self._sum_dimensions(row, y, inverse, sums)
        for row, inverse in enumerate(inverses):
            sums.add_units(row, units[row], float(inverse.sum()))

    def _sum_dimensions(self, row: int, y: Floats, inverse: Doubles, sums: ViewSums) -> None:
        """Add a block of corrected vectors to the extreme dimensions of a view."""
        nonzero = inverse > 0
        sums.add_extremes(row, y.argmin(axis=1)[nonzero], y.argmax(axis=1)[nonzero])
        squared = np.multiply(y, y, out=self._memory.like("block", y))
        there = y.shape[1]
        sums.found.unit_square_sum[row, :there] += (inverse * inverse).astype(y.dtype) @ squared

    def _output(self, view: ViewShape, centred: Floats, z: Floats) -> Floats:
        """Return the corrected vectors of a block, as an estimator would give them out."""
        gains = view.gains[: z.shape[1]]
        if view.on_components:
            out = self._memory.like("components", z)
            return np.multiply(z, gains.astype(z.dtype), out=out)
        out = self._memory.like("output", centred)
        changed = np.flatnonzero(gains != 1)
        if len(changed) == 0:
            return centred
        # Few directions change, so they are taken away instead of the others being put together.
        basis = self._basis("centred", z.dtype)
        difference = z[:, changed] * (1 - gains[changed]).astype(z.dtype)
        constant = view.offset[changed].astype(z.dtype)
        np.matmul(difference - constant, basis[:, changed].T, out=out)
        return np.subtract(centred, out, out=out)

    def _sum_exponentials(self, source: str, t: Floats, log_partition: Doubles) -> None:
        """Fill in the rows of all families over one kind of coordinates."""
        there = t.shape[1]
        rows = [row for row, one in enumerate(self._plan.exponents) if one.source == source]
        if rows:
            gains = [self._plan.exponents[row].gains[:there] for row in rows]
            log_partition[rows, :, :there] = log_partitions(t, gains, self._memory)
            # Σ exp(0) in all directions that a cloud of few rows does not have.
            log_partition[rows, :, there:] = math.log(len(t))
