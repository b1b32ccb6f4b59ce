"""Neighbours against a search that looks at every pair in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from explored_for_tests import small_spaces

from isoscope.verbs.explore.session import CORRECTIONS, Space, find_plane, largest, made, nearest


def space_of(vectors: np.ndarray) -> Space:
    single = vectors.astype(np.float32)
    return made(single.copy(), find_plane(single, np.arange(len(single))))


def by_hand(vectors: np.ndarray, row: int) -> list[tuple[int, float]]:
    cosines = []
    for other, vector in enumerate(vectors):
        lengths = np.linalg.norm(vector) * np.linalg.norm(vectors[row])
        if other != row and lengths > 0:
            cosines.append((other, float(vector @ vectors[row] / lengths)))
    return sorted(cosines, key=lambda pair: (-pair[1], pair[0]))


@pytest.mark.parametrize("k", [1, 10])
def test_neighbours_are_those_of_brute_force(k: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(500, 6)) + 0.5
    space = space_of(vectors)
    for row in range(0, 500, 17):
        found, expected = nearest(space, row, k), by_hand(vectors, row)[:k]
        # Cosines of 500 random rows differ by more than the 1e-7 of single precision.
        assert [one.row for one in found] == [other for other, _ in expected]
        np.testing.assert_allclose(
            [one.cosine for one in found], [c for _, c in expected], atol=1e-6
        )


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_of_every_correction(correction: str) -> None:
    spaces = small_spaces()
    space = spaces.get("last", correction)
    vectors = spaces.explored.layers["last"]
    if correction != "none":
        from isoscope.corrections import make_correction

        vectors = make_correction(correction).fit(vectors).transform(vectors)
    expected = by_hand(vectors.astype(np.float64), 5)
    # Rows alone in their cluster come out as zero or as rounding of it, and have no neighbours.
    lengths = np.linalg.norm(vectors, axis=1)
    real = [(row, c) for row, c in expected if lengths[row] > 1e-5 * lengths.mean()]
    found = nearest(space, 5, 10)
    assert len(found) == 10
    np.testing.assert_allclose([one.cosine for one in found], [c for _, c in real[:10]], atol=1e-5)


def test_equal_cosines_come_in_the_order_of_rows() -> None:
    vectors = np.zeros((40, 3))
    vectors[:, 0] = 1
    vectors[::4, 1] = 1
    assert [one.row for one in nearest(space_of(vectors), 7, 5)] == [1, 2, 3, 5, 6]
    assert [one.row for one in nearest(space_of(vectors), 1, 3)] == [2, 3, 5]


def test_rows_without_a_direction_have_no_neighbours_and_are_none() -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 4))
    vectors[3] = 0
    vectors[4] = 1e-9
    space = space_of(vectors)
    assert nearest(space, 3, 5) == nearest(space, 4, 5) == []
    found = nearest(space, 0, 30)
    assert len(found) == 27
    assert not {0, 3, 4} & {one.row for one in found}


def test_more_are_asked_for_than_there_are() -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 3))
    assert len(nearest(space_of(vectors), 2, 50)) == 4


def test_no_cosine_is_above_one() -> None:
    vectors = np.repeat(np.random.default_rng(0).normal(size=(50, 7)), 3, axis=0)
    space = space_of(vectors)
    assert all(one.cosine <= 1 for row in range(150) for one in nearest(space, row, 2))


@pytest.mark.parametrize("k", [1, 10, 600, 5_000])
def test_the_largest_are_those_of_a_stable_sort(k: int) -> None:
    random = np.random.default_rng(3)
    plain = random.standard_normal(2_000).astype(np.float32)
    for values in (plain, np.round(plain), np.zeros(1_300, np.float32), plain[:7],
                   np.where(plain > 2, plain, -np.inf).astype(np.float32)):  # fmt: skip
        expected = np.argsort(-values, kind="stable")[:k]
        np.testing.assert_array_equal(largest(values, k), expected)
