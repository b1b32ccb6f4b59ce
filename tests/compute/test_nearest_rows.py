"""Neighbours within a cloud, by brute force."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from isoscope.compute.nearest_neighbours import has_direction, nearest_rows, shared


def test_neighbours_are_those_of_brute_force() -> None:
    rows = np.random.default_rng(0).standard_normal((1_100, 12)) + 0.5
    found = nearest_rows(rows, 10)
    searcher = NearestNeighbors(n_neighbors=11, metric="cosine", algorithm="brute").fit(rows)
    wanted = searcher.kneighbors(rows, return_distance=False)[:, 1:]
    # Single precision may swap the tenth with the eleventh where they are within 1e-7.
    assert shared(found, wanted).mean() > 0.9999
    assert (found != np.arange(1_100)[:, None]).all()


def test_lengths_do_not_matter() -> None:
    random = np.random.default_rng(1)
    rows = random.standard_normal((200, 5))
    stretched = rows * random.uniform(1e-200, 1e200, (200, 1))
    assert shared(nearest_rows(rows, 3), nearest_rows(stretched, 3)).mean() == 1


def test_the_share_counts_what_is_in_both_lists() -> None:
    one, other = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[3, 2, 9], [7, 8, 9]])
    np.testing.assert_allclose(shared(one, other), [2 / 3, 0])


def test_zero_rows_have_no_direction() -> None:
    assert has_direction(np.array([[0.0, 0], [0, -1]])).tolist() == [False, True]
    nearest_rows(np.zeros((5, 2)), 2)  # without a warning
