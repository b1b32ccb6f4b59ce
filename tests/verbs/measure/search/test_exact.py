"""Exact neighbours, and what counts as one of them where rows are equally near."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted
from hypothesis import given
from hypothesis import strategies as st
from searched_by_hand import cosines, overlap, top

from isoscope.verbs.measure.search.directions import SearchSpace, search_space
from isoscope.verbs.measure.search.indexes import MARGIN, exact_neighbours, nearest, without_itself

pytest.importorskip("faiss")


def space_of(base: np.ndarray, queries: np.ndarray | None = None) -> SearchSpace:
    return search_space(np.asarray(base, np.float64), queries)[0]


def test_the_nearest_are_those_of_highest_cosine() -> None:
    base, queries = shifted(0, 300, 12), shifted(1, 40, 12)
    assert (exact_neighbours(space_of(base), 10).ids == top(cosines(base), 10)).all()
    found = exact_neighbours(space_of(base, queries), 7)
    assert (found.ids == top(cosines(base, queries), 7)).all()
    assert (found.recall(found.ids) == 1).all()


def test_some_queries_only() -> None:
    base = shifted(0, 300, 12)
    some, every = exact_neighbours(space_of(base), 5, 90), exact_neighbours(space_of(base), 5)
    assert some.ids.shape == (90, 5)
    assert (some.ids == every.ids[:90]).all()
    ids, apart = nearest(space_of(base), 30, 90)
    assert (ids == top(cosines(base), 30)[:90]).all()
    expected = 2 - 2 * np.take_along_axis(cosines(base)[:90], ids, 1)
    np.testing.assert_allclose(apart, expected, atol=1e-6)


def test_a_cloud_far_off_loses_no_neighbour_to_rounding() -> None:
    base = shifted(0, 400, 12) + 1e4  # cosines of 0.99999999, which float32 cannot tell apart
    found = exact_neighbours(space_of(base), 10)
    assert overlap(found.ids, top(cosines(base), 10)).mean() > 0.999


@given(
    st.integers(0, 10_000), st.integers(12, 60), st.integers(1, 5), st.integers(2, 4), st.booleans()
)
def test_recall_counts_what_is_as_near_as_the_last(
    seed: int, rows: int, k: int, width: int, own: bool
) -> None:
    random = np.random.default_rng(seed)
    # Few directions, so that most neighbours are tied, often more of them than are looked at.
    base = random.integers(-1, 2, (rows, width)) + np.eye(width)[0] * 2.0
    queries = None if own else random.integers(-1, 2, (9, width)) + np.eye(width)[0] * 2.0
    scores = cosines(base, queries)
    found = np.array([random.permutation(len(base))[:k] for _ in scores])
    if own:
        listed = [[row for row in random.permutation(rows) if row != q][:k] for q in range(rows)]
        found = np.array(listed)
    truth = exact_neighbours(space_of(base, queries), k)
    last = np.sort(scores, axis=1)[:, -k]
    listed_scores = np.take_along_axis(scores, found, 1)
    nearer = (scores > last[:, None] + 1e-9).sum(axis=1)
    first = (listed_scores > last[:, None] + 1e-9).sum(axis=1)
    tied = (np.abs(listed_scores - last[:, None]) <= 1e-9).sum(axis=1)
    # Of those that are as near as the last, no more count than there is room for.
    right = (first + np.minimum(tied, k - nearer)) / k
    np.testing.assert_allclose(truth.recall(found), right)
    # Of more than k candidates, the nearest k count.
    everything = np.tile(np.arange(rows), (len(scores), 1))
    assert (truth.recall(everything) == 1).all()


def test_more_equal_rows_than_are_looked_at() -> None:
    k, others, equal = 3, 20, 3 + MARGIN + 20
    base = np.concatenate([shifted(0, others, 3), np.tile([1.0, 2.0, 3.0], (equal, 1))])
    truth = exact_neighbours(space_of(base), k)
    rows = len(base)
    assert set(range(others, rows)) <= set(truth.unsettled.tolist())
    last = np.tile([rows - 1, rows - 2, rows - 3], (rows - 4, 1))
    assert (truth.recall(last)[others:] == 1).all()
    missed = np.tile([rows - 2, 2, -1], (rows - 4, 1))  # -1 is no row, not the last one
    np.testing.assert_allclose(truth.recall(missed)[others:], 1 / 3)


def test_no_row_is_no_neighbour() -> None:
    truth = exact_neighbours(space_of(shifted(0, 50, 4)), 4)
    lost = truth.ids.copy()
    lost[:, 2:] = -1
    assert (truth.recall(lost) == 0.5).all()


def test_queries_do_not_find_themselves() -> None:
    found = np.array([[0, 3, 5], [2, 4, 1], [4, 0, 3]])
    assert without_itself(found, np.arange(3)).tolist() == [[3, 5], [2, 4], [4, 0]]
    nobody = np.full(3, -1)
    assert without_itself(found, nobody) is found
