"""The search against sorting everything, ties included, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.compute import nearest_neighbours as exact_search
from isoscope.compute.nearest_neighbours import nearest_documents as nearest


def by_sorting(
    queries: np.ndarray, documents: np.ndarray, order: np.ndarray, without: np.ndarray, most: int
) -> list[list[int]]:
    rank = {int(document): place for place, document in enumerate(order)}
    found = []
    for query, own in zip(queries.astype(float), without, strict=True):
        scored = []
        for place, document in enumerate(documents.astype(float)):
            length = np.linalg.norm(query) * np.linalg.norm(document)
            if place != own and length > 0:
                scored.append((-round(float(query @ document) / length, 9), rank[place], place))
        best = [place for _, _, place in sorted(scored)[:most]]
        found.append(best + [-1] * (most - len(best)))
    return found


@pytest.mark.parametrize("block", [3, 7, 4096])
@pytest.mark.parametrize("most", [1, 5, 60])
def test_search_is_sorting(block: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_search, "DOCUMENTS_AT_ONCE", block)
    monkeypatch.setattr(exact_search, "QUERIES_AT_ONCE", 2)
    rng = np.random.default_rng(0)
    documents = rng.integers(-2, 3, (50, 3)).astype(np.float32)  # many ties, and zeros
    queries = rng.integers(-2, 3, (9, 3)).astype(np.float32)
    order, without = rng.permutation(50), rng.integers(-1, 50, 9)
    assert (np.linalg.norm(documents, axis=1) == 0).any()
    found = nearest(queries, documents, order, without, most)
    assert found.tolist() == by_sorting(queries, documents, order, without, most)


def test_equal_documents_are_tied_wherever_they_stand() -> None:
    rng = np.random.default_rng(1)
    documents = np.repeat(rng.normal(size=(1, 301)), 5000, axis=0)
    documents[::2] *= 3
    queries = rng.normal(size=(3, 301))
    found = nearest(queries, documents, np.arange(5000), np.full(3, -1), 100)
    assert found.tolist() == [list(range(100))] * 3
