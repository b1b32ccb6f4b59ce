"""From the states of the two reads to the spaces that measures look at.

A view y = V (g ∘ z + o) of a cloud has the variances g² λ on the same eigenvectors, the mean V o
and, where o is not zero, one more direction in its second moment, of eigenvalue ‖o‖². The partition
function Z(c) = Σ_i exp(c·y_i) of every direction is exp of what the second read summed, and n where
nothing varies (Mu & Viswanath 2018, eq. 2).

Where eigenvalues repeat, as after whitening, the directions are a choice. How much that matters is
measured as the range of ln I1 over some random bases of these directions, on a sample of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.threads import in_parallel
from isoscope.measures.kernels.base import safe_exponent
from isoscope.measures.reads.projections import inverse_scale, root_mean_square
from isoscope.measures.space import (
    BasisRange,
    Dimensions,
    Lengths,
    Partition,
    Space,
    SpaceSample,
    Spectrum,
    UnitVectors,
    known,
)
from isoscope.measures.views import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.data.sampling import Sample
    from isoscope.measures.reads.geometry import Geometry
    from isoscope.measures.reads.moments import Moments
    from isoscope.measures.reads.projections import Projections, Scaling, SecondRead
    from isoscope.measures.views import View, ViewShape
    from isoscope.typing import Floats, Matrix, Vector


BASES = 8

# Factors beyond this are applied in float64: float32 itself ends at 3e38.
LARGEST_SINGLE = 1e30

# Up to this many directions a uniformly distributed rotation is drawn; above, a mixing one.
SMALL = 64


def basis_ranges(
    coordinates: Floats, runs: Sequence[slice], scales: Sequence[float], seed: int
) -> list[BasisRange]:
    """Measure ln I1 of sampled rows on random bases of each run of directions, at some scales.

    Parameters
    ----------
    coordinates : array of shape (rows, width)
        The sample on the directions of the space.
    runs : sequence of slice
        Directions within which the basis is open.
    scales : sequence of float
        Factors on the coordinates; every one gives a range.
    seed : int
        Seed of the random bases.
    """
    # A range needs no more digits than single precision has, but its exponents may: the largest
    # coordinate becomes 1, and the scales take its size.
    reach = float(np.abs(coordinates).max(initial=0.0)) or 1.0
    single = (coordinates / reach).astype(np.float32)
    factors = [scale * reach for scale in scales]
    seeds = np.random.SeedSequence(seed).spawn(BASES)
    # The value on the axes that were taken, on the same sampled rows: I1 depends on the number of
    # rows, so that the value over all of them does not belong beside this range.
    here = one_basis(single, (), factors, seeds[0])
    logs = np.array(in_parallel([partial(one_basis, single, runs, factors, s) for s in seeds]))
    open_directions = sum(run.stop - run.start for run in runs)
    return [
        BasisRange(
            value, float(column.min()), float(column.max()), BASES, len(single), open_directions
        )
        for value, column in zip(here, logs.T, strict=True)
    ]


def one_basis(
    coordinates: Floats,
    runs: Sequence[slice],
    scales: Sequence[float],
    seed: np.random.SeedSequence,
) -> list[float]:
    """Draw one random basis and return ln I1 on it at each scale."""
    random = np.random.default_rng(seed)
    turned = coordinates.copy()
    for run in runs:
        turned[:, run] = randomly_rotated(turned[:, run], random)
    logs = []
    for scale in scales:
        wide = turned if scale < LARGEST_SINGLE else turned.astype(np.float64)
        oriented = oriented_log_sums(wide * wide.dtype.type(scale))
        logs.append(float(oriented.min() - oriented.max()))
    return logs


def randomly_rotated(coordinates: Floats, random: np.random.Generator) -> Floats:
    """Express rows on a random orthonormal basis.

    A uniform draw needs the QR decomposition of a Gaussian matrix, O(d³); for many directions
    three rounds of random signs and cosine transforms mix as well for this purpose at O(d log d).
    """
    width = coordinates.shape[1]
    if width <= SMALL:
        # The signs of R's diagonal are LAPACK's choice; only with them taken out is Q uniformly
        # distributed (Mezzadri 2007).
        q, r = np.linalg.qr(random.standard_normal((width, width)))
        turned: Floats = coordinates @ (q * np.sign(np.diag(r))).astype(coordinates.dtype)
        return turned
    from scipy.fft import dct  # here, as it adds a tenth of a second to every import

    for _ in range(3):
        signs = random.choice((-1.0, 1.0), size=width).astype(coordinates.dtype)
        coordinates = dct(coordinates * signs, norm="ortho")
    return coordinates


def oriented_log_sums(exponents: Floats) -> Floats:
    """The larger of ln Σ_i exp(a_ik) and ln Σ_i exp(−a_ik) per column; ``exponents`` is used up."""
    top = np.maximum(exponents.max(axis=0), -exponents.min(axis=0))
    # One exponential serves both signs, as exp(−a) = 1/exp(a), as long as neither overflows.
    if top.max() < safe_exponent(exponents.dtype, len(exponents)):
        powers = np.exp(exponents, out=exponents)
        plus = powers.sum(axis=0)
        minus = np.reciprocal(powers, out=powers).sum(axis=0)
        return np.asarray(np.log(np.maximum(plus, minus)))
    plus = np.exp(exponents - top).sum(axis=0)
    minus = np.exp(-exponents - top).sum(axis=0)
    return np.asarray(top + np.log(np.maximum(plus, minus)))


SETTLED = "the coordinate axes nearest to each eigenspace"
PRINCIPAL = "the principal axes of the cloud before whitening"


@dataclass(frozen=True)
class Reads:
    """Everything that the reads of one cloud gave."""

    moments: Moments
    sample: Sample | None
    geometry: Geometry | None
    second: SecondRead | None
    projections: Projections | None
    seed: int
    sampled: bool
    """Whether measures want the sample itself."""
    dead_variance: float = 0.0
    """A variance up to this is rounding of the stored vectors."""
    rounding: float = 0.0
    """How far a stored vector is from the real one: eps times the root mean square length."""
    ranges: bool = True
    """Whether the range over random bases is wanted where eigenvalues of the cloud repeat."""

    @cached_property
    def sample_coordinates(self) -> Matrix:
        """The centred sample on the eigenvectors of the covariance."""
        sample = known(self.sample, "the sample")
        centred: Matrix = sample.vectors - self.moments.mean
        return known(self.geometry, "the geometry").centred.coordinates(centred)

    def log_partitions(self, correction: str) -> dict[Scaling, NDArray[np.float64]]:
        """ln Z of both signs for a space, at the scales at which it was summed."""
        if self.second is None or self.projections is None:
            return {}
        return {
            scaling: self.projections.log_partition[row]
            for (name, scaling), row in self.second.families.items()
            if name == correction
        }


def raw_space(reads: Reads) -> Space:
    """Describe the cloud as it is."""
    moments, geometry = reads.moments, reads.geometry
    scale = root_mean_square(moments)
    partitions = raw_partitions(reads, inverse_scale(scale))
    return Space(
        correction=NONE,
        rows=moments.rows,
        width=moments.width,
        zero_rows=moments.zero_rows,
        lengths=Lengths(
            mean=moments.norm_sum / moments.weight,
            root_mean_square=scale,
            largest=moments.norm_max,
            counts=moments.norm_counts,
        ),
        units=UnitVectors(
            rows=moments.rows - moments.zero_rows,
            weight=moments.unit_weight,
            weight_squares=moments.unit_weight_squares,
            sum_square=float(moments.unit_sum @ moments.unit_sum),
        ),
        norm_of_mean=float(np.linalg.norm(moments.mean)),
        mean_alignment=None if geometry is None else alignment(moments.mean, geometry),
        dead_variance=reads.dead_variance,
        spectrum=None
        if geometry is None or not len(geometry.centred.values)
        else Spectrum(
            geometry.centred.values,
            None if geometry.raw is None else geometry.raw.values,
            geometry.null_variance,
        ),
        dimensions=raw_dimensions(moments),
        partition=partitions.get("plain"),
        scaled_partition=partitions.get("scaled"),
        sample=space_sample(reads),
    )


def space_sample(reads: Reads, shape: ViewShape | None = None) -> SpaceSample | None:
    """Return the sample as a measure sees it, in a view; None where no measure asks for it."""
    sample = reads.sample
    if sample is None or not reads.sampled:
        return None
    vectors = sample.vectors
    if shape is not None:
        vectors = reads.sample_coordinates * shape.gains + shape.offset
        # A zero vector has no direction, and stays one.
        vectors[~sample.vectors.any(axis=1)] = 0
    # Keys are random numbers, so their order is a random one: the first k rows in it are a random
    # sample of k, and the same one whoever read the cloud.
    order = np.argsort(sample.keys, kind="stable")
    return SpaceSample(
        vectors, order, sample.groups, len(vectors) == reads.moments.rows,
        stored=sample.vectors, rounding=reads.rounding,
    )  # fmt: skip


def raw_dimensions(moments: Moments) -> Dimensions | None:
    """Describe the dimensions of the cloud as it is; None where they were not summed."""
    variance = moments.variances
    if variance is None or moments.unit_square_sum is None:
        return None
    assert moments.minimum_counts is not None
    assert moments.maximum_counts is not None
    return Dimensions(
        kind="dimension",
        mean=moments.mean,
        variance=variance,
        unit_sum=moments.unit_sum,
        unit_square_sum=moments.unit_square_sum,
        minimum_counts=moments.minimum_counts,
        maximum_counts=moments.maximum_counts,
    )


def alignment(mean: Vector, geometry: Geometry) -> float | None:
    """|cos| of the mean with the top eigenvector, or eigenspace where the top value repeats.

    A mean below the rounding of the stored vectors points nowhere.
    """
    length = float(np.linalg.norm(mean))
    system = geometry.raw
    if length <= geometry.null_length or system is None:
        return None
    # Where the largest eigenvalue repeats, no single eigenvector is the top one; the projection on
    # the whole eigenspace does not depend on its basis.
    first = next((run for run in system.repeated if run.start == 0), slice(0, 1))
    return min(float(np.linalg.norm(mean @ system.vectors[:, first])) / length, 1.0)


def raw_partitions(reads: Reads, scale: float) -> dict[Scaling, Partition]:
    """Take the partition sums of the cloud as it is, and of the cloud at unit scale."""
    if reads.geometry is None or reads.geometry.raw is None or reads.sample is None:
        return {}
    system = reads.geometry.raw
    logs = reads.log_partitions(NONE)
    spread: dict[Scaling, BasisRange] = {}
    if reads.ranges and logs and system.repeated:
        coordinates = system.coordinates(reads.sample.vectors)
        spread = spreads(coordinates, system.repeated, list(logs), scale, reads.seed)
    return {
        scaling: Partition(plus, minus, SETTLED, spread.get(scaling))
        for scaling, (plus, minus) in logs.items()
    }


def spreads(
    coordinates: Matrix, runs: Sequence[slice], wanted: list[Scaling], scale: float, seed: int
) -> dict[Scaling, BasisRange]:
    """Measure how much the open choice of a basis matters, at the wanted scales."""
    scales = [1.0 if scaling == "plain" else scale for scaling in wanted]
    return dict(zip(wanted, basis_ranges(coordinates, runs, scales, seed), strict=True))


def view_space(reads: Reads, view: View, row: int) -> Space:
    """Describe what a correction would make of the cloud; ``row`` is its row in the projections."""
    found = known(reads.projections, "the second read")
    geometry = known(reads.geometry, "the geometry")
    shape = view.shape
    constant = shape.constant_length()
    nonzero = found.rows - int(found.zero_rows[row])
    variances = np.sort(view.variances)[::-1]
    partitions = view_partitions(reads, view)
    return Space(
        correction=view.correction,
        rows=found.rows,
        width=len(shape.gains),
        zero_rows=int(found.zero_rows[row]),
        lengths=Lengths(
            mean=float(found.norm_sum[row]) / found.rows,
            root_mean_square=view.root_mean_square,
            largest=float(found.norm_max[row]),
            counts=found.norm_counts[row],
        ),
        units=UnitVectors(
            rows=nonzero,
            weight=float(nonzero),
            weight_squares=float(nonzero),
            sum_square=float(found.unit_sum[row] @ found.unit_sum[row]),
        ),
        norm_of_mean=norm_of_mean(reads, shape),
        # The constant is orthogonal to everything that varies: it is the top direction, or none.
        mean_alignment=float(constant**2 >= variances[0]) if constant else None,
        dead_variance=0.0 if shape.on_components else geometry.dead_variance,
        spectrum=Spectrum(
            variances,
            # The constant lies in the removed directions, so that it takes the place of one of the
            # zeros that these have, of which the last variance is one.
            np.sort(np.append(variances[:-1], constant**2))[::-1] if constant else variances,
            0.0 if shape.on_components else geometry.null_variance,
        ),
        dimensions=view_dimensions(reads, view, row),
        partition=partitions.get("plain"),
        scaled_partition=partitions.get("scaled"),
        sample=space_sample(reads, shape),
    )


def norm_of_mean(reads: Reads, shape: ViewShape) -> float:
    """Length of the mean of corrected vectors, of which zero vectors stay zero."""
    moments = reads.moments
    if not moments.zero_rows:
        return shape.constant_length()
    # The mean over all rows is the offset; it lacks what the map would make of zero vectors.
    centred = -moments.mean @ known(reads.geometry, "the geometry").centred.vectors
    moved = shape.gains * centred + shape.offset
    return float(np.linalg.norm(shape.offset - moments.zero_rows / moments.rows * moved))


def view_dimensions(reads: Reads, view: View, row: int) -> Dimensions | None:
    """Describe the dimensions of the corrected vectors."""
    found, geometry, second = reads.projections, reads.geometry, reads.second
    if found is None or geometry is None or second is None or not second.plan.dimensions:
        return None
    shape, system = view.shape, geometry.centred
    on_components = shape.on_components
    return Dimensions(
        kind="component" if on_components else "dimension",
        mean=shape.offset if on_components else system.combined(shape.offset),
        variance=view.variances if on_components else system.combined(view.variances, squared=True),
        unit_sum=found.unit_sum[row] if on_components else system.combined(found.unit_sum[row]),
        unit_square_sum=found.unit_square_sum[row],
        minimum_counts=found.minimum_counts[row],
        maximum_counts=found.maximum_counts[row],
    )


def view_partitions(reads: Reads, view: View) -> dict[Scaling, Partition]:
    """Take the partition sums of a corrected cloud over all d of its directions.

    A removed or empty direction has Z = n exactly. The constant part of Mu & Viswanath's variant
    lies in the removed directions: one of them has ln Z(±c) = ln n ± its length.
    """
    geometry, found = reads.geometry, reads.projections
    logs = reads.log_partitions(view.correction)
    if not logs or geometry is None or found is None or reads.sample is None:
        return {}
    shape, system = view.shape, geometry.centred
    scale = inverse_scale(view.root_mean_square)
    empty = (shape.gains == 0) | (system.values <= geometry.null_variance)
    constant = shape.constant_length()
    # The removed directions may be rotated among themselves at will, as nothing varies in them. So
    # one of them is taken along the constant and carries all of it, and the others none.
    carrier = int(np.flatnonzero(shape.offset)[0]) if constant else None
    runs = open_runs(view, geometry)
    spread: dict[Scaling, BasisRange] = {}
    if runs:
        coordinates = reads.sample_coordinates * np.where(empty, 0.0, shape.gains)
        if carrier is not None:
            coordinates[:, carrier] = constant
        spread = spreads(coordinates, runs, list(logs), scale, reads.seed)
    removed = int((shape.gains == 0).sum())
    # If the last removed and the first kept component have the same eigenvalue, which of them is
    # removed was decided by the choice of a basis.
    cut = any(run.start < removed < run.stop for run in system.repeated)
    partitions: dict[Scaling, Partition] = {}
    for scaling, both in logs.items():
        plus, minus = (np.where(empty, math.log(found.rows), log) for log in both)
        if carrier is not None:
            length = constant * (1.0 if scaling == "plain" else scale)
            plus[carrier] += length
            minus[carrier] -= length
        axes = PRINCIPAL if shape.on_components else SETTLED
        partitions[scaling] = Partition(plus, minus, axes, spread.get(scaling), cut)
    return partitions


def open_runs(view: View, geometry: Geometry) -> tuple[slice, ...]:
    """Find the directions of a corrected cloud whose eigenvalues repeat."""
    kept = np.flatnonzero(view.shape.gains)
    if view.shape.on_components:
        # After whitening every direction that is kept has variance 1, so all of them are one run.
        return (slice(0, len(kept)),) if len(kept) > 1 else ()
    # Of a run that the removed components reach into, only the kept part is still open.
    first = int(kept[0]) if len(kept) else view.shape.gains.size
    runs = (slice(max(run.start, first), run.stop) for run in geometry.centred.repeated)
    return tuple(run for run in runs if run.stop - run.start > 1)
