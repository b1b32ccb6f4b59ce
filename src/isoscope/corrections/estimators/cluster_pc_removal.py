"""y = x − μ_c − Σ_k≤D (v_ck · (x − μ_c)) v_ck: the top components of every cluster c removed.

Rajaee & Pilehvar 2021: contextual embeddings form clusters, each with dominant directions of its
own, which removal over the whole cloud misses.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isoscope.compute.threads import cores, in_parallel
from isoscope.corrections.affine import AffineMap
from isoscope.corrections.base import Correction
from isoscope.corrections.clusters.centers import Nearest, find_centers, settled
from isoscope.corrections.clusters.moments import moments_of_clusters
from isoscope.corrections.fit import single_floor
from isoscope.corrections.parameters import Slot, check_most, whole_number
from isoscope.data.arrays import at_least_single, is_tensor
from isoscope.errors import DataError
from isoscope.measures.reads.geometry import null_variance, oriented

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.corrections.parameters import Slots
    from isoscope.data.base import Array, CloudGroup
    from isoscope.measures.reads.moments import Moments
    from isoscope.progress import Progress
    from isoscope.typing import Matrix, Vector


class ClusterRemoval(OneToOneFeatureMixin, Correction):  # type: ignore[misc]
    """Cluster, centre every cluster, and remove every cluster's own top components.

    y = x − μ_c − Σ_k≤D (v_ck · (x − μ_c)) v_ck with c the cluster of x, μ_c the mean of the cluster
    and v_ck its principal components (Rajaee & Pilehvar 2021). New vectors belong to the nearest
    centre. One cluster is the global method: ``AllButTheTop`` with the same ``n_components``.

    How clusters are found: k-means, from the best of three starts by greedy k-means++, runs on a
    seeded random sample of 256 rows for each cluster. From there at most three of Lloyd's
    iterations run over all rows, until moving the centres lowers the sum of squared distances by
    less than 0.1 %. One more pass assigns all rows and sums the covariance of every cluster, with
    products in the precision of the vectors (half precision in single). The same passes stream
    over a cloud of any size; tensors are fitted on the host, batch by batch.

    Clusters that end up without rows are left out. Beyond the rank of a cluster (a cluster of m
    rows has at most m − 1 components) nothing is removed, so that a cluster of one row is only
    centred.

    Parameters
    ----------
    n_clusters : int
        Number of clusters; fewer are made where there are fewer distinct rows.
    n_components : int
        D, how many components are removed from each cluster.
    random_state : int, RandomState or None
        Seed of the sample and of k-means.
    renormalize : bool
        Bring corrected vectors to length 1.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters_, n_features_in_)
        What vectors are assigned by.
    n_clusters_ : int
        How many clusters there are.
    counts_ : array of shape (n_clusters_,)
        Rows of each cluster when it was fitted.
    means_ : array of shape (n_clusters_, n_features_in_)
        μ_c, the mean of those rows.
    components_ : list of arrays of shape (at most n_components, n_features_in_)
        The directions removed from each cluster, as rows, largest variance first.
    inertia_ : float
        Sum of squared distances of the rows to their centres.
    """

    name = "cluster-pc-removal"
    _start: Matrix | None = None
    rules: ClassVar = {"n_clusters": whole_number(1), "n_components": whole_number(0)}

    def __init__(
        self,
        n_clusters: int = 27,
        n_components: int = 12,
        *,
        random_state: Any = 0,
        renormalize: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.random_state = random_state
        self.renormalize = renormalize

    def assign(self, X: Any) -> Any:
        """Return the cluster of each vector: the nearest centre, the first of equals."""
        check_is_fitted(self)
        vectors = self._vectors(X, reset=False)
        return self._nearest(at_least_single(vectors))

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return len(self.cluster_centers_)

    def refitted(self, X: Any) -> ClusterRemoval:
        """Return a copy that is fitted on other rows, with these centres as its start.

        So the clusters of a part of the rows are those of all of them, moved a little: k-means from
        a new start may find other ones that are as good, which says nothing about the rows.
        """
        check_is_fitted(self)
        copy = ClusterRemoval(
            self.n_clusters,
            self.n_components,
            random_state=self.random_state,
            renormalize=self.renormalize,
        )
        copy._start = self.cluster_centers_
        return copy.fit(X)

    def _learn(self, group: CloudGroup, progress: Progress | None) -> None:
        check_most(self, self.n_components, group.widths[0])
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if self._start is None:
            centers = find_centers(group, self.n_clusters, seed, progress)
        else:
            centers = settled(group, self._start, progress)
        parts = solved_clusters(group, Nearest(centers), self.n_components, progress)
        if len(parts) < self.n_clusters:
            warnings.warn(
                f"{self.name}: {len(parts)} clusters are used, not {self.n_clusters}: the others "
                "would be empty",
                UserWarning,
                stacklevel=4,
            )
        self._restore(
            {
                "centers": np.array([part.center for part in parts]),
                "counts": np.array([part.rows for part in parts]),
                "means": np.array([part.mean for part in parts]),
                "components": np.concatenate([part.components for part in parts]),
                "removed": np.array([len(part.components) for part in parts]),
                "inertia": np.asarray(sum(part.inertia for part in parts)),
            }
        )

    def _correct(self, rows: Array) -> Array:
        labels = self._nearest(rows)
        if self.n_clusters_ == 1:
            return self._maps[0](rows)
        if is_tensor(rows):
            present, corrected = labels.unique().tolist(), rows.new_empty(rows.shape)
        else:
            present, corrected = np.unique(labels), np.empty_like(rows)
        for cluster in present:
            members = labels == cluster
            corrected[members] = self._maps[cluster](rows[members])
        return corrected

    def _fitted_arrays(self) -> dict[str, NDArray[Any]]:
        return dict(self._arrays)

    def _slots(self, width: int) -> Slots:
        return {
            "centers": Slot(("clusters", width)),
            "counts": Slot(("clusters",), "int64"),
            "means": Slot(("clusters", width)),
            "components": Slot(("directions", width)),
            "removed": Slot(("clusters",), "int64"),
            "inertia": Slot(()),
        }

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = {name: arrays[name] for name in self._slots(self.n_features_in_)}
        removed = arrays["removed"]
        if not len(removed) or (removed < 0).any() or removed.sum() != len(arrays["components"]):
            raise DataError("the tensor removed does not assign all components to clusters")
        self.cluster_centers_, self.counts_ = arrays["centers"], arrays["counts"]
        self.means_, self.inertia_ = arrays["means"], float(arrays["inertia"])
        self.components_ = np.split(arrays["components"], np.cumsum(removed)[:-1])
        self._nearest = Nearest(self.cluster_centers_)
        zero = np.zeros(self.n_features_in_)
        self._maps = [
            AffineMap(center=mean, shift=zero, removed=rows.T if len(rows) else None)
            for mean, rows in zip(self.means_, self.components_, strict=True)
        ]


@dataclass(frozen=True)
class Cluster:
    """One cluster, ready to be used."""

    center: Vector
    rows: int
    mean: Vector
    components: Matrix
    inertia: float
    """Sum of squared distances to the centre."""


def solved_clusters(
    group: CloudGroup, nearest: Nearest, n_components: int, progress: Progress | None
) -> list[Cluster]:
    """Decompose the covariance of every cluster that has rows, as many at once as there are cores.

    So only as many scatter matrices as that are held beside those that are still to come.
    """
    solve = partial(solved, stored=group.dtypes[0], n_components=n_components)
    clusters: list[Cluster] = []
    stream = moments_of_clusters(group, nearest, progress)
    while turn := list(islice(stream, cores())):
        calls = [
            partial(solve, nearest.centers[cluster], moments)
            for cluster, moments in turn
            if moments.rows
        ]
        clusters.extend(in_parallel(calls) if calls else [])
    return clusters


def known_variances(moments: Moments) -> Vector:
    """Return the variance of each dimension."""
    found = moments.variances
    if found is None:
        raise ValueError("a cluster needs the variances of its dimensions")
    return found


# Eigenvalues of the products of rows down to this share of the largest have eigenvectors that are
# good to 1e-10 and better, as √λ of them is what rounding is compared with.
SMALLEST = 1e-10


def top_directions(moments: Moments, number: int) -> tuple[Vector, Matrix]:
    """Return the largest eigenvalues of a covariance, rising, and their eigenvectors in columns.

    Where the covariance is FᵀF / w for a factor F of few rows, they follow from the products of
    these rows: FFᵀ u = λ u makes Fᵀu an eigenvector of FᵀF for the same λ.
    """
    factor, width = moments.factor, moments.width
    if factor is not None and number < len(factor):
        rows = factor / math.sqrt(moments.weight)
        last = len(rows) - 1
        values, turned = eigh(rows @ rows.T, subset_by_index=[last + 1 - number, last])
        if values[0] > SMALLEST * values[-1]:
            vectors = rows.T @ turned
            return values, vectors / np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    # scipy finds a few in a third of the time that all take
    values, vectors = eigh(moments.covariance, subset_by_index=[width - number, width - 1])
    return values, vectors


def solved(center: Vector, moments: Moments, *, stored: str, n_components: int) -> Cluster:
    """Find the top components of one cluster; beyond its rank there are none."""
    away, spread = moments.mean - center, known_variances(moments)
    inertia = moments.weight * float(spread.sum() + away @ away)
    components = np.empty((0, moments.width))
    if n_components:
        values, vectors = top_directions(moments, n_components)
        floor = null_variance(moments, stored, float(values[-1]))
        # Products were in the precision of the vectors, and their rounding is a share of the
        # largest variance in every direction.
        if stored != "float64":
            floor = max(floor, single_floor(float(values[-1])))
        present = values[::-1] > floor
        components = np.ascontiguousarray(oriented(vectors[:, ::-1])[:, present].T)
    return Cluster(center, moments.rows, moments.mean, components, inertia)
