"""ln I1 of a cloud after each of its clusters is centred on its own mean, for several seeds.

For each seed k-means finds centres on a random sample. All rows belong to the nearest of them, and
are centred on the mean μ_c of those that do. The seeds share every read: one that draws the sample,
one that sums rows by cluster, and one that projects.

Nobody needs a scatter for each seed: around the means of clusters of n_c rows it is

    Σ_i (x_i − μ_c(i)) (x_i − μ_c(i))ᵀ = Σ_i (x_i − μ) (x_i − μ)ᵀ − Σ_c n_c (μ_c − μ) (μ_c − μ)ᵀ,

and the first sum is that of the whole cloud, which the first read of the measures has taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from isoscope.compute.map_reduce import summed
from isoscope.compute.stage import Summed
from isoscope.compute.threads import in_parallel
from isoscope.corrections.clusters.centers import sample_size
from isoscope.corrections.clusters.kmeans import beyond_single, kmeans, sums_by_cluster
from isoscope.corrections.fit import only_cloud
from isoscope.data.arrays import to_host
from isoscope.data.sampling import SampleTaker
from isoscope.measures.families.partition import log_i1
from isoscope.measures.kernels.numpy_kernel import NumpyProjector, working
from isoscope.measures.reads.geometry import eigen_system, thin_eigen_system
from isoscope.measures.reads.projections import Exponents, ProjectionPlan
from isoscope.measures.reads.request import EVERYTHING
from isoscope.measures.space import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.compute.map_reduce import Batches
    from isoscope.data.base import CloudGroup
    from isoscope.measures.reads.moments import Moments
    from isoscope.progress import Progress
    from isoscope.typing import Floats, Matrix, Places, Vector


# What progress calls the reads.
SAMPLE, CLUSTERS, WITHIN = "sample", "clusters", "within clusters"


@dataclass(frozen=True)
class LocalClusters:
    """The clusters of one cloud, by several seeds at a time.

    Attributes
    ----------
    group : CloudGroup
        A group of one cloud.
    moments : Moments
        Those of all of its rows, with the scatter.
    double : bool
        Whether rows are projected in double precision whatever they are stored in.
    seed : int
        Of the sample; added to the seeds of k-means.
    exact : bool
        Whether clusters are found on all rows instead of a sample.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    """

    group: CloudGroup
    moments: Moments
    double: bool
    seed: int
    exact: bool = False
    progress: Progress | None = None

    def log_i1(self, n_clusters: int, seeds: int) -> tuple[list[float | None], int]:
        """Return ln I1 for each seed, and on how many rows the clusters were found.

        None where k-means with the seed finds fewer clusters than wanted.
        """
        sample = self._sample(n_clusters)
        logs: list[float | None] = [None] * seeds
        found = in_parallel(
            [partial(kmeans, sample, n_clusters, self.seed + one) for one in range(seeds)]
        )
        complete = [one for one, centers in enumerate(found) if len(centers) == n_clusters]
        if complete:
            nearest = Assigned(self.moments.mean, np.array([found[one] for one in complete]))
            sums = summed(self.group, partial(SumsTaker, nearest), CLUSTERS, self.progress)
            assert sums is not None  # the sample has rows
            filled = [place for place, counts in enumerate(sums.counts) if counts.all()]
            if filled:
                values = self._within(nearest, sums, filled)
                for place, value in zip(filled, values, strict=True):
                    logs[complete[place]] = value
        return logs, len(sample)

    def _sample(self, n_clusters: int) -> Floats:
        """Draw the rows that clusters are found on."""
        width, rows = self.group.widths[0], getattr(self.group, "certain_rows", self.group.rows)
        size = EVERYTHING if self.exact else sample_size(n_clusters, width)
        taker = SampleTaker(width, size, self.seed, rows)
        for batch in only_cloud(self.group, self.progress, SAMPLE):
            taker.add(batch)
        narrow = self.group.dtypes[0] != "float64"
        return taker.result().vectors.astype(np.float32 if narrow else np.float64)

    def _within(self, nearest: Assigned, sums: ClusterSums, filled: list[int]) -> list[float]:
        """Project all rows around the means of their clusters, for some of the seeds."""
        means = nearest.centers + sums.sums / np.maximum(sums.counts, 1)[:, :, None]
        if self.moments.factor is None:
            calls = [partial(self._basis, sums.counts[k], means[k]) for k in filled]
        else:
            rows = np.concatenate(
                [to_host(batch.vectors) for batch in only_cloud(self.group, None, WITHIN)]
            )
            labels = nearest(rows)[1]
            calls = [partial(thin_basis, rows, means[k][labels[k]]) for k in filled]
        bases = dict(zip(filled, in_parallel(calls), strict=True))
        new_taker = partial(WithinTaker, nearest, means, bases, self.double)
        found = summed(self.group, new_taker, WITHIN, self.progress)
        assert found is not None
        return [log_i1(Partition(plus, minus, "")) for plus, minus in found.log_partition]

    def _basis(self, counts: NDArray[np.int64], means: Matrix) -> Matrix:
        """Return the eigenvectors of the covariance around the means of clusters.

        It is what those of the clusters leave of the whole covariance.
        """
        away = (means - self.moments.mean) * np.sqrt(counts / counts.sum())[:, None]
        return eigen_system(self.moments.covariance - away.T @ away).vectors


def thin_basis(rows: Floats, means: Matrix) -> Matrix:
    """Return the same directions from the rows themselves, where these are few."""
    return thin_eigen_system((rows - means) / np.sqrt(len(rows))).vectors


class Assigned:
    """The nearest centre of every row, for several sets of centres in one product.

    Distances are taken around the mean of all rows: a large common offset would cost digits.
    """

    def __init__(self, origin: Vector, centers: NDArray[np.float64]) -> None:
        self.origin, self.centers = origin, centers
        self.sets, self.clusters, _ = centers.shape
        self.double = beyond_single(centers)
        self._moved = (centers - origin).reshape(-1, len(origin))
        self._halves = np.einsum("ij,ij->i", self._moved, self._moved) / 2

    def __call__(self, vectors: Floats) -> tuple[Floats, Places]:
        """Return the rows in the type that is computed in, and labels for each set of centres."""
        rows = working(vectors, double=self.double)
        moved = rows - self.origin.astype(rows.dtype)
        scores = moved @ self._moved.T.astype(rows.dtype)
        scores -= self._halves.astype(rows.dtype)
        return rows, scores.reshape(len(rows), self.sets, self.clusters).argmax(axis=2).T


def around(rows: Floats, points: Matrix, labels: Places) -> Floats:
    """Return x − p with p the point of the row's label, good to a rounding of the difference.

    Points are rounded to the type of the rows, so that large ones can be subtracted in it. What
    that leaves over is small, and is subtracted afterwards.
    """
    rounded = points.astype(rows.dtype)
    found: Floats = rows - rounded[labels]
    if rows.dtype != np.float64:
        found -= (points - rounded).astype(rows.dtype)[labels]
    return found


@dataclass(frozen=True)
class ClusterSums(Summed):
    """Sums of the rows of each cluster, for several sets of centres."""

    counts: NDArray[np.int64]
    """(sets, clusters)"""
    sums: NDArray[np.float64]
    """(sets, clusters, d): Σ (x − c), c the centre of the cluster"""


class SumsTaker:
    """Sums rows by cluster, on one thread."""

    def __init__(self, nearest: Assigned) -> None:
        self._nearest = nearest
        self._total: ClusterSums | None = None

    def add(self, batches: Batches, /) -> None:
        """Take one batch into account."""
        (batch,) = batches.values()
        rows, labels = self._nearest(to_host(batch.vectors))
        # Around the centre of the row's own cluster, so that little is rounded.
        found = [
            sums_by_cluster(around(rows, centers, each), each, self._nearest.clusters)
            for centers, each in zip(self._nearest.centers, labels, strict=True)
        ]
        state = ClusterSums(*map(np.array, zip(*found, strict=True)))
        self._total = state if self._total is None else self._total.merge(state)

    def take(self) -> ClusterSums:
        """Return the sums since the last call, and begin anew."""
        assert self._total is not None  # a chunk has at least one batch
        total, self._total = self._total, None
        return total


@dataclass(frozen=True)
class WithinSums(Summed):
    """Partition sums of rows around the means of their clusters."""

    reductions: ClassVar = {"log_partition": np.logaddexp}

    log_partition: NDArray[np.float64]
    """(sets, 2, d): ln Z(c) and ln Z(−c) for each eigenvector c"""


class WithinTaker:
    """Projects rows around the means of their clusters, on one thread."""

    def __init__(
        self,
        nearest: Assigned,
        means: NDArray[np.float64],
        bases: dict[int, Matrix],
        double: bool,
    ) -> None:
        self._nearest, self._means, self._double = nearest, means, double
        width = len(nearest.origin)
        family = (Exponents("raw", np.ones(width)),)
        self._projectors = {
            place: NumpyProjector(
                ProjectionPlan(
                    mean=np.zeros(width),
                    raw_basis=basis,
                    basis=None,
                    exponents=family,
                    views=(),
                    dimensions=False,
                    double=double,
                )
            )
            for place, basis in bases.items()
        }
        self._total: WithinSums | None = None

    def add(self, batches: Batches, /) -> None:
        """Take one batch into account."""
        (batch,) = batches.values()
        rows, labels = self._nearest(to_host(batch.vectors))
        rows = working(rows, double=self._double)
        found = [
            projector(around(rows, self._means[place], labels[place])).log_partition[0]
            for place, projector in self._projectors.items()
        ]
        state = WithinSums(np.array(found))
        self._total = state if self._total is None else self._total.merge(state)

    def take(self) -> WithinSums:
        """Return the sums since the last call, and begin anew."""
        assert self._total is not None  # a chunk has at least one batch
        total, self._total = self._total, None
        return total
