"""Errors of scores whose pairs share rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.compute.stats.class_scores import auc
from isoscope.compute.stats.estimates import (
    Difference,
    Estimate,
    design_effect,
    difference,
    p_value,
    widened,
)

PAIRS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(7, 12), st.floats(-3, 3)), min_size=2, max_size=25
)


@given(PAIRS)
def test_the_design_effect_is_the_sum_over_pairs_that_share_a_row(pairs) -> None:
    first, second = (np.array([pair[k] for pair in pairs], np.intp) for k in (0, 1))
    influences = np.array([pair[2] for pair in pairs])
    u = influences - influences.mean()
    alone = sum(u**2)
    if alone < 1e-6:
        return
    total = 0.0
    for i in range(len(u)):
        for j in range(len(u)):
            if {first[i], second[i]} & {first[j], second[j]}:
                total += u[i] * u[j]
    assert design_effect(influences, first, second) == pytest.approx(max(1.0, total / alone))


def test_pairs_that_share_nothing_have_none() -> None:
    influences = np.random.default_rng(0).normal(size=50)
    assert design_effect(influences, np.arange(50), 50 + np.arange(50)) == pytest.approx(1)
    assert design_effect(None, np.arange(50), np.arange(50)) == 1
    assert design_effect(np.ones(5), np.zeros(5, np.intp), np.arange(5)) == 1


def test_the_same_pair_twice_counts_once() -> None:
    influences = np.repeat(np.random.default_rng(0).normal(size=40), 2)
    rows = np.repeat(np.arange(40), 2)
    assert design_effect(influences, rows, 100 + rows) == pytest.approx(2)


def test_intervals_are_widened_on_their_scale() -> None:
    plain = Estimate(0.5, 0.4, 0.6, 100)
    wide = widened(plain, 4.0)
    assert wide.low is not None
    assert wide.high is not None
    odds = np.log(0.6 / 0.4)
    assert wide.high == pytest.approx(1 / (1 + np.exp(-2 * odds)))
    assert wide.low + wide.high == pytest.approx(1)
    near = widened(Estimate(0.99, 0.95, 0.998, 100), 4.0)
    assert near.high is not None
    assert near.high < 1
    assert widened(plain, 1.0) is plain
    nothing = Estimate(None, None, None, 0, "undefined")
    assert widened(nothing, 3.0) is nothing


def test_a_difference_keeps_its_test_in_step() -> None:
    found = Difference(0.1, 0.02, 0.18, 200, p_value=0.015)
    with pytest.raises(ValueError, match="needs the level of its interval"):
        widened(found, 4.0, None)  # which is not 0.95 because nobody says another
    wide = widened(found, 4.0, None, 0.95)
    assert (wide.low, wide.high) == (pytest.approx(-0.06), pytest.approx(0.26))
    from isoscope.compute.stats.estimates import quantile

    error = 2 * 0.08 / quantile(0.95, 200)
    assert wide.p_value == pytest.approx(p_value(0.1 / error, 200))
    assert wide.p_value is not None
    assert wide.p_value > 0.05


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_test_of_a_difference_does_not_depend_on_the_level_of_its_interval(level) -> None:
    rng = np.random.default_rng(3)
    labels, rows = np.repeat(np.arange(60) % 2, 2), np.repeat(np.arange(60), 2)
    plain, other = (
        auc(labels, labels + np.repeat(rng.normal(size=60), 2), level) for _ in range(2)
    )
    assert plain.influences is not None
    assert other.influences is not None
    change = difference(other, plain, level=level)
    moved = other.influences - plain.influences
    effect = design_effect(moved, rows, 100 + rows)
    assert effect > 1
    found = widened(change, effect, None, level)
    assert change.value is not None
    error = float(np.std(moved, ddof=1)) / np.sqrt(120) * np.sqrt(effect)
    assert found.p_value == pytest.approx(p_value(change.value / error, 120))
