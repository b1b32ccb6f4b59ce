from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.context.massive_tokens import LISTED, MASSIVE, LongestTokens


def some_tokens(seed: int, rows: int, width: int = 5) -> tuple[np.ndarray, dict[str, Any]]:
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal((rows, width)).astype(np.float32)
    sentence = np.arange(rows) // 7
    labels = {
        "sentence": sentence,
        "position": np.arange(rows) % 7,
        "token id": draw.integers(0, 50, rows),
        "token": np.array([f"t{k}" for k in range(rows)], object),
    }
    return vectors, labels


def taken(vectors: np.ndarray, labels: dict[str, Any], parts: list[np.ndarray]) -> LongestTokens:
    longest = LongestTokens()
    for rows in parts:
        found = {name: values[rows] for name, values in labels.items()}
        norms = np.linalg.norm(vectors[rows].astype(np.float64), axis=1)
        longest.add(norms, vectors[rows], found, lambda found=found: found["token"])
    return longest


@given(st.integers(0, 50), st.integers(1, 90), st.integers(1, 40), st.booleans())
def test_the_longest_are_those_of_a_sort(seed: int, rows: int, size: int, ties: bool) -> None:
    vectors, labels = some_tokens(seed, rows)
    if ties:
        vectors[::7] = [9, 0, -30, 0, 0]  # as the first token of every text may be
    order = np.random.default_rng(seed).permutation(rows)
    parts = [order[first : first + size] for first in range(0, rows, size)]
    found = taken(vectors, labels, parts)
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    expected = sorted(range(rows), key=lambda row: (-norms[row], row))[:LISTED]
    assert [row["token"] for row in found.rows()] == [f"t{row}" for row in expected]
    for row, k in zip(found.rows(), expected, strict=True):
        largest = int(np.abs(vectors[k]).argmax())
        assert row["dimension"] == largest
        assert row["value"] == float(vectors[k, largest])
        assert row["norm"] == norms[k]
        assert (row["sentence"], row["position"]) == (k // 7, k % 7)
        assert row["token_id"] == labels["token id"][k]


@given(st.integers(0, 50), st.integers(1, 90), st.integers(0, 90), st.booleans())
def test_two_parts_merge_into_the_whole(seed: int, rows: int, cut: int, ties: bool) -> None:
    vectors, labels = some_tokens(seed, rows)
    if ties:
        vectors[::7] = [9, 0, -30, 0, 0]
    order = np.random.default_rng(seed).permutation(rows)
    whole = taken(vectors, labels, [order])
    one, other = (taken(vectors, labels, [part]) for part in (order[:cut], order[cut:]))
    merged = one.merge(other)
    assert merged.tokens == whole.tokens
    np.testing.assert_array_equal(merged.bins, whole.bins)


def test_massive_tokens_are_counted_against_the_median() -> None:
    vectors, labels = some_tokens(3, 2_001)
    vectors[::100] *= 100
    found = taken(vectors, labels, [np.arange(2_001)])
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert found.median == pytest.approx(np.median(norms), rel=0.045)
    assert found.massive == (norms > MASSIVE * np.median(norms)).sum() == 21
    assert found.rows()[0]["times_median"] == pytest.approx(norms.max() / found.median)


def test_zero_vectors_count_for_nothing() -> None:
    vectors, labels = some_tokens(4, 30)
    vectors[5:] = 0
    found = taken(vectors, labels, [np.arange(30)])
    assert found.counted == len(found.tokens) == 5


def test_a_state_there_and_back() -> None:
    vectors, labels = some_tokens(5, 60)
    labels["token"][3] = "\ud800 naïve 東京\x00"
    vectors[3] = 99
    found = taken(vectors, labels, [np.arange(60)])
    again = LongestTokens.from_arrays("x", found.to_arrays("x"))
    assert again.tokens == found.tokens
    np.testing.assert_array_equal(again.bins, found.bins)
    nothing = LongestTokens.from_arrays("x", LongestTokens().to_arrays("x"))
    assert nothing.tokens == []
