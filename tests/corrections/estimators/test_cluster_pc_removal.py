"""Cluster by cluster: against the global method, and against each cluster by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from corrected_by_hand import all_but_the_top
from sklearn.exceptions import NotFittedError

import isoscope
from isoscope.corrections import AllButTheTop, ClusterRemoval
from isoscope.corrections.clusters import moments as cluster_moments_module
from isoscope.corrections.clusters.centers import Nearest
from isoscope.corrections.estimators.cluster_pc_removal import solved_clusters
from isoscope.errors import UsageError


def clustered(rows: int, width: int, clusters: int, seed: int = 0) -> np.ndarray:
    """Return groups of vectors far from each other, each with directions of its own."""
    random = np.random.default_rng(seed)
    which = random.integers(0, clusters, rows)
    centers = random.standard_normal((clusters, width)) * 8
    shapes = random.standard_normal((clusters, width, width)) / np.sqrt(width)
    noise = random.standard_normal((rows, width)) * np.linspace(2, 0.3, width)
    return centers[which] + np.einsum("ij,ijk->ik", noise, shapes[which])


CLOUD = clustered(900, 10, 4)
NEW = CLOUD[::18] + 0.1


@pytest.mark.parametrize("count", [0, 1, 4])
def test_one_cluster_is_the_global_method(count: int) -> None:
    one = ClusterRemoval(1, count).fit(CLOUD)
    np.testing.assert_allclose(
        one.transform(NEW), AllButTheTop(count).fit(CLOUD).transform(NEW), atol=1e-10
    )
    assert one.inertia_ == pytest.approx(((CLOUD - CLOUD.mean(axis=0)) ** 2).sum())


def test_several_clusters_are_corrected_one_by_one() -> None:
    fitted = ClusterRemoval(4, 3, random_state=1).fit(CLOUD)
    labels, new_labels = fitted.assign(CLOUD), fitted.assign(NEW)
    assert sorted(fitted.counts_) == sorted(np.bincount(labels))
    distances = np.linalg.norm(NEW[:, None] - fitted.cluster_centers_, axis=2)
    np.testing.assert_array_equal(new_labels, distances.argmin(axis=1))
    corrected = fitted.transform(NEW)
    for cluster in range(4):
        members = CLOUD[labels == cluster]
        np.testing.assert_allclose(fitted.means_[cluster], members.mean(axis=0), atol=1e-12)
        expected = all_but_the_top(members, NEW[new_labels == cluster], 3, "centered")
        np.testing.assert_allclose(corrected[new_labels == cluster], expected, atol=1e-9)
    spread = np.linalg.norm(CLOUD[:, None] - fitted.cluster_centers_, axis=2).min(axis=1) ** 2
    assert fitted.inertia_ == pytest.approx(spread.sum())


def test_a_file_gives_what_memory_gives(tmp_path: Path) -> None:
    np.save(tmp_path / "cloud.npy", CLOUD)
    streamed = ClusterRemoval(4, 3).fit_cloud(tmp_path / "cloud.npy")
    in_memory = ClusterRemoval(4, 3).fit(CLOUD)
    np.testing.assert_allclose(streamed.transform(NEW), in_memory.transform(NEW), atol=1e-10)


def test_clusters_that_memory_does_not_hold_take_more_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = ClusterRemoval(4, 3).fit(CLOUD)
    monkeypatch.setattr(cluster_moments_module, "SCATTER_BYTES", 8 * 10 * 10)
    passes = []
    parts = ClusterRemoval(4, 3).fit_cloud(
        CLOUD, progress=lambda stage, done, _: passes.append(done if stage == "clusters" else 0)
    )
    assert passes.count(len(CLOUD)) == 4
    np.testing.assert_allclose(parts.transform(NEW), whole.transform(NEW), atol=1e-10)


def test_more_clusters_than_distinct_vectors() -> None:
    rows = np.repeat(shifted(0, 3, 5), 4, axis=0)
    with pytest.warns(UserWarning, match="3 clusters are used, not 27"):
        fitted = ClusterRemoval(n_components=2).fit(rows)
    assert fitted.n_clusters_ == 3
    assert [len(directions) for directions in fitted.components_] == [0, 0, 0]
    np.testing.assert_allclose(fitted.transform(rows), 0, atol=1e-12)


def test_an_empty_cluster_is_left_out() -> None:
    centers = np.concatenate((ClusterRemoval(4, 1).fit(CLOUD).cluster_centers_, [[1e3] * 10]))
    found = solved_clusters(isoscope.open_cloud(CLOUD), Nearest(centers), 1, None)
    assert [cluster.rows > 0 for cluster in found] == [True] * 4


def test_a_cluster_of_one_vector_is_only_centred() -> None:
    rows = np.concatenate((shifted(0, 60, 5), np.full((1, 5), 100.0)))
    fitted = ClusterRemoval(2, 2).fit(rows)
    lone = int(fitted.assign(rows[-1:])[0])
    assert fitted.counts_[lone] == 1
    assert len(fitted.components_[lone]) == 0
    assert (fitted.transform(rows[-1:]) == 0).all()
    step = np.array([[1.0, 0, 0, 0, 2]])
    np.testing.assert_allclose(fitted.transform(rows[-1:] + step), step)
    renormalized = ClusterRemoval(2, 2, renormalize=True).fit(rows)
    assert (renormalized.transform(rows[-1:]) == 0).all()


def test_fewer_vectors_in_a_cluster_than_components() -> None:
    rows = np.concatenate((shifted(0, 3, 8), shifted(1, 40, 8, offset=50)))
    fitted = ClusterRemoval(2, 5).fit(rows)
    assert sorted(len(directions) for directions in fitted.components_) == [2, 5]
    np.testing.assert_allclose(fitted.transform(rows[:3]), 0, atol=1e-12)


def test_the_seed_decides() -> None:
    cloud = shifted(5, 3_000, 6)
    first, again, other = (
        ClusterRemoval(8, 1, random_state=seed).fit(cloud).cluster_centers_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(np.sort(first, axis=0), np.sort(other, axis=0))


def test_large_common_offsets_do_not_blur_the_clusters() -> None:
    far = (CLOUD + 3_000).astype(np.float32)
    labels = ClusterRemoval(4, 1).fit(far).assign(far)
    same = ClusterRemoval(4, 1).fit(CLOUD).assign(CLOUD)
    pairs = {(int(a), int(b)) for a, b in zip(labels, same, strict=True)}
    assert len(pairs) == 4


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 10"):
        ClusterRemoval(2, 11).fit(CLOUD)
    with pytest.raises(UsageError, match="n_clusters must be a whole number of at least 1"):
        ClusterRemoval(0).fit(CLOUD)


def test_a_second_fit_starts_from_the_clusters_of_the_first() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 5, (3, 4))
    X = np.concatenate([centre + rng.normal(0, 0.3, (40, 4)) for centre in centres])
    first = ClusterRemoval(3, 1, random_state=0).fit(X)
    some = X[::2]
    again = first.refitted(some)
    assert (first.assign(some) == again.assign(some)).all()  # the same clusters, in the same order
    labels = again.assign(some)
    for k in range(3):
        assert again.means_[k] == pytest.approx(some[labels == k].mean(axis=0))
    assert first.counts_.sum() == len(X)  # and the first one stays as it was
    assert again.counts_.sum() == len(some)
    with pytest.raises(NotFittedError):
        ClusterRemoval(3, 1).refitted(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [40, 5])
def test_clusters_of_few_rows_are_decomposed_exactly(dtype: type, rank: int) -> None:
    random = np.random.default_rng(0)
    directions = random.standard_normal((rank, 100)) * np.geomspace(1, 0.01, rank)[:, None]
    x: np.ndarray = (random.standard_normal((60, rank)) @ directions + 1).astype(dtype)
    fitted = ClusterRemoval(2, 8).fit(x)
    clusters = Nearest(fitted.cluster_centers_)(x)
    for cluster, components in enumerate(fitted.components_):
        rows = x[clusters == cluster].astype(np.float64)
        expected = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2]
        assert len(components) == min(rank, 8)
        projector = components.T @ components
        found = expected[: len(components)]
        np.testing.assert_allclose(projector, found.T @ found, atol=1e-10)
