"""Mean and scatter of every cluster of a cloud.

Moments are summed from a stream of rows. A batch holds few rows of each cluster, too few for an
efficient matrix product, so they wait in a buffer until there are enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoscope.compute.memory import FITTED, check_matrices, room
from isoscope.compute.threads import accumulate, cores
from isoscope.corrections.clusters.centers import Nearest, working_type
from isoscope.corrections.fit import only_cloud
from isoscope.data.arrays import to_host
from isoscope.measures.kernels.single_precision import RunningScatter
from isoscope.measures.kernels.working_memory import WorkingMemory
from isoscope.measures.reads.moments import MomentParts, Moments
from isoscope.measures.reads.passes import with_factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.data.base import Batch, CloudGroup
    from isoscope.progress import Progress
    from isoscope.typing import Doubles


# Rows of one cluster that wait for a product.
BUFFERED = 1_024

# Rows of a cluster, as a share of the dimensions, up to which the products of its rows with each
# other take less time to sum and to decompose than its covariance does: half of it at this share.
FEW = 0.7

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
        """Return the moments of all rows added; of the sums, those that a geometry needs.

        Of few rows, which all are in the buffer still, a factor of the scatter is kept instead.
        """
        width = self._buffer.shape[1]
        if not self._rows and 0 < self._filled <= FEW * width:
            return self._few(self._buffer[: self._filled].astype(np.float64))
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

    def _few(self, rows: Doubles) -> Moments:
        empty = Moments.empty(rows.shape[1], MomentParts(scatter=False, dimensions=False))
        count = len(rows)
        found = replace(empty, rows=count, weight=float(count), mean=rows.mean(axis=0))
        return replace(with_factor(found, rows), norm_square_sum=float(np.vdot(rows, rows)))


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
