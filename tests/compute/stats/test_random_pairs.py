"""Cosines of random pairs, against definitions and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoscope.compute.stats.pair_cosines import RandomPairs
from isoscope.errors import DataError

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(60, 5)) + 0.7
QUERIES = RNG.normal(size=(40, 5)) - 0.2


def cosine(u, v) -> float:
    return float(u @ v / (np.linalg.norm(u) * np.linalg.norm(v)))


def test_every_pair_counts_once() -> None:
    found = RandomPairs.of(ROWS)
    slow = sorted(cosine(ROWS[i], ROWS[j]) for i in range(60) for j in range(i))
    assert found.count == len(slow) == 60 * 59 // 2
    # Cosines are kept in single precision.
    np.testing.assert_allclose(found.ordered, slow, atol=1e-6)
    assert found.mean_cosine().value == pytest.approx(np.mean(slow), abs=1e-6)


def test_queries_meet_every_row() -> None:
    found = RandomPairs.of(ROWS, QUERIES)
    slow = sorted(cosine(u, v) for u in QUERIES for v in ROWS)
    assert found.count == 40 * 60
    np.testing.assert_allclose(found.ordered, slow, atol=1e-6)


def test_shares_and_scores_are_those_of_the_sorted_pairs() -> None:
    found = RandomPairs.of(ROWS)
    values = found.ordered.astype(np.float64)
    for score in (0.0, 0.5, 0.8):
        assert found.share_above(score).value == np.mean(values >= score)
    for share in (0.5, 0.1, 0.02):
        assert found.score_at(share).value == pytest.approx(np.quantile(values, 1 - share))


def test_the_error_is_the_spread_over_many_samples() -> None:
    """The estimated variance, on average over samples, is that of the shares themselves."""
    rng = np.random.default_rng(6)
    for two_sided in (False, True):
        shares, variances = [], []
        for _ in range(400):
            rows = rng.normal(size=(50, 4)) + 0.5
            others = rng.normal(size=(50, 4)) - 0.5 if two_sided else None
            found = RandomPairs.of(rows, others)
            share = found.share_above(0.6).value
            assert share is not None
            shares.append(share)
            variances.append(found._error(np.float32(0.6), share) ** 2)
        # 400 samples know a variance to about a tenth; without its second-order term the estimate
        # would be off by a third here.
        assert np.mean(variances) == pytest.approx(np.var(shares, ddof=1), rel=0.2)


def test_the_mean_lies_in_its_interval_as_often_as_it_should() -> None:
    rng = np.random.default_rng(7)
    large = RandomPairs.of(rng.normal(size=(3000, 4)) + 0.5, rng.normal(size=(3000, 4)) - 0.5)
    true = large.mean_cosine().value
    inside = []
    for _ in range(300):
        few = RandomPairs.of(rng.normal(size=(60, 4)) + 0.5, rng.normal(size=(60, 4)) - 0.5)
        mean = few.mean_cosine()
        assert mean.low is not None
        assert mean.high is not None
        inside.append(mean.low <= true <= mean.high)
    # 95 % of 300, and three standard errors of that share.
    assert 0.91 <= np.mean(inside) <= 0.99


def test_intervals_lie_around_and_inside_the_bounds() -> None:
    found = RandomPairs.of(ROWS)
    share = found.share_above(0.8)
    assert share.low is not None
    assert share.high is not None
    assert share.value is not None
    assert 0 < share.low < share.value < share.high < 1
    score = found.score_at(0.1)
    assert score.low is not None
    assert score.high is not None
    assert score.value is not None
    assert score.low < score.value < score.high


def test_too_few_pairs_above_a_score_say_nothing() -> None:
    found = RandomPairs.of(ROWS)
    far = found.score_at(1e-4)
    assert far.value is None
    assert "fewer than 10 of 1,770 random pairs" in far.note
    none_above = found.share_above(1.0)
    assert none_above.value == 0
    assert none_above.low is None
    assert "0 of 1,770 pairs lie above" in none_above.note
    few = RandomPairs.of(ROWS[:20]).share_above(0.5)
    assert few.note == "no interval from fewer than 30 rows"


def test_zero_vectors_have_no_pair() -> None:
    with_zeros = np.concatenate([ROWS, np.zeros((3, 5))])
    assert RandomPairs.of(with_zeros).count == RandomPairs.of(ROWS).count
    with pytest.raises(DataError, match="fewer than two vectors have a direction"):
        RandomPairs.of(np.zeros((5, 3)))


def test_equal_vectors_are_all_at_one() -> None:
    found = RandomPairs.of(np.ones((40, 3)))
    assert found.score_at(0.5).value == pytest.approx(1.0)
    assert math.isclose(found.share_above(0.5).value or 0, 1.0)
