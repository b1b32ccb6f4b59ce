"""Codes: what they find, against the same codes by hand."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted
from hypothesis import given
from hypothesis import strategies as st
from searched_by_hand import eight_bits, hamming, overlap, top, units

from isoscope.verbs.measure.search.directions import search_space
from isoscope.verbs.measure.search.indexes import Int8, by_bits, by_int8

faiss = pytest.importorskip("faiss")


def test_int8_is_256_steps_a_dimension() -> None:
    vectors = units(shifted(0, 200, 9)).astype(np.float32)
    rounded = Int8(vectors).rounded(vectors)
    steps = np.ptp(vectors, axis=0) / 255
    assert (np.abs(rounded - vectors) <= 0.501 * steps + 1e-7).all()
    np.testing.assert_allclose(rounded, eight_bits(vectors), atol=steps.max())
    assert max(len(np.unique(column)) for column in rounded.T) <= 256


@pytest.mark.parametrize("own", [True, False])
def test_int8_finds_what_a_search_in_codes_finds(own: bool) -> None:
    base = shifted(0, 400, 16)
    queries = None if own else shifted(1, 60, 16)
    space, _, _ = search_space(base, queries)
    found = by_int8(space, 20, 50)
    asked = units(base if own else queries)[:50].astype(np.float32)
    index = faiss.IndexScalarQuantizer(
        16, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.train(units(base).astype(np.float32))
    index.add(units(base).astype(np.float32))
    _, expected = index.search(asked, 21)
    if own:
        listed = [[row for row in rows if row != q][:20] for q, rows in enumerate(expected)]
        expected = np.array(listed)
    assert overlap(found, expected[:, :20]).mean() > 0.99
    rounded = Int8(units(base).astype(np.float32)).rounded(units(base).astype(np.float32))
    scores = asked.astype(np.float64) @ rounded.T.astype(np.float64)
    if own:
        scores[np.arange(50), np.arange(50)] = -np.inf
    assert overlap(found, top(scores, 20)).mean() > 0.999


@given(st.integers(0, 10_000), st.integers(30, 80), st.integers(1, 13), st.booleans())
def test_signs_find_the_nearest_by_hamming_distance_ties_by_row(
    seed: int, rows: int, width: int, own: bool
) -> None:
    random = np.random.default_rng(seed)
    base = random.standard_normal((rows, width)) + 0.5
    queries = None if own else random.standard_normal((11, width))
    space, _, _ = search_space(base, queries)
    found = by_bits(space, 12, 11)
    apart = hamming(base[:11] if own else queries, base).astype(float)
    if own:
        apart[np.arange(11), np.arange(11)] = np.inf
    assert (found == top(-apart, 12)).all()
