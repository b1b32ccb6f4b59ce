"""The arithmetic of one batch in numpy.

A batch adds Σ w_i (x_i − m)(x_i − m)ᵀ around its own mean m, and w w_b / (w + w_b) · δ δᵀ for the
step δ from the mean so far (Chan, Golub & LeVeque 1983).

Several families of partition sums over the same coordinates t differ in their gains g only, and
Σ_i exp(±g_k t_ik) = Σ_m (±g_k)^m/m! · Σ_i t_ik^m. Where exponents are small, as for clouds of unit
scale, a few power sums serve all families and both signs, at the price of one exponential.

Matrix products take a whole batch, everything element by element takes blocks of it that stay in
the cache (a third off the time of both reads), and working memory is kept from batch to batch
because fresh memory costs page faults.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import square_norms, within_single_range
from isoscope.measures.kernels.base import MomentsKernel, RowNorms, ViewSums, safe_exponent
from isoscope.measures.reads.moments import BlockSums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import DTypeLike, NDArray

    from isoscope.data.blocks import Dealt
    from isoscope.measures.reads.moments import MomentParts, Moments
    from isoscope.measures.reads.projections import Exponents, ProjectionPlan, Projections
    from isoscope.measures.views import ViewShape
    from isoscope.typing import Doubles, Floats, Mask


# A power and its sum take about a tenth of the time of an exponential of both signs.
POWERS_PER_EXPONENTIAL = 10

# Beyond this the alternating series for −g would lose digits: at 3, terms of up to 4.5 have to
# cancel to e⁻³ = 0.05, at 10 terms of up to 2,800 to 0.00005.
LARGEST_EXPONENT = 3.0


def worthwhile(largest: Sequence[float], dtype: DTypeLike) -> tuple[int, list[int]]:
    """Return the order of the series and the families to take from it, if it saves time.

    ``largest`` holds the largest |exponent| of each family.
    """
    small = [row for row, exponent in enumerate(largest) if exponent <= LARGEST_EXPONENT]
    order = series_order(max((largest[row] for row in small), default=0.0), dtype)
    # The powers are shared by all families, while every family would need an exponential.
    return order, small if order < POWERS_PER_EXPONENTIAL * len(small) else []


def series_order(largest: float, dtype: DTypeLike) -> int:
    """Return the order from which the rest of the series is below a tenth of a rounding.

    The rest is at most a^(m+1)/(m+1)! · e^a of a sum that is at least e^(−a).
    """
    enough = float(np.finfo(dtype).eps) / 10 * math.exp(-2 * largest)
    order, term = 1, largest
    while term > enough:
        order += 1
        term *= largest / order
    return order


def sum_powers(totals: Doubles, unit: Floats, power: Floats) -> None:
    """Add Σ_i u_ik^m to ``totals[m]``; ``power`` is memory for the powers."""
    ones = np.ones(len(unit), unit.dtype)
    totals[0] += len(unit)
    totals[1] += ones @ unit
    np.copyto(power, unit)
    for m in range(2, len(totals)):
        np.multiply(power, unit, out=power)
        totals[m] += ones @ power


def log_sums(totals: Doubles, exponents: Doubles) -> Doubles:
    """Return ln Σ_i exp(±a_k u_ik) from the power sums of u, for the exponents a of a family."""
    plus = np.zeros_like(exponents)
    minus = np.zeros_like(exponents)
    factor = np.ones_like(exponents)
    for m, total in enumerate(totals):
        plus += factor * total
        minus += factor * total if m % 2 == 0 else -factor * total
        factor = factor * exponents / (m + 1)
    return np.log(np.stack((plus, minus)))


# Numbers in one block: 512 rows of 768. Smaller ones fit the cache better, but then threads spend
# their time on handing Python's lock to each other.
BLOCK_ELEMENTS = 393_216

# Rows that are added up in float32 before float64 takes over: the rounding of a sum grows with its
# length, and float32 has only seven digits to begin with.
LONGEST_SINGLE_SUM = 1_024


class WorkingMemory:
    """Arrays as large as a batch or block, kept from one to the next."""

    def __init__(self) -> None:
        self._kept: dict[str, Floats] = {}

    def like(self, purpose: str, x: Floats, dtype: DTypeLike | None = None) -> Floats:
        """Return memory with the shape of ``x``, and its type unless another is given."""
        kind = np.dtype(dtype or x.dtype)
        kept = self._kept.get(purpose)
        fits = kept is not None and kept.dtype == kind and kept.shape[1] == x.shape[1]
        if kept is None or not fits or len(kept) < len(x):
            kept = self._kept[purpose] = np.empty(x.shape, kind)
        return kept[: len(x)]


def working(vectors: NDArray[Any], *, double: bool) -> Floats:
    """Return the batch contiguous and in the type that is computed in; a view where it is so."""
    wide = double or vectors.dtype.itemsize > 4
    return np.ascontiguousarray(vectors, dtype=np.float64 if wide else np.float32)


def blocks(x: Floats) -> Iterator[slice]:
    """Cut the rows of a batch into blocks."""
    step = min(max(BLOCK_ELEMENTS // x.shape[1], 1), LONGEST_SINGLE_SUM)
    for first in range(0, len(x), step):
        yield slice(first, min(first + step, len(x)))


class NumpyMoments(MomentsKernel):
    """The first read's arithmetic.

    Means and scatter are always summed in float64. In float32 the smallest variances would drown
    (|cov − I| of 1e-3 after whitening at a condition number of 1e6), and float64 costs a fifth of
    the two reads at most.
    """

    def __init__(self, parts: MomentParts, *, double: bool) -> None:
        super().__init__(parts, double=double)
        self._memory = WorkingMemory()

    def add(self, vectors: NDArray[Any], weights: Any = None, dealt: Dealt | None = None) -> None:
        """Take one batch into account; with its sums for each block where rows are dealt."""
        x = working(vectors, double=self._double)
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
        unit_sum = np.asarray(rows.scale.astype(x.dtype) @ x, dtype=np.float64)
        blocks = None if dealt is None else self._blocks(x, rows, dealt)
        batch = rows.moments(
            self._mean(x, rows.weight), unit_sum, *self._dimensions(x, rows.scale), blocks
        )
        if self._parts.scatter:
            batch = self._add_scatter(batch, None if weights is None else rows.weight)
        self._total = batch if self._total is None else self._total.merge(batch)

    def _blocks(self, x: Floats, rows: RowNorms, dealt: Dealt) -> BlockSums:
        if self._parts.scatter or self._parts.mean:
            vector_sum, unit_sum = dealt.sums(x, rows.weight, rows.scale)
        else:
            (unit_sum,) = dealt.sums(x, rows.scale)
            vector_sum = np.zeros_like(unit_sum)
        return BlockSums.of_batch(dealt, rows.norms, rows.weight, vector_sum, unit_sum)

    def _mean(self, x: Floats, weight: Doubles) -> Doubles:
        total = float(weight.sum())
        if total == 0 or not (self._parts.scatter or self._parts.mean):
            return np.zeros(x.shape[1])
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

    def _with_exact_mean(self, batch: Moments, rest: Doubles) -> Moments:
        """Take what the mean lacked out of mean and scatter: a constant has no variance."""
        if self._scatter is None or batch.weight == 0:
            return batch
        step = rest / batch.weight
        # Around m + s with s = r / w the scatter is that around m, less r rᵀ / w.
        self._scatter -= np.multiply.outer(rest, step)
        return replace(batch, mean=batch.mean + step)


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
                ones = np.ones(len(squared), z.dtype)
                sums.found.block_squares[:, :there] += dealt.part(block).sums(squared, ones)[0]
        lengths = np.sqrt(squares[0])
        for row, view in enumerate(views):
            # The constant is orthogonal to all that varies, so that its square adds up with the
            # others.
            norms = np.sqrt(squares[row + 1] + view.constant_length() ** 2)
            inverse = sums.add_norms(row, norms, lengths, float(np.finfo(z.dtype).eps), missing)
            scale = inverse.astype(z.dtype)
            sums.add_units(row, np.asarray(scale @ z, np.float64), float(inverse.sum()))
            if self._plan.dimensions:
                for block in blocks(z):
                    y = self._output(view, centred[block], z[block])
                    self._sum_dimensions(row, y, inverse[block], sums)

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
        families = [replace(family, gains=family.gains[:there]) for family in self._plan.exponents]
        rows = [row for row, family in enumerate(families) if family.source == source]
        reach = np.maximum(t.max(axis=0), -t.min(axis=0)).astype(np.float64)
        largest = [float((families[row].gains * reach).max()) for row in rows]
        order, members = worthwhile(largest, t.dtype)
        # Powers of t itself could overflow or vanish. Divided by the largest of their direction,
        # coordinates lie between −1 and 1, and the gains take its size.
        totals = self._power_sums(t, reach, order) if members else None
        for position, row in enumerate(rows):
            family = families[row]
            if totals is not None and position in members:
                log_partition[row, :, :there] = log_sums(totals, family.gains * reach)
            else:
                log_partition[row, :, :there] = self._log_sums(t, reach, family)
            log_partition[row, :, there:] = math.log(len(t))  # Σ exp(0) in all other directions

    def _power_sums(self, t: Floats, reach: Doubles, order: int) -> Doubles:
        """Σ_i (t_ik / reach_k)^m for every direction k and power m."""
        scale = np.divide(1.0, reach, out=np.zeros_like(reach), where=reach > 0).astype(t.dtype)
        totals = np.zeros((order + 1, t.shape[1]))
        for block in blocks(t):
            unit = np.multiply(t[block], scale, out=self._memory.like("unit", t[block]))
            sum_powers(totals, unit, self._memory.like("block", t[block]))
        return totals

    def _log_sums(self, t: Floats, reach: Doubles, family: Exponents) -> Doubles:
        """Return ln Σ_i exp(g_k t_ik) and ln Σ_i exp(−g_k t_ik) for every direction k.

        While exponents are small both come from one exp, as exp(−a) = 1/exp(a); directions whose
        exponents could overflow are shifted by their maximum.
        """
        gains = family.gains.astype(t.dtype)
        # Not written as ≥, so that NaN and infinities go the careful way as well.
        far = np.flatnonzero(~(family.gains * reach < safe_exponent(t.dtype, len(t))))
        near_gains = gains.copy()
        # exp(0) cannot overflow; what it gives for these directions is replaced below.
        near_gains[far] = 0
        plain = bool((near_gains == 1).all())
        sums = np.zeros((2, t.shape[1]))
        for block in blocks(t):
            powers = self._memory.like("block", t[block])
            ones = np.ones(len(powers), t.dtype)
            exponents = t[block] if plain else np.multiply(t[block], near_gains, out=powers)
            np.exp(exponents, out=powers)
            sums[0] += ones @ powers
            np.reciprocal(powers, out=powers)
            sums[1] += ones @ powers
        np.log(sums, out=sums)
        if len(far):
            exponents = t[:, far] * gains[far]
            for row, signed in enumerate((exponents, -exponents)):
                top = signed.max(axis=0)
                sums[row, far] = top + np.log(np.exp(signed - top).sum(axis=0, dtype=np.float64))
        return sums
