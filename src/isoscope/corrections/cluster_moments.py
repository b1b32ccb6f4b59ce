"""Mean and scatter of every cluster from a stream of rows.

A batch holds few rows of each cluster, too few for an efficient matrix product, so they wait in a
buffer until there are enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.kmeans import host_rows
from isoscope.measures.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.clouds.contract import CloudGroup
    from isoscope.corrections.kmeans import Nearest
    from isoscope.measures.reading import Progress

BUFFERED = 1_024
"""Rows of one cluster that wait for a product."""

BUFFER_BYTES = 2**26
SCATTER_BYTES = 2**28
"""Memory for buffers and for scatter matrices; more clusters than fit take another pass."""


class RunningMoments:
    """Mean and scatter of one cluster, in float64 (Chan, Golub & LeVeque 1983)."""

    def __init__(self, width: int, dtype: Any, buffered: int) -> None:
        self._rows, self._mean = 0, np.zeros(width)
        self._scatter = np.zeros((width, width))
        self._buffer = np.empty((buffered, width), dtype)
        self._filled = 0

    def add(self, rows: NDArray[Any]) -> None:
        """Take some rows into account, now or later."""
        while len(rows):
            taken = min(len(rows), len(self._buffer) - self._filled)
            self._buffer[self._filled : self._filled + taken] = rows[:taken]
            self._filled += taken
            rows = rows[taken:]
            if self._filled == len(self._buffer):
                self._flush()

    def _flush(self) -> None:
        if not self._filled:
            return
        wide = self._buffer[: self._filled].astype(np.float64)
        mean = wide.mean(axis=0)
        wide -= mean
        # A constant has no variance: what rounding left in its mean is taken out of both.
        rest = wide.mean(axis=0)
        wide -= rest
        step, rows = mean + rest - self._mean, self._filled
        total = self._rows + rows
        self._scatter += wide.T @ wide
        self._scatter += np.multiply.outer(step * (self._rows * rows / total), step)
        self._mean = self._mean + step * (rows / total)
        self._rows, self._filled = total, 0

    def result(self) -> Moments:
        """Return the moments of all rows added; of the sums, those that a geometry needs."""
        self._flush()
        squares = float(np.trace(self._scatter) + self._rows * (self._mean @ self._mean))
        return replace(
            Moments.empty(len(self._mean)),
            rows=self._rows,
            weight=float(self._rows),
            mean=self._mean,
            norm_square_sum=squares,
            scatter=self._scatter,
        )


def moments_of_clusters(
    group: CloudGroup, nearest: Nearest, progress: Progress | None
) -> Iterator[tuple[int, Moments]]:
    """Yield the moments of the rows nearest to each centre, cluster by cluster.

    The scatter matrices of all clusters are summed in one pass where memory allows.
    """
    clusters, width = nearest.centers.shape
    at_once = max(1, min(clusters, SCATTER_BYTES // (8 * width * width)))
    for first in range(0, clusters, at_once):
        chosen = range(first, min(first + at_once, clusters))
        running = one_pass(group, nearest, chosen, progress)
        while running:
            cluster = next(iter(running))
            yield cluster, running.pop(cluster).result()


def one_pass(
    group: CloudGroup, nearest: Nearest, chosen: range, progress: Progress | None
) -> dict[int, RunningMoments]:
    """Sum over the rows of some clusters."""
    width = group.widths[0]
    dtype = np.dtype(np.float64 if group.dtypes[0] == "float64" else np.float32)
    room = BUFFER_BYTES // (len(chosen) * width * dtype.itemsize)
    running = {
        cluster: RunningMoments(width, dtype, max(64, min(BUFFERED, room))) for cluster in chosen
    }
    done = 0
    for batches in group.batches():
        (batch,) = batches.values()
        rows = host_rows(batch.vectors)
        labels = nearest(rows)
        order = np.argsort(labels, kind="stable")
        edges = np.searchsorted(labels[order], np.arange(chosen.start, chosen.stop + 1))
        for cluster, start, stop in zip(chosen, edges[:-1], edges[1:], strict=True):
            running[cluster].add(rows[order[start:stop]])
        done += len(rows)
        if progress is not None:
            progress("clusters", done, group.rows)
    return running
