"""Queries and documents as two clouds."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.errors import UsageError
from isoscope.results.result import Row
from isoscope.verbs.measure.names import PART
from isoscope.verbs.measure.queries import centre_distance, measure_queries, sentences

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
    square = ((QUERIES.mean(axis=0) - DOCUMENTS.mean(axis=0)) ** 2).sum()
    noise = sum(one.var(axis=0, ddof=1).sum() / len(one) for one in (QUERIES, DOCUMENTS))
    # The variance of the documents is divided by n − 1 here.
    apart = np.sqrt((square - noise) / (spread**2 * 90 / 89))
    assert found.value("centre_distance") == pytest.approx(apart)
    assert found.value("centre_distance", "center") == pytest.approx(apart)
    assert found.value("centre_distance", "center (own centres)") == pytest.approx(0, abs=1e-9)


def test_sentences_tell_one_centre_from_two() -> None:
    apart = measure_queries(DOCUMENTS, QUERIES, "none,center").verdicts[0]["sentence"]
    assert "Queries have a centre of their own" in apart
    assert "With one centre for both, center leaves queries a mean cosine of 0." in apart
    more = RNG.normal(size=(2_000, 5)) + 2
    together = measure_queries(more[:1_000], more[1_000:], "none,center").verdicts[0]["sentence"]
    assert together.startswith("Queries and documents share a centre")


@pytest.mark.parametrize("seed", range(20))
def test_few_queries_of_the_same_cloud_have_no_centre_of_their_own(seed: int) -> None:
    """Their mean lies 0.22 spreads away by chance."""
    cloud = np.random.default_rng(seed).normal(size=(420, 16)) + 1
    said = measure_queries(cloud[:400], cloud[400:], "none,center").verdicts[0]["sentence"]
    assert "of their own" not in said
    assert "mean cosine" not in said


@given(st.floats(0, 0.5), st.floats(0, 0.3), st.floats(0, 0.3), st.booleans())
def test_sentences_agree_with_their_interval(
    value: float, below: float, above: float, known: bool
) -> None:
    low, high = (max(value - below, 0.0), value + above) if known else (None, None)
    row = Row("d", PART, "none", "centre_distance", value, low=low, high=high, n=30)
    (said,) = sentences([row])
    if said.startswith("Queries have a centre of their own"):
        assert low is not None
        assert low >= 0.2
    elif said.startswith("Queries and documents share a centre"):
        assert high is not None
        assert high < 0.2
    else:
        assert said.startswith("No statement on a centre of the queries")
        assert low is None or low < 0.2 <= high
    printed = re.search(r"([0-9.]+) \(([0-9.]+) to ([0-9.]+)\) of the documents", said)
    assert (printed is None) == (not known)
    if printed is not None:
        for text, number in zip(printed.groups(), (value, low, high), strict=True):
            assert (float(text) >= 0.2) == (number >= 0.2) or abs(number - 0.2) < 1e-6


def test_one_point_has_no_spread() -> None:
    found = centre_distance(np.ones((5, 2)), np.zeros((5, 2)))
    assert found.value is None
    assert found.note == "undefined: all documents are one point"
    assert centre_distance(DOCUMENTS, QUERIES[:5]).note == "no interval from fewer than 10 rows"


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="documents have 5 dimensions and queries 4"):
        measure_queries(DOCUMENTS, QUERIES[:, :4])
    with pytest.raises(UsageError, match="a sample must have at least two rows"):
        measure_queries(DOCUMENTS, QUERIES, sample=1)
