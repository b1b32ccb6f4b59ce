"""The arithmetic of one batch in numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.measures.kernels.host import ViewSums, moments_from, safe_exponent
from isoscope.measures.projections import Projections

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.moments import MomentParts, Moments
    from isoscope.measures.projections import Exponents, ProjectionPlan, ViewShape

    Floats = NDArray[np.floating[Any]]


def working(vectors: NDArray[Any], *, double: bool) -> Floats:
    """Return the batch contiguous and in the type that is computed in; a view where it is so."""
    wide = double or vectors.dtype.itemsize > 4
    return np.ascontiguousarray(vectors, dtype=np.float64 if wide else np.float32)


def square_norms(x: Floats) -> NDArray[np.float64]:
    """‖x_i‖² of every row."""
    return np.asarray(np.einsum("ij,ij->i", x, x), dtype=np.float64)


def batch_moments(
    vectors: NDArray[Any],
    parts: MomentParts,
    *,
    double: bool = False,
    weights: NDArray[Any] | None = None,
) -> Moments:
    """Take the moments of one batch.

    Means and scatter are always summed in float64. In float32 the smallest variances would drown
    (|cov − I| of 1e-3 after whitening at a condition number of 1e6), and they cost a fifth of the
    run at most.
    """
    x = working(vectors, double=double)
    squares = square_norms(x)
    if x.dtype == np.float32 and not within_single_range(squares):
        x = x.astype(np.float64)
        squares = square_norms(x)
    norms = np.sqrt(squares)
    nonzero = squares > 0
    weight = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    inverse = np.divide(weight, norms, out=np.zeros_like(norms), where=nonzero)
    scale = inverse.astype(x.dtype)

    wide = x.astype(np.float64)
    total = float(weight.sum())
    mean = (weight @ wide) / total if total > 0 else np.zeros(x.shape[1])
    scatter = None
    if parts.scatter:
        wide -= mean
        if weights is not None:
            wide *= np.sqrt(weight)[:, None]
        scatter = wide.T @ wide  # numpy sees the transpose and calls syrk: half the arithmetic
    return moments_from(
        norms=norms,
        weight=weight,
        mean=mean,
        unit_sum=np.asarray(scale @ x, dtype=np.float64),
        scatter=scatter,
        unit_square_sum=np.asarray((scale * scale) @ (x * x), dtype=np.float64)
        if parts.dimensions
        else None,
        extremes=(x.argmin(axis=1)[nonzero], x.argmax(axis=1)[nonzero])
        if parts.dimensions
        else None,
    )


def within_single_range(squares: NDArray[np.float64]) -> bool:
    """Whether squared lengths are far from where float32 overflows or loses digits.

    Exact zeros are the common exception, but lengths below 1e-23 look the same in float32: any
    zero sends the batch to float64, where the two differ.
    """
    return bool(((squares > 1e-30) & (squares < 1e30)).all())


class NumpyProjector:
    """The second read's arithmetic, with working memory that is used again for every batch."""

    def __init__(self, plan: ProjectionPlan) -> None:
        self._plan = plan
        self._memory: dict[str, Floats] = {}
        self._bases: dict[tuple[str, str], Floats] = {}

    def __call__(self, vectors: NDArray[Any]) -> Projections:
        """Project one batch on every basis of the plan."""
        plan = self._plan
        x = working(vectors, double=plan.double)
        coordinates: dict[str, Floats] = {}
        sums = ViewSums(len(plan.views), x.shape[1])
        if plan.raw_basis is not None:
            out = self._buffer("raw", x)
            coordinates["raw"] = np.matmul(x, self._basis("raw", x.dtype), out=out)
        if plan.basis is not None:
            centred = self._centred(x)
            z = np.matmul(centred, self._basis("centred", x.dtype), out=self._buffer("z", x))
            z += self._rounding_of_mean(x.dtype)
            coordinates["centred"] = z
            self._sum_views(x, centred, z, sums)
        reach = {key: np.maximum(t.max(axis=0), -t.min(axis=0)) for key, t in coordinates.items()}
        log_partition = np.empty((len(plan.exponents), 2, x.shape[1]))
        for row, family in enumerate(plan.exponents):
            log_partition[row] = self._log_sums(
                coordinates[family.source], reach[family.source], family
            )
        return Projections(rows=len(x), log_partition=log_partition, **sums.fields())

    def _buffer(self, purpose: str, like: Floats) -> Floats:
        """Working memory with the shape and type of the batch, kept from batch to batch."""
        kept = self._memory.get(purpose)
        if kept is None or kept.shape[1:] != like.shape[1:] or kept.dtype != like.dtype:
            kept = self._memory[purpose] = np.empty_like(like)
        if len(kept) < len(like):
            kept = self._memory[purpose] = np.empty_like(like)
        return kept[: len(like)]

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
        return np.subtract(x, self._plan.mean.astype(x.dtype), out=self._buffer("centred", x))

    def _rounding_of_mean(self, dtype: np.dtype[Any]) -> Floats:
        plan = self._plan
        assert plan.basis is not None
        rest: Floats = (plan.mean.astype(dtype).astype(np.float64) - plan.mean) @ plan.basis
        return rest.astype(dtype)

    def _sum_views(self, x: Floats, centred: Floats, z: Floats, sums: ViewSums) -> None:
        plan = self._plan
        squares = np.multiply(z, z, out=self._buffer("scratch", x))
        gains = np.stack([view.gains for view in plan.views], axis=1)
        constants = np.array([view.constant_length() ** 2 for view in plan.views])
        view_squares = np.asarray(squares @ (gains**2).astype(z.dtype), dtype=np.float64)
        norms = np.sqrt(view_squares + constants)
        inverse = sums.add_norms(plan, norms, np.sqrt(square_norms(x)), np.finfo(x.dtype).eps)
        scale = inverse.astype(z.dtype)
        sums.add_units(plan, np.asarray(scale.T @ z, dtype=np.float64), inverse.sum(axis=0))
        if not plan.dimensions:
            return
        for row, view in enumerate(plan.views):
            y = self._output(view, centred, z)
            nonzero = inverse[:, row] > 0
            sums.add_extremes(row, y.argmin(axis=1)[nonzero], y.argmax(axis=1)[nonzero])
            np.multiply(y, y, out=self._buffer("scratch", x))
            weights = scale[:, row] * scale[:, row]
            sums.unit_square_sum[row] = weights @ self._buffer("scratch", x)

    def _output(self, view: ViewShape, centred: Floats, z: Floats) -> Floats:
        """Return the corrected vectors of the batch, as an estimator would give them out."""
        basis = self._basis("centred", z.dtype)
        out = self._buffer("output", z)
        constant = view.offset.astype(z.dtype)
        if view.on_components:
            np.multiply(z, view.gains.astype(z.dtype), out=out)
            out += constant
            return out
        changed = np.flatnonzero(view.gains != 1)
        if len(changed) == 0:
            return centred
        # Few directions change, so they are taken away instead of the others being put together.
        difference = z[:, changed] * (1 - view.gains[changed]).astype(z.dtype)
        np.matmul(difference - constant[changed], basis[:, changed].T, out=out)
        return np.subtract(centred, out, out=out)

    def _log_sums(self, t: Floats, reach: Floats, family: Exponents) -> NDArray[np.float64]:
        """Return ln Σ_i exp(g_k t_ik) and ln Σ_i exp(−g_k t_ik) for every direction k.

        While exponents are small both come from one exp, as exp(−a) = 1/exp(a); directions whose
        exponents could overflow are shifted by their maximum.
        """
        gains = family.gains.astype(t.dtype)
        limit = safe_exponent(t.dtype, len(t))
        far = np.flatnonzero(~(family.gains * reach < limit))
        near_gains = gains.copy()
        near_gains[far] = 0
        ones = np.ones(len(t), t.dtype)
        powers = np.multiply(t, near_gains, out=self._buffer("scratch", t))
        np.exp(powers, out=powers)
        sums = np.empty((2, t.shape[1]))
        sums[0] = ones @ powers
        np.reciprocal(powers, out=powers)
        sums[1] = ones @ powers
        np.log(sums, out=sums)
        if len(far):
            exponents = t[:, far] * gains[far]
            for row, signed in enumerate((exponents, -exponents)):
                top = signed.max(axis=0)
                sums[row, far] = top + np.log(np.exp(signed - top).sum(axis=0, dtype=np.float64))
        return sums
