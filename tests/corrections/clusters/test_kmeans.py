"""The clusters themselves, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import isoscope
from isoscope.corrections.clusters.centers import Nearest, find_centers, lloyd_pass, sample_size
from isoscope.corrections.clusters.kmeans import beyond_single, kmeans


@pytest.mark.parametrize(("groups", "starts"), [(1, 2), (30, 12)])
def test_as_good_as_hundreds_of_iterations_over_all_rows(groups: int, starts: int) -> None:
    """Within 1 % of scikit-learn's sum of squared distances, from a sample of a quarter."""
    random = np.random.default_rng(0)
    centers = random.standard_normal((groups, 16)) * (3 if groups > 1 else 0)
    vectors = centers[random.integers(0, groups, 12_000)] + random.standard_normal((12_000, 16))
    cloud = isoscope.open_cloud(vectors)
    mine, theirs = [], []
    for seed in range(starts):  # a start may end in a better place than another one
        found = find_centers(cloud, 12, seed)
        mine.append(lloyd_pass(cloud, Nearest(found), None).inertia)
        theirs.append(KMeans(12, n_init=1, random_state=seed).fit(vectors).inertia_)
    assert np.mean(mine) < 1.01 * np.mean(theirs)


def test_one_pass_is_one_iteration_of_lloyd() -> None:
    random = np.random.default_rng(1)
    cloud, centers = random.standard_normal((5_000, 4)) + 9, random.standard_normal((3, 4)) + 9
    found = lloyd_pass(isoscope.open_cloud(cloud), Nearest(centers), None)
    distances = ((cloud[:, None] - centers) ** 2).sum(axis=2)
    labels = distances.argmin(axis=1)
    np.testing.assert_array_equal(found.counts, np.bincount(labels))
    for cluster in range(3):
        mean = cloud[labels == cluster].mean(axis=0)
        np.testing.assert_allclose(found.means[cluster], mean, atol=1e-11)
    assert found.inertia == pytest.approx(distances.min(axis=1).sum())
    after = sum(((cloud[labels == k] - found.means[k]) ** 2).sum() for k in range(3))
    assert found.gain == pytest.approx(found.inertia - after)


def test_centres_without_rows_are_given_up() -> None:
    rows = np.repeat(np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]]), 5, axis=0)
    found = find_centers(isoscope.open_cloud(rows), 12, 0)
    np.testing.assert_allclose(found[np.lexsort(found.T)], [[0, 0], [8, 0], [0, 8]], atol=1e-12)


def test_the_sample_stays_within_memory() -> None:
    assert sample_size(27, 768) == 27 * 256
    assert sample_size(1_000, 768) * 768 * 8 <= 2**28
    assert sample_size(100_000, 768) == 800_000


def test_the_same_centres_on_any_number_of_cores() -> None:
    rows = np.random.default_rng(2).standard_normal((3_000, 40)).astype(np.float32)
    with threadpool_limits(1):
        one = kmeans(rows, 6, 3)
    np.testing.assert_array_equal(one, kmeans(rows, 6, 3))
    assert not np.array_equal(one, kmeans(rows, 6, 4))


@pytest.mark.parametrize("spread", [1e-3, 1e-5])
def test_rows_much_closer_to_each_other_than_to_the_mean(spread: float) -> None:
    """Products of float32 cannot tell such rows apart: differences do."""
    random = np.random.default_rng(0)
    places = random.standard_normal((5, 64))[random.integers(0, 5, 2_000)]
    rows = (places + spread * random.standard_normal((2_000, 64))).astype(np.float32)
    assert len(kmeans(rows, 5, 0)) == 5
    assert len(kmeans(rows, 20, 0)) == 20
    apart = ((rows[:, None].astype(np.float64) - kmeans(rows, 5, 0)) ** 2).sum(axis=2).min(axis=1)
    assert apart.sum() == pytest.approx(2_000 * 64 * spread**2, rel=0.1)


def test_far_from_the_origin_and_out_of_the_range_of_float32() -> None:
    random = np.random.default_rng(1)
    rows = random.standard_normal((4, 8))[random.integers(0, 4, 400)]
    rows += 0.01 * random.standard_normal((400, 8))
    near = kmeans(rows, 4, 0)
    np.testing.assert_allclose(kmeans(rows + 1e4, 4, 0) - 1e4, near, atol=1e-9)
    small = (rows * 1e-20).astype(np.float32)
    assert beyond_single(small)
    np.testing.assert_allclose(kmeans(small, 4, 0) * 1e20, near, rtol=1e-5)


def test_one_cluster_is_the_mean_and_equal_rows_make_one() -> None:
    rows = np.random.default_rng(3).standard_normal((500, 7)) + 3
    np.testing.assert_allclose(kmeans(rows, 1, 0), rows.mean(axis=0, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(kmeans(np.full((50, 3), 0.1), 4, 0), [[0.1] * 3])
