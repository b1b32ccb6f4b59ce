from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.reads.moments import BINS, EDGES, count_norms, median_norm


@given(st.lists(st.floats(1e-20, 1e20), min_size=1, max_size=50))
def test_every_length_is_in_its_bin(lengths: list[float]) -> None:
    counts = count_norms(np.array(lengths))
    assert counts.sum() == len(lengths)
    for position in np.flatnonzero(counts):
        # A length within a rounding of an edge may fall on either side of it.
        inside = (np.array(lengths) >= EDGES[position] * (1 - 1e-14)) & (
            np.array(lengths) <= EDGES[position + 1] * (1 + 1e-14)
        )
        assert inside.sum() >= counts[position]


def test_edges_cover_all_lengths() -> None:
    assert len(EDGES) == BINS + 1
    assert (EDGES[0], EDGES[-1]) == (0.0, np.inf)
    assert (np.diff(EDGES) > 0).all()


@given(st.lists(st.floats(1e-8, 1e8), min_size=1, max_size=99))
def test_the_median_is_in_the_bin_of_the_median(lengths: list[float]) -> None:
    found = median_norm(count_norms(np.array(lengths)))
    assert found is not None
    low, high = (
        np.quantile(lengths, 0.5, method="lower"),
        np.quantile(lengths, 0.5, method="higher"),
    )
    assert low / 1.045 <= found <= high * 1.045


def test_no_median_of_nothing_or_of_lengths_outside_the_bins() -> None:
    assert median_norm(np.zeros(BINS, np.int64)) is None
    assert median_norm(count_norms(np.array([1e-20, 1e-20, 1.0]))) is None
    assert median_norm(count_norms(np.array([1e20, 1e20, 1.0]))) is None
