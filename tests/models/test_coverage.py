"""Coverage and Zipf's exponent against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.errors import DataError
from isoscope.models.frequencies import Coverage


def log_likelihood(counts: np.ndarray, exponent: float) -> float:
    ranks = np.arange(1, len(counts) + 1)
    shares = ranks**-exponent / (ranks**-exponent).sum()
    return float(counts @ np.log(shares))


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=40).filter(any))
def test_shares_and_numbers_against_slow_sums(counts: list[int]) -> None:
    found = Coverage.of(counts)
    ordered = sorted((count for count in counts if count), reverse=True)
    for first in (1, 2, 13, 100):
        assert found.share_of(first) == pytest.approx(sum(ordered[:first]) / sum(ordered))
    for share in (0.3, 0.5, 0.98, 1.0):
        slow = next(k for k in range(1, len(ordered) + 1)
                    if sum(ordered[:k]) * 100 >= round(share * 100) * sum(ordered))  # fmt: skip
        assert found.needed_for(share) == slow


def test_the_exponent_has_the_highest_likelihood() -> None:
    rng = np.random.default_rng(0)
    ranks = np.arange(1, 2_001)
    for true in (0.7, 1.0, 1.3):
        shares = ranks**-true / (ranks**-true).sum()
        counts = rng.multinomial(2_000_000, shares)
        found = Coverage.of(counts.tolist())
        exponent = found.zipf_exponent()
        assert exponent == pytest.approx(true, abs=0.01)  # sorting noise bends the tail a little
        best = log_likelihood(found.counts, exponent)
        for other in (exponent - 1e-3, exponent + 1e-3):
            assert log_likelihood(found.counts, other) < best


def test_extremes() -> None:
    assert Coverage.of([7]).zipf_exponent() is None
    assert Coverage.of([5, 5, 5]).zipf_exponent() == 0
    assert Coverage.of([10**15, 1]).zipf_exponent() == 20
    with pytest.raises(DataError, match="no words"):
        Coverage.of([0, 0])


def test_the_curve_rises_to_all() -> None:
    curve = Coverage.of(range(1, 500)).curve()
    shares = [point["share"] for point in curve]
    assert shares == sorted(shares)
    assert (curve[0]["words"], curve[-1]["words"], shares[-1]) == (1, 499, 1.0)
