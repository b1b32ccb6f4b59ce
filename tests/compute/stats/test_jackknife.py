"""Errors from leaving out blocks, against formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.compute.stats.jackknife import BLOCKS, deal, jackknife_error

NUMBERS = st.lists(st.floats(-100, 100), min_size=2, max_size=30)


@given(NUMBERS)
def test_the_error_of_a_mean_is_its_standard_error(values: list[float]) -> None:
    without = [float(np.delete(values, k).mean()) for k in range(len(values))]
    expected = np.std(values, ddof=1) / np.sqrt(len(values))
    assert jackknife_error(without) == pytest.approx(float(expected), abs=1e-9)


@given(NUMBERS, st.floats(-5, 5), st.floats(-10, 10))
def test_an_error_scales_and_does_not_shift(
    values: list[float], scale: float, shift: float
) -> None:
    changed = [scale * value + shift for value in values]
    expected = abs(scale) * jackknife_error(values)
    assert jackknife_error(changed) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(st.integers(1, 300), st.integers(0, 5), st.integers(1, 20))
def test_blocks_are_as_even_as_possible(items: int, seed: int, blocks: int) -> None:
    counts = np.bincount(deal(items, seed, blocks), minlength=blocks)
    assert counts.sum() == items
    assert counts.max() - counts.min() <= 1


def test_blocks_are_dealt_at_random_and_the_same_way_again() -> None:
    assert (deal(100, 0) == deal(100, 0)).all()
    assert (deal(100, 0) != deal(100, 1)).any()
    assert (deal(100, 0) != np.arange(100) % BLOCKS).any()


def test_blocks_of_documents_see_what_documents_share() -> None:
    """Ten texts of a document that all say the same count once."""
    rng = np.random.default_rng(0)
    documents = rng.standard_normal(200)
    texts = documents.repeat(10)
    errors = [
        jackknife_error([texts[blocks != k].mean() for k in range(BLOCKS)])
        for blocks in (deal(200, 0).repeat(10), deal(2_000, 0))
    ]
    truth = documents.std(ddof=1) / np.sqrt(200)
    assert errors[0] == pytest.approx(truth, rel=0.5)
    assert errors[1] < truth / 2  # single texts look more certain than they are
