"""k-means over a cloud of any size, and mean and scatter of every cluster that it finds.

Centres c_k minimise Σ_i min_k ‖x_i − c_k‖² (Lloyd 1982), from a start by k-means++ (Arthur &
Vassilvitskii 2007). Which centre is nearest follows from products, as ‖x − c‖² = ‖x‖² − 2 (x·c −
‖c‖²/2), and only the last term differs between centres.

k-means++ and many of Lloyd's iterations are affordable on a sample only; from there one to three
iterations over all rows come within a percent of where hundreds would end.

Moments are summed from a stream of rows. A batch holds few rows of each cluster, too few for an
efficient matrix product, so they wait in a buffer until there are enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.compute.map_reduce import summed
from isoscope.compute.memory import FITTED, check_matrices, room
from isoscope.compute.threads import accumulate, cores
from isoscope.corrections.apply import Placed
from isoscope.corrections.fit import only_cloud
from isoscope.corrections.kmeans import beyond_single, kmeans, sums_by_cluster
from isoscope.data.arrays import in_double, like, square_norms, to_host
from isoscope.data.sampling import SampleTaker
from isoscope.errors import DataError
from isoscope.measures.kernels.single_precision import RunningScatter
from isoscope.measures.kernels.working_memory import WorkingMemory
from isoscope.measures.reads.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.compute.map_reduce import Batches
    from isoscope.data.base import Array, Batch, CloudGroup
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


# Rows of one cluster that wait for a product.
BUFFERED = 1_024

# Memory for buffers and for scatter matrices; more clusters than fit take another pass.
BUFFER_BYTES = 2**26
SCATTER_BYTES = 2**28


class RunningMoments:
    """Mean and scatter of one cluster."""

    def __init__(self, width: int, dtype: Any, buffered: int) -> None:
        self._rows = 0
        self._running = RunningScatter(width)
        self._buffer = np.empty((buffered, width), dtype)
        self._filled = 0

    def add(self, rows: NDArray[Any], chosen: NDArray[np.int64], memory: WorkingMemory) -> None:
        """Take the chosen ones of some rows into account, now or later."""
        while len(chosen):
            taken = min(len(chosen), len(self._buffer) - self._filled)
            place = self._buffer[self._filled : self._filled + taken]
            np.take(rows, chosen[:taken], axis=0, out=place, mode="clip")
            self._filled += taken
            chosen = chosen[taken:]
            if self._filled == len(self._buffer):
                self._flush(memory)

    def _flush(self, memory: WorkingMemory) -> None:
        if self._filled:
            self._running.add(self._buffer[: self._filled], None, memory)
        self._rows += self._filled
        self._filled = 0

    def result(self) -> Moments:
        """Return the moments of all rows added; of the sums, those that a geometry needs."""
        self._flush(WorkingMemory())
        mean, scatter = self._running.mean, self._running.scatter()
        return replace(
            Moments.empty(len(mean)),
            rows=self._rows,
            weight=float(self._rows),
            mean=mean,
            norm_square_sum=float(np.trace(scatter) + self._rows * (mean @ mean)),
            scatter=scatter,
        )


class LabelledRows(NamedTuple):
    """A batch sorted by cluster."""

    rows: NDArray[Any]
    order: NDArray[np.int64]
    edges: NDArray[np.int64]
    """Where each cluster begins in ``order``, and where the last one ends."""


class ClustersTaker:
    """Accumulates some of the clusters on one thread."""

    def __init__(self, running: dict[int, RunningMoments]) -> None:
        self._running = running
        self._memory = WorkingMemory()

    def add(self, batch: LabelledRows, /) -> None:
        """Take the rows of these clusters into account."""
        for cluster, moments in self._running.items():
            start, stop = batch.edges[cluster : cluster + 2]
            moments.add(batch.rows, batch.order[start:stop], self._memory)


def moments_of_clusters(
    group: CloudGroup, nearest: Nearest, progress: Progress | None
) -> Iterator[tuple[int, Moments]]:
    """Yield the moments of the rows nearest to each centre, cluster by cluster.

    The scatter matrices of all clusters are summed in one pass where memory allows.
    """
    clusters, width = nearest.centers.shape
    check_matrices(
        width, FITTED, f"fitting on the clusters of {group.names[0]}",
        "reduce the dimensions first, or choose a correction without directions, such as center",
    )  # fmt: skip
    at_once = max(1, min(clusters, room(SCATTER_BYTES) // (8 * width * width)))
    for first in range(0, clusters, at_once):
        chosen = range(first, min(first + at_once, clusters))
        running = one_pass(group, nearest, chosen, progress)
        # Taken out one by one, so that a scatter matrix is freed as soon as it has been decomposed.
        while running:
            cluster = next(iter(running))
            yield cluster, running.pop(cluster).result()


def one_pass(
    group: CloudGroup, nearest: Nearest, chosen: range, progress: Progress | None
) -> dict[int, RunningMoments]:
    """Sum over the rows of some clusters.

    Every thread sees every batch and takes the rows of its own clusters, so that there is one
    scatter matrix for each cluster whatever the number of threads.
    """
    width = group.widths[0]
    dtype = working_type(group)
    room = BUFFER_BYTES // (len(chosen) * width * dtype.itemsize)
    buffered = max(64, min(BUFFERED, room))
    running = {cluster: RunningMoments(width, dtype, buffered) for cluster in chosen}
    lanes = min(cores(), len(chosen))
    takers = [
        ClustersTaker({cluster: running[cluster] for cluster in chosen[lane::lanes]})
        for lane in range(lanes)
    ]
    batches = labelled(only_cloud(group, progress, "clusters"), nearest)
    # `accumulate` deals its items to the takers in turn, so that a batch that comes once for every
    # taker is seen by each of them.
    accumulate((batch for batch in batches for _ in takers), takers)
    return running


def labelled(batches: Iterator[Batch], nearest: Nearest) -> Iterator[LabelledRows]:
    """Assign the rows of every batch."""
    for batch in batches:
        rows = to_host(batch.vectors)
        labels = nearest(rows)
        order = np.argsort(labels, kind="stable")
        edges = np.searchsorted(labels[order], np.arange(len(nearest.centers) + 1))
        yield LabelledRows(rows, order, edges)
