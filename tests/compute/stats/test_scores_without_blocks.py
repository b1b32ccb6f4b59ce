"""Scores without blocks of items or of words: against leaving them out, and against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.compute.stats.estimates import spearman, standard_error
from isoscope.compute.stats.jackknife import (
    ITEM_BLOCKS,
    deal,
    jackknife_error,
    without_blocks,
    without_rows,
)

RNG = np.random.default_rng(0)
X = RNG.normal(0, 1, 600)
Y = 0.7 * X + RNG.normal(0, 1, 600)


def test_without_blocks_of_items() -> None:
    score = spearman(X, Y)
    assert score.value is not None
    assert score.influences is not None
    found = without_blocks(score.value, score.influences)
    assert found is not None
    blocks = deal(600, 0, ITEM_BLOCKS)
    expected = [spearman(X[blocks != k], Y[blocks != k]).value for k in range(ITEM_BLOCKS)]
    assert found == pytest.approx(expected, abs=1e-3)  # to first order
    assert jackknife_error(found) == pytest.approx(standard_error(score.influences), rel=0.5)


def test_too_few_items_and_words() -> None:
    assert without_blocks(0.5, np.zeros(39)) is None
    pair = (np.arange(19), np.arange(19, 38))
    assert without_rows(0.5, np.zeros(19), pair) is None


@pytest.mark.parametrize("of_words", [0.0, 1.0])
def test_a_word_in_many_pairs_is_one_word(of_words: float) -> None:
    """The mean of figures of pairs, which share what their words add to them, or share nothing."""
    rng = np.random.default_rng(1)
    words, pairs = 200, 1_000
    means, errors, plain = [], [], []
    for _ in range(200):
        first, second = rng.integers(0, words, (2, pairs))
        own = of_words * rng.normal(0, 1, words)
        values = own[first] + own[second] + rng.normal(0, 1, pairs)
        mean = float(values.mean())
        found = without_rows(mean, values - mean, (first, second))
        assert found is not None
        means.append(mean)
        errors.append(jackknife_error(found))
        plain.append(standard_error(values))
    truth, said = float(np.std(means)), float(np.sqrt(np.mean(np.square(errors))))
    assert 0.9 * truth < said < 1.65 * truth  # never too small, and at most √2 too large
    if of_words:
        assert np.mean(plain) < 0.7 * truth  # which is what pairs by themselves say
