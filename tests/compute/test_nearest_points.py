"""The nearest points by products in single precision, against distances in double."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from isoscope.compute import nearest_neighbours
from isoscope.compute.nearest_neighbours import (
    NearestPoints,
    nearest_columns,
    nearest_points,
)


def by_hand(points: np.ndarray, k: int) -> np.ndarray:
    """Return the k nearest others from differences in double precision, rising by number."""
    found = np.empty((len(points), k), np.int64)
    for row, point in enumerate(points):
        distances = ((points - point) ** 2).sum(axis=1)
        distances[row] = np.inf
        found[row] = np.sort(np.argsort(distances, kind="stable")[:k])
    return found


def cloud(kind: str) -> np.ndarray:
    random = np.random.default_rng(0)
    rows = random.standard_normal((1_100, 40))
    if kind == "far":
        return rows + 1e4
    if kind == "tight":  # pairs of points that single precision takes for one
        return np.concatenate((rows, rows + 1e-6 * random.standard_normal(rows.shape)))
    if kind == "long":  # one vector decides what the others are rounded to
        rows[7] *= 1e5
    return rows * (1e200 if kind == "large" else 1.0)


@pytest.mark.parametrize("kind", ["plain", "far", "tight", "long"])
def test_the_points_are_those_of_double_precision(kind: str) -> None:
    points = cloud(kind)
    np.testing.assert_array_equal(np.sort(nearest_points(points, 5), axis=1), by_hand(points, 5))


def test_no_scale_is_too_large() -> None:
    np.testing.assert_array_equal(
        np.sort(nearest_points(cloud("large"), 5)), by_hand(cloud("plain"), 5)
    )


def test_few_rows_of_a_plain_cloud_are_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    before = NearestPoints._distances

    def watched(self: NearestPoints, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
        if points.dtype == np.float64:
            searched.extend(rows)
        return before(self, points, rows)

    monkeypatch.setattr(NearestPoints, "_distances", watched)
    nearest_points(cloud("plain"), 5)
    assert len(searched) < 30
    nearest_points(cloud("long"), 5)
    assert len(searched) > 1_000  # nothing is certain beside a vector of 100,000 times the length


def test_equal_points_are_found_once_each() -> None:
    points = np.repeat(np.random.default_rng(1).standard_normal((5, 3)), 4, axis=0)
    found = nearest_points(points, 3)
    for row, near in enumerate(found):
        assert sorted(near) == [
            one for one in range(4 * (row // 4), 4 * (row // 4) + 4) if one != row
        ]
    assert all(len(set(near)) == 6 and row not in near
               for row, near in enumerate(nearest_points(points, 6)))  # fmt: skip
    found = nearest_points(np.zeros((7, 2)), 4)
    assert all(len(set(near)) == 4 for near in found)


def test_all_others_may_be_asked_for() -> None:
    found = nearest_points(cloud("plain")[:9], 8)
    np.testing.assert_array_equal(
        np.sort(found, axis=1), [[one for one in range(9) if one != row] for row in range(9)]
    )


def test_neither_stripes_nor_threads_change_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    points = cloud("plain")
    expected = nearest_points(points, 4)
    with threadpool_limits(1):
        np.testing.assert_array_equal(nearest_points(points, 4), expected)
    monkeypatch.setattr("isoscope.compute.threads.cores", lambda: 1)
    np.testing.assert_array_equal(nearest_points(points, 4), expected)
    monkeypatch.setattr(nearest_neighbours, "STRIPE", 100)
    np.testing.assert_array_equal(
        np.sort(nearest_points(points, 4), axis=1), np.sort(expected, axis=1)
    )


@pytest.mark.parametrize(("columns", "k"), [(9, 3), (176, 10), (1_000, 10), (4_096, 2), (530, 32)])
def test_smallest_columns_of_rows(columns: int, k: int) -> None:
    distances = np.random.default_rng(columns).normal(size=(40, columns)).astype(np.float32)
    found, last, following = nearest_columns(distances, k)
    order = np.argsort(distances, axis=1)
    np.testing.assert_array_equal(found, np.sort(order[:, :k], axis=1))
    np.testing.assert_array_equal(last, distances[np.arange(40), order[:, k - 1]])
    np.testing.assert_array_equal(following, distances[np.arange(40), order[:, k]])


def test_smallest_columns_of_rows_with_equal_numbers() -> None:
    distances = np.random.default_rng(0).integers(0, 3, size=(30, 700)).astype(np.float32)
    distances[3], distances[4, 5] = 1.0, np.nan
    found, last, following = nearest_columns(distances, 10)
    for row in range(30):
        values = np.sort(distances[row])
        assert len(set(found[row])) == 10
        np.testing.assert_array_equal(np.sort(distances[row, found[row]]), values[:10])
        assert (last[row], following[row]) == (values[9], values[10])
