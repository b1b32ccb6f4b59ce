"""k-means over a cloud of any size.

Centres c_k minimise Σ_i min_k ‖x_i − c_k‖² (Lloyd 1982), from a start by k-means++ (Arthur &
Vassilvitskii 2007). Which centre is nearest follows from products, as ‖x − c‖² = ‖x‖² − 2 (x·c −
‖c‖²/2), and only the last term differs between centres.

k-means++ and many of Lloyd's iterations are affordable on a sample only; from there one to three
iterations over all rows come within a percent of where hundreds would end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.map_reduce import summed
from isoscope.corrections.apply import Placed
from isoscope.corrections.clusters.kmeans import beyond_single, kmeans, sums_by_cluster
from isoscope.corrections.fit import only_cloud
from isoscope.data.arrays import in_double, like, square_norms, to_host
from isoscope.data.sampling import SampleTaker
from isoscope.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.compute.map_reduce import Batches
    from isoscope.data.base import Array, CloudGroup
    from isoscope.progress import Progress
    from isoscope.typing import Matrix


# Rows of the sample for each cluster, where they fit into memory.
SAMPLED_PER_CLUSTER = 256

SAMPLE_BYTES = 2**28
FEWEST_PER_CLUSTER = 8

# Iterations over all rows. They end sooner when moving the centres to the means of their rows
# lowers the sum of squared distances by less than this share.
MOST_PASSES = 3
ENOUGH = 1e-3


class Nearest(Placed[tuple[Any, ...]]):
    """Finds the nearest centre of every row.

    Distances are taken around the mean of the centres: a large common offset would cost digits.
    """

    def __init__(self, centers: Matrix) -> None:
        self.centers = centers
        self.origin = centers.mean(axis=0)
        self._double = beyond_single(centers)

    def __call__(self, rows: Array) -> Array:
        """Return the index of the nearest centre of each row, the first of equals."""
        return self.scored(rows)[1].argmax(1)

    def scored(self, rows: Array) -> tuple[Array, Array]:
        """Return x − o and x·c − ‖c‖²/2 around the origin o, largest for the nearest centre."""
        rows = in_double(rows) if self._double else rows
        origin, centers, halves = self.parts_like(rows)
        moved = rows - origin
        return moved, moved @ centers - halves

    def _parts_for(self, rows: Array) -> tuple[Any, ...]:
        moved = self.centers - self.origin
        halves = np.einsum("ij,ij->i", moved, moved) / 2
        return tuple(like(rows, part) for part in (self.origin, moved.T, halves))


@dataclass(frozen=True)
class Clustering:
    """What one pass over all rows found."""

    counts: NDArray[np.int64]
    means: Matrix
    inertia: float
    """Σ ‖x − nearest centre‖²"""
    gain: float
    """By how much the means of the rows lower it, before any row changes its cluster."""


@dataclass(frozen=True)
class LloydSums:
    """What one of Lloyd's iterations takes of some rows."""

    counts: NDArray[np.int64]
    sums: Matrix
    """Σ (x − o) over the rows of each cluster, o the origin of the distances."""
    inertia: float

    def merge(self, other: LloydSums) -> LloydSums:
        """Add the sums of other rows."""
        return LloydSums(
            self.counts + other.counts, self.sums + other.sums, self.inertia + other.inertia
        )


class LloydTaker:
    """Accumulates one of Lloyd's iterations, chunk by chunk, on one thread."""

    def __init__(self, nearest: Nearest) -> None:
        self._nearest = nearest
        self._total: LloydSums | None = None

    def add(self, batches: Batches, /) -> None:
        """Take one batch into account."""
        (batch,) = batches.values()
        moved, scores = self._nearest.scored(to_host(batch.vectors))
        labels = scores.argmax(axis=1)
        rows = np.arange(len(labels))
        counts, sums = sums_by_cluster(moved, labels, len(self._nearest.centers))
        distances = square_norms(moved) - 2 * scores[rows, labels].astype(np.float64)
        found = LloydSums(counts, sums, float(np.maximum(distances, 0.0).sum()))
        self._total = found if self._total is None else self._total.merge(found)

    def take(self) -> LloydSums:
        """Return the sums since the last call, and begin anew."""
        assert self._total is not None
        total, self._total = self._total, None
        return total


def find_centers(
    group: CloudGroup, n_clusters: int, seed: int, progress: Progress | None = None
) -> Matrix:
    """Return the centres of at most ``n_clusters`` clusters; fewer where rows repeat."""
    width, rows = group.widths[0], getattr(group, "certain_rows", group.rows)
    taker = SampleTaker(width, sample_size(n_clusters, width), seed, rows)
    for batch in only_cloud(group, progress, "sample"):
        taker.add(batch)
    sample = taker.result().vectors.astype(working_type(group))
    if not len(sample):
        raise DataError(f"{group.names[0]}: all rows were excluded")
    return settled(group, kmeans(sample, n_clusters, seed), progress)


def settled(group: CloudGroup, centers: Matrix, progress: Progress | None = None) -> Matrix:
    """Move centres by a few of Lloyd's iterations over all rows."""
    for _ in range(MOST_PASSES):
        found = lloyd_pass(group, Nearest(centers), progress)
        # A centre that is nearest to no row has no mean, and is dropped; the caller says so.
        centers = found.means[found.counts > 0]
        if found.gain <= ENOUGH * found.inertia:
            break
    return centers


def working_type(group: CloudGroup) -> np.dtype[Any]:
    """Return the precision in which rows are clustered: half precision becomes single."""
    return np.dtype(np.float64 if group.dtypes[0] == "float64" else np.float32)


def sample_size(n_clusters: int, width: int) -> int:
    """Return how many rows k-means starts from."""
    held = SAMPLE_BYTES // (8 * width)
    return min(SAMPLED_PER_CLUSTER * n_clusters, max(held, FEWEST_PER_CLUSTER * n_clusters))


def lloyd_pass(group: CloudGroup, nearest: Nearest, progress: Progress | None) -> Clustering:
    """Assign every row to its nearest centre, and take the means."""
    found = summed(group, partial(LloydTaker, nearest), "k-means", progress)
    assert found is not None  # the sample has rows
    means = nearest.origin + found.sums / np.maximum(found.counts, 1)[:, None]
    moved = np.einsum("ij,ij->i", means - nearest.centers, means - nearest.centers)
    # Σ ‖x − c‖² = Σ ‖x − m‖² + n ‖m − c‖² for the mean m of n rows, so that moving the centre to m
    # gains just the last term, without another read.
    return Clustering(found.counts, means, found.inertia, float(found.counts @ moved))
