"""The arithmetic of one batch in torch, on whatever device the vectors are.

The same sums as in numpy, in torch's own threads or on the accelerator; only numbers per row and
per dimension come back to the host.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.data.arrays import like, within_single_range
from isoscope.data.blocks import BLOCKS
from isoscope.measures.kernels.base import MomentsKernel, RowNorms, ViewSums, safe_exponent
from isoscope.measures.reads.moments import BlockSums

if TYPE_CHECKING:
    from isoscope.data.blocks import Dealt
    from isoscope.measures.reads.moments import Moments
    from isoscope.measures.reads.projections import Exponents, ProjectionPlan, Projections
    from isoscope.measures.views import ViewShape
    from isoscope.typing import Doubles, Mask


NUMPY_TYPES = {torch.float32: np.float32, torch.float64: np.float64}


def working(vectors: torch.Tensor, *, double: bool) -> torch.Tensor:
    """Return the batch in the type that is computed in: half precision becomes single."""
    wide = double or vectors.dtype == torch.float64
    return vectors.detach().to(widest(vectors.device) if wide else torch.float32)


def widest(device: torch.device) -> torch.dtype:
    """Return the most precise type of a device; Apple's has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def host(tensor: torch.Tensor) -> Doubles:
    """Return a tensor as a float64 array."""
    return np.asarray(tensor.cpu().numpy(), dtype=np.float64)


def sums_of(x: torch.Tensor, weights: torch.Tensor, dealt: Dealt | None) -> torch.Tensor:
    """Σ w_i x_i, for each block where rows are dealt, else in one row.

    A product with a matrix of shares, not an indexed sum: that one adds in any order on a GPU.
    """
    if dealt is None:
        return (weights @ x)[None]
    blocks = torch.from_numpy(dealt.blocks).to(x.device)
    share = torch.zeros((BLOCKS, len(x)), device=x.device, dtype=x.dtype)
    share[blocks, torch.arange(len(x), device=x.device)] = weights
    return share @ x


# Row stripes in which a symmetric product is taken; more make each too narrow to be fast.
STRIPES = 4


def gram(x: torch.Tensor) -> torch.Tensor:
    """Return XᵀX, each number below the diagonal copied from above it.

    Torch has no product that knows of the symmetry. By stripes five eighths of the work are left,
    and a quarter of the time is saved.
    """
    width = x.shape[1]
    found = torch.empty((width, width), device=x.device, dtype=x.dtype)
    edges = [width * stripe // STRIPES for stripe in range(STRIPES + 1)]
    for start, end in pairwise(edges):
        found[start:end, start:] = x[:, start:end].T @ x[:, start:]
        found[end:, start:end] = found[start:end, end:].T
    return found


class TorchMoments(MomentsKernel):
    """The first read's arithmetic."""

    @torch.no_grad()
    def add(
        self,
        vectors: torch.Tensor,
        weights: Any = None,
        dealt: Dealt | None = None,
        squares: Doubles | None = None,
    ) -> None:
        """Take one batch into account; with its sums for each block where rows are dealt."""
        del squares  # which are only summed of arrays
        x = working(vectors, double=self._double)
        squares = host((x * x).sum(dim=1))
        if x.dtype == torch.float32 and not within_single_range(squares):
            x = x.to(widest(x.device))
            squares = host((x * x).sum(dim=1))
        rows = RowNorms.of(squares, weights, zero=lambda: not bool(x.any()))
        wide = x.to(widest(x.device))
        on_device = like(wide, rows.weight)
        vector_sums = sums_of(wide, on_device, dealt)
        mean = vector_sums.sum(dim=0) / max(float(rows.weight.sum()), 1e-300)
        unit_square_sum = extremes = None
        factors = like(x, rows.scale)
        if self._parts.dimensions:
            unit_square_sum = host((factors * factors) @ (x * x))
            nonzero = rows.scale > 0
            lowest, highest = x.argmin(dim=1).cpu().numpy(), x.argmax(dim=1).cpu().numpy()
            extremes = lowest[nonzero], highest[nonzero]
        unit_sums = host(sums_of(x, factors, dealt))
        blocks = None
        if dealt is not None:
            sums = host(vector_sums)
            blocks = BlockSums.of_batch(dealt, rows.norms, rows.weight, sums, unit_sums)
        unit_sum = unit_sums.sum(axis=0)
        batch = rows.moments(host(mean), unit_sum, unit_square_sum, extremes, blocks)
        if self._parts.scatter:
            batch = self._add_scatter(batch, wide - mean, on_device)
        elif self._parts.variances:
            centred = wide - mean
            rest = host(on_device @ centred) / batch.weight if batch.weight > 0 else 0 * batch.mean
            squares = host(on_device @ (centred * centred)) - batch.weight * rest * rest
            squares = np.maximum(squares, 0.0)
            batch = replace(batch, mean=batch.mean + rest, square_sum=squares)
        self._total = batch if self._total is None else self._total.merge(batch)

    def _on_host(self, scatter: torch.Tensor) -> Doubles:
        return host(scatter)

    def _add_scatter(self, batch: Moments, centred: torch.Tensor, weight: torch.Tensor) -> Moments:
        """Add the batch's scatter; see the numpy kernel, which does the same step by step."""
        rest = host(weight @ centred) / batch.weight if batch.weight > 0 else 0 * batch.mean
        rooted = centred if bool((weight == 1).all()) else centred * weight.sqrt()[:, None]
        scatter = gram(rooted)
        # What `_with_exact_mean` does in numpy where it is needed is done for every batch here.
        scatter -= like(scatter, np.multiply.outer(rest * batch.weight, rest))
        better = replace(batch, mean=batch.mean + rest)
        if self._scatter is not None and self._total is not None:
            step, between = self._total.step_to(better)
            scatter += like(scatter, np.multiply.outer(step * between, step))
            scatter += self._scatter.to(scatter.device)
        self._scatter = scatter
        return better


class TorchProjector:
    """The second read's arithmetic."""

    def __init__(self, plan: ProjectionPlan) -> None:
        self._plan = plan
        self._bases: dict[str, torch.Tensor] = {}

    @torch.no_grad()
    def __call__(self, vectors: torch.Tensor, dealt: Dealt | None = None) -> Projections:
        """Project one batch on every basis of the plan; squares by block where rows are dealt."""
        plan = self._plan
        x = working(vectors, double=plan.double)
        coordinates: dict[str, torch.Tensor] = {}
        sums = ViewSums(plan)
        if plan.raw_basis is not None:
            coordinates["raw"] = x @ self._basis("raw", plan.raw_basis, x)
        if plan.basis is not None:
            mean = like(x, plan.mean)
            centred = x - mean
            # What the rounding of the mean left over is added after the product.
            rest = like(x, (host(mean) - plan.mean) @ plan.basis)
            z = centred @ self._basis("centred", plan.basis, x) + rest
            coordinates["centred"] = z
            missing = (x == 0).all(dim=1).cpu().numpy() if plan.zero_rows else None
            self._sum_views(centred, z, sums, missing)
            if dealt is not None:
                squares = host(sums_of(z * z, torch.ones_like(z[:, 0]), dealt))
                sums.found.block_squares[:, : z.shape[1]] += squares
        for logs, family in zip(sums.found.log_partition, plan.exponents, strict=True):
            t = coordinates[family.source]
            there = t.shape[1]
            logs[:, :there] = log_sums(t, replace(family, gains=family.gains[:there]))
            logs[:, there:] = np.log(len(x))  # Σ exp(0) in all other directions
        return replace(sums.found, rows=len(x))

    def _basis(self, which: str, basis: Doubles, rows: torch.Tensor) -> torch.Tensor:
        key = f"{which} {rows.dtype}"
        if key not in self._bases:
            self._bases[key] = like(rows, basis)
        return self._bases[key]

    def _sum_views(
        self, centred: torch.Tensor, z: torch.Tensor, sums: ViewSums, missing: Mask | None
    ) -> None:
        """Add a batch to the lengths, unit vectors and extreme dimensions of every view."""
        squares = z * z
        lengths = np.sqrt(host(squares.sum(dim=1)))
        for row, view in enumerate(self._plan.views):
            gains = like(z, view.gains[: z.shape[1]] ** 2)
            norms = np.sqrt(host(squares @ gains) + view.constant_length() ** 2)
            inverse = sums.add_norms(row, norms, lengths, torch.finfo(z.dtype).eps, missing)
            scale = like(z, inverse)
            sums.add_units(row, host(scale @ z), float(inverse.sum()))
            if self._plan.dimensions:
                y = self._output(view, centred, z)
                nonzero = inverse > 0
                lowest, highest = y.argmin(dim=1).cpu().numpy(), y.argmax(dim=1).cpu().numpy()
                sums.add_extremes(row, lowest[nonzero], highest[nonzero])
                added = host((scale * scale) @ (y * y))
                sums.found.unit_square_sum[row, : len(added)] += added

    def _output(self, view: ViewShape, centred: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """Return the corrected vectors of a batch, as an estimator would give them out."""
        gains = view.gains[: z.shape[1]]
        if view.on_components:
            turned: torch.Tensor = z * like(z, gains)
            return turned
        changed = np.flatnonzero(gains != 1)
        if len(changed) == 0 or self._plan.basis is None:
            return centred
        basis = self._basis("centred", self._plan.basis, z)[:, changed]
        difference = z[:, changed] * like(z, 1 - gains[changed])
        taken: torch.Tensor = difference - like(z, view.offset[changed])
        return centred - taken @ basis.T


def log_sums(t: torch.Tensor, family: Exponents) -> Doubles:
    """Return ln Σ_i exp(±g_k t_ik), from one exp where that is safe (see the numpy kernel)."""
    gains = like(t, family.gains)
    exponents = t * gains
    reach = exponents.abs().amax(dim=0)
    far = torch.nonzero(~(reach < safe_exponent(NUMPY_TYPES[t.dtype], len(t)))).flatten()
    # As in numpy: exp(0) for directions that could overflow, which are replaced below.
    near = exponents.index_fill(1, far, 0.0) if len(far) else exponents
    powers = near.exp()
    sums = torch.stack((powers.sum(dim=0).log(), powers.reciprocal().sum(dim=0).log()))
    if len(far):
        sums[0, far] = exponents[:, far].logsumexp(dim=0)
        sums[1, far] = (-exponents[:, far]).logsumexp(dim=0)
    return host(sums)
