from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.context.occurrences import OccurrencePool

WIDTHS = {"one": 2, "two": 3}


def offered(pool: OccurrencePool, words: np.ndarray, keys: np.ndarray) -> None:
    """Offer vectors that tell their word, key and layer."""

    def fetch(name: str, chosen: np.ndarray) -> np.ndarray:
        vectors = np.full((len(chosen), WIDTHS[name]), len(name), np.float32)
        vectors[:, 0] = words[chosen]
        vectors[:, 1] = keys[chosen]
        return vectors

    pool.offer(words.astype(np.uint64), keys.astype(np.uint64), fetch)


def expected(words: np.ndarray, keys: np.ndarray, capacity: int, per: int, count: int, least: int):
    """Choose by the rule, knowing everything: words by hash until memory or words run out."""
    chosen, used, frequent = [], 0, 0
    for word in np.unique(words):
        lowest = np.sort(keys[words == word])[:per]
        used += len(lowest)
        if used > capacity or frequent == count:
            break
        frequent += len(lowest) >= least
        chosen.append((int(word), lowest.tolist()))
    return chosen


def held(pool: OccurrencePool, layer: str) -> list[tuple[int, list[float]]]:
    found = []
    for vectors in pool.groups(layer):
        assert len(set(vectors[:, 0].tolist())) == 1
        found.append((int(vectors[0, 0]), vectors[:, 1].tolist()))
    return found


@given(
    st.integers(0, 200),
    st.integers(1, 60),
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(1, 8),
    st.integers(1, 5),
)
def test_what_is_kept_follows_from_all_occurrences(
    seed: int, size: int, capacity: int, per_word: int, words: int, minimum: int
) -> None:
    draw = np.random.default_rng(seed)
    hashes = draw.choice(1_000, 12, replace=False)[np.minimum(draw.zipf(1.4, 80), 12) - 1]
    keys = draw.permutation(80) + 1
    pool = OccurrencePool(WIDTHS, capacity, per_word, words, minimum)
    for first in range(0, 80, size):
        offered(pool, hashes[first : first + size], keys[first : first + size])
        assert len(pool) <= capacity
    rule = expected(hashes, keys, capacity, per_word, words, minimum)
    for layer in WIDTHS:
        assert held(pool, layer) == rule


def test_lower_words_alone_are_left() -> None:
    pool = OccurrencePool(WIDTHS, 50, 5, 9, 1)
    offered(pool, np.array([5, 7, 9, 5]), np.arange(4))
    pool.lower(7)
    offered(pool, np.array([9, 8, 7]), np.arange(4, 7))
    assert held(pool, "one") == [(5, [0, 3]), (7, [1, 6])]


@given(
    st.integers(0, 200),
    st.integers(0, 80),
    st.integers(0, 40),
    st.integers(1, 6),
    st.integers(1, 8),
    st.integers(1, 5),
)
def test_pools_of_two_parts_make_that_of_the_whole(
    seed: int, cut: int, capacity: int, per_word: int, words: int, minimum: int
) -> None:
    draw = np.random.default_rng(seed)
    hashes = draw.choice(1_000, 12, replace=False)[np.minimum(draw.zipf(1.4, 80), 12) - 1]
    keys = draw.permutation(80) + 1
    whole, one, other = (
        OccurrencePool(WIDTHS, capacity, per_word, words, minimum) for _ in range(3)
    )
    for pool, parts in ((whole, (0, 80)), (one, (0, cut)), (other, (cut, 80))):
        for first in range(*parts, 9):
            last = min(first + 9, parts[1])
            offered(pool, hashes[first:last], keys[first:last])
    one.add(other)
    for name, array in whole.to_arrays("x").items():
        np.testing.assert_array_equal(one.to_arrays("x")[name], array, err_msg=name)


def test_no_limit_of_a_word_outlives_it() -> None:
    pool = OccurrencePool(WIDTHS, 50, 2, 9, 1)
    offered(pool, np.array([5, 7, 5, 7]), np.arange(4))
    pool.lower(6)
    arrays = pool.to_arrays("x")
    assert arrays["x.full_words"].tolist() == [5]
    assert arrays["x.full_keys"].tolist() == [2]


@pytest.mark.parametrize("stop", [0, 3, 7])
def test_a_state_there_and_back(stop: int) -> None:
    draw = np.random.default_rng(1)
    whole, part = (OccurrencePool(WIDTHS, 20, 4, 5, 2) for _ in range(2))
    parts = [(draw.integers(0, 9, 6), draw.integers(0, 10**6, 6)) for _ in range(7)]
    for words, keys in parts:
        offered(whole, words, keys)
    for words, keys in parts[:stop]:
        offered(part, words, keys)
    resumed = OccurrencePool(WIDTHS, 20, 4, 5, 2)
    resumed.load("x", part.to_arrays("x"))
    for words, keys in parts[stop:]:
        offered(resumed, words, keys)
    for name, array in whole.to_arrays("x").items():
        np.testing.assert_array_equal(resumed.to_arrays("x")[name], array)
