"""Cosines of random pairs, with errors that hold."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.compute.stats.pair_cosines import PairCosines, first_half


def test_figures_are_those_of_the_pairs() -> None:
    rows = np.random.default_rng(0).normal(0.3, 1, (101, 6))
    rows[7] = 0
    found = PairCosines.of(rows, np.arange(101), 5)
    assert found.cosines.shape == (50, 51)
    first = first_half(np.arange(101), 5)
    wanted = []
    for i in np.flatnonzero(first):
        for j in np.flatnonzero(~first):
            size = np.linalg.norm(rows[i]) * np.linalg.norm(rows[j])
            wanted.append(rows[i] @ rows[j] / size if size else 0.0)
    np.testing.assert_allclose(found.cosines.ravel(), wanted, atol=1e-14)
    assert found.mean().value == pytest.approx(np.mean(wanted), abs=1e-14)
    assert found.share_above(0.4).value == pytest.approx(np.mean(np.array(wanted) > 0.4))
    limit = found.score_exceeded_by(0.01)
    assert (np.array(wanted) > limit).mean() == pytest.approx(0.01, abs=0.001)


@pytest.mark.parametrize("documents", [False, True])
def test_intervals_hold_the_truth(documents: bool) -> None:
    units = np.arange(300) // (5 if documents else 1)
    held = np.zeros(2)
    large = np.random.default_rng(1_000).normal(0.2, 1, (4_000, 10))
    if documents:  # the same spread, of which half is the document's
        large = np.random.default_rng(1_000).normal(0.2, np.sqrt(2), (4_000, 10))
    population = PairCosines.of(large, np.arange(4_000), 0)
    truth = [population.mean().value, population.share_above(0.5).value]
    for seed in range(200):
        random = np.random.default_rng(seed)
        rows = random.normal(0.2, 1, (300, 10))
        if documents:
            rows += random.standard_normal((60, 10))[units]
        found = PairCosines.of(rows, units, seed)
        for k, score in enumerate((found.mean(), found.share_above(0.5))):
            held[k] += (score.low or 0) <= (truth[k] or 0) <= (score.high or 0)
    # 95 % of 200 are 190, with an error of 3, and the truth has an error of its own.
    assert (held >= 180).all(), held


def test_rows_of_a_document_make_no_pair() -> None:
    units = np.repeat([4, 8, 15, 16, 23], [5, 20, 10, 10, 5])
    for seed in range(10):
        first = first_half(units, seed)
        assert not set(units[first]) & set(units[~first])
        assert 5 <= first.sum() <= 30
