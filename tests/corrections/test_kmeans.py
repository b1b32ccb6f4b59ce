"""The clusters themselves, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

import isoscope
from isoscope.corrections import clusters as kmeans
from isoscope.corrections.clusters import Nearest, find_centers, lloyd_pass, sample_size


@pytest.mark.parametrize("groups", [1, 30])
def test_as_good_as_hundreds_of_iterations_over_all_rows(
    groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 1 % of scikit-learn's sum of squared distances, from a sample of a fifth."""
    monkeypatch.setattr(kmeans, "SAMPLED_PER_CLUSTER", 100)
    random = np.random.default_rng(0)
    centers = random.standard_normal((groups, 16)) * (3 if groups > 1 else 0)
    vectors = centers[random.integers(0, groups, 6_000)] + random.standard_normal((6_000, 16))
    cloud = isoscope.open_cloud(vectors)
    mine, theirs = [], []
    for seed in range(3):  # one start may end in a better place than another
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
