"""Indexes at their fixed effort, and that they are what they are called."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

from isoscope.verbs.measure.search import indexes
from isoscope.verbs.measure.search.directions import search_space
from isoscope.verbs.measure.search.indexes import by_hnsw, by_ivf, exact_neighbours, ivf_effort

pytest.importorskip("faiss")


def test_with_enough_effort_both_find_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    space, _, _ = search_space(shifted(0, 500, 10), None)
    truth = exact_neighbours(space, 10)
    monkeypatch.setattr(indexes, "SEARCH_EFFORT", 500)
    monkeypatch.setattr(indexes, "ivf_effort", lambda _: (20, 20))
    assert truth.recall(by_hnsw(space, 10, 300)).mean() > 0.999
    assert (truth.recall(by_ivf(space, 10, 300, 0)) == 1).all()


def test_less_effort_finds_less(monkeypatch: pytest.MonkeyPatch) -> None:
    space, _, _ = search_space(shifted(0, 2000, 30), shifted(1, 100, 30))
    truth = exact_neighbours(space, 10)
    some = truth.recall(by_ivf(space, 10, 100, 0)).mean()
    monkeypatch.setattr(indexes, "ivf_effort", lambda _: (45, 1))
    one = truth.recall(by_ivf(space, 10, 100, 0)).mean()
    assert one < some < 1
    # A row is found by one cell alone if it lies in the cell that is nearest to the query.
    assert one > 0.05


def test_the_same_lists_every_time() -> None:
    space, _, _ = search_space(shifted(0, 1500, 20), None)
    assert (by_hnsw(space, 10, 400) == by_hnsw(space, 10, 400)).all()
    assert (by_ivf(space, 10, 400, 3) == by_ivf(space, 10, 400, 3)).all()


@pytest.mark.parametrize(("rows", "effort"), [(1, (1, 1)), (100, (10, 3)), (10_000, (100, 10))])
def test_effort_follows_from_the_rows(rows: int, effort: tuple[int, int]) -> None:
    assert ivf_effort(rows) == effort


def test_a_query_is_not_among_what_it_finds() -> None:
    space, _, _ = search_space(shifted(0, 200, 6), None)
    for found in (by_hnsw(space, 10, 200), by_ivf(space, 10, 200, 0)):
        assert found.shape == (200, 10)
        assert not (found == np.arange(200)[:, None]).any()


def test_cells_by_hand() -> None:
    faiss = pytest.importorskip("faiss")
    space, _, _ = search_space(shifted(0, 900, 8), None)
    moved = space.base.moved
    cells, visited = ivf_effort(900)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(8), 8, cells)
    index.cp.min_points_per_centroid, index.cp.seed = 1, 5
    index.train(moved)
    middles = index.quantizer.reconstruct_n(0, cells).astype(np.float64)
    to_middles = ((moved[:, None, :] - middles) ** 2).sum(axis=2)
    of_row = to_middles.argmin(axis=1)
    found = by_ivf(space, 10, 200, 5)
    for query in range(200):
        near = np.argsort(to_middles[query])[:visited]
        rows = [row for row in np.flatnonzero(np.isin(of_row, near)) if row != query]
        apart = ((moved[rows] - moved[query]) ** 2).sum(axis=1)
        assert set(found[query]) == set(np.array(rows)[np.argsort(apart)[:10]])
