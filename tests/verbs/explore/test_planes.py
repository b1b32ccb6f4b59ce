"""The plane of the largest variance."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.corrections import make_correction
from isoscope.verbs.explore.session import find_plane, nearest_turn

ROWS = np.arange(0, 2_000, 3)


def cloud(seed: int, width: int = 12) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(rng.normal(size=(width, width)))
    spread = rng.exponential(size=(2_000, width)) * np.linspace(4, 0.5, width)
    return np.asarray(spread @ turned + 5, np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_principal_component_analysis(seed: int) -> None:
    vectors = cloud(seed)
    plane = find_plane(vectors, ROWS)
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    # Products are summed in single precision: components are right to about its root.
    alike = np.abs(np.sum(axes[:2].T * plane.axes, axis=0))
    np.testing.assert_allclose(alike, 1, atol=1e-5)
    np.testing.assert_allclose(plane.shares, sizes[:2] ** 2 / np.sum(sizes**2), rtol=1e-4)
    np.testing.assert_allclose(plane.of(vectors).mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(plane.of(plane.mean), 0, atol=1e-6)


def test_signs_follow_the_picture_before() -> None:
    vectors = cloud(0)
    before = find_plane(vectors, ROWS).of(vectors[ROWS])
    mirrored = find_plane(vectors, ROWS, before * [1, -1]).of(vectors[ROWS])
    np.testing.assert_allclose(mirrored, before * [1, -1], atol=1e-4)


@pytest.mark.parametrize("kind", ["whiten", "whiten:kind=zca"])
def test_a_whitened_cloud_is_shown_from_where_it_was_seen_before(kind: str) -> None:
    vectors = cloud(1)
    before = find_plane(vectors, ROWS).of(vectors[ROWS])
    whitened = make_correction(kind).fit(vectors).transform(vectors)
    plane = find_plane(whitened, ROWS, before)
    after = plane.of(whitened[ROWS])
    for axis in (0, 1):
        assert np.corrcoef(before[:, axis], after[:, axis])[0, 1] > 0.99
    np.testing.assert_allclose(plane.axes.T @ plane.axes, np.eye(2), atol=1e-5)
    np.testing.assert_allclose(plane.shares, 1 / 12, rtol=1e-3)


def test_the_turn_is_the_best_of_many() -> None:
    rng = np.random.default_rng(0)
    like = rng.normal(size=(6, 2))
    best = np.trace(nearest_turn(like).T @ like)
    for _ in range(200):
        other, _ = np.linalg.qr(rng.normal(size=(6, 2)))
        assert np.trace(other.T @ like) <= best + 1e-12


@pytest.mark.parametrize("width", [1, 2])
def test_narrow_clouds(width: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(50, width)).astype(np.float32)
    plane = find_plane(vectors, np.arange(50))
    assert plane.of(vectors).shape == (50, 2)
    assert sum(plane.shares) == pytest.approx(1)


def test_vectors_that_are_all_the_same() -> None:
    vectors = np.ones((20, 4), np.float32)
    plane = find_plane(vectors, np.arange(20), np.zeros((20, 2), np.float32))
    assert plane.shares == (0, 0)
    assert np.isfinite(plane.of(vectors)).all()
