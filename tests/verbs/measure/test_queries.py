"""Queries and documents as two clouds."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.verbs.measure.queries import centre_distance, measure_queries

RNG = np.random.default_rng(14)
DOCUMENTS = RNG.normal(size=(90, 5)) + 2
QUERIES = RNG.normal(size=(70, 5)) - 1


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_figures_are_their_definitions() -> None:
    found = measure_queries(DOCUMENTS, QUERIES, "none,center")
    cosines = unit(QUERIES) @ unit(DOCUMENTS).T
    assert found.value("query_document_cosine") == pytest.approx(cosines.mean(), abs=1e-6)
    assert found.value("query_document_cosine/95%") == pytest.approx(
        np.quantile(cosines, 0.95), abs=1e-6
    )
    own = (unit(QUERIES) @ unit(QUERIES).T)[np.triu_indices(70, 1)]
    assert found.value("query_query_cosine") == pytest.approx(own.mean(), abs=1e-6)
    moved = DOCUMENTS - DOCUMENTS.mean(axis=0)
    spread = np.sqrt((moved**2).sum(axis=1).mean())
    apart = np.linalg.norm(QUERIES.mean(axis=0) - DOCUMENTS.mean(axis=0)) / spread
    assert found.value("centre_distance") == pytest.approx(apart)
    assert found.value("centre_distance", "center") == pytest.approx(apart)
    assert found.value("centre_distance", "center (own centres)") == pytest.approx(0, abs=1e-9)


def test_sentences_tell_one_centre_from_two() -> None:
    apart = measure_queries(DOCUMENTS, QUERIES, "none,center").verdicts[0]["sentence"]
    assert "Queries have a centre of their own" in apart
    assert "With one centre for both, center leaves queries a mean cosine of 0." in apart
    together = measure_queries(DOCUMENTS, DOCUMENTS[:50], "none,center").verdicts[0]["sentence"]
    assert together.startswith("Queries and documents share a centre")


def test_one_point_has_no_spread() -> None:
    assert centre_distance(np.ones((5, 2)), np.zeros((5, 2))) is None


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="documents have 5 dimensions and queries 4"):
        measure_queries(DOCUMENTS, QUERIES[:, :4])
    with pytest.raises(UsageError, match="a sample has at least two rows"):
        measure_queries(DOCUMENTS, QUERIES, sample=1)
