"""Holm's steps against their definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.compute.stats.significance import holm


def rejected(p_values: list[float], alpha: float) -> set[int]:
    """Step down: the smallest against α / m, the next against α / (m − 1), until one is larger."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found = set()
    for step, place in enumerate(order):
        if p_values[place] > alpha / (len(p_values) - step):
            break
        found.add(place)
    return found


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.001, 0.5))
def test_adjusted_values_are_rejected_as_the_steps_are(values: list[float], alpha: float) -> None:
    adjusted = holm(values)
    # Products and quotients round differently: a value on the very edge may go either way.
    if any(abs(value - alpha) < 1e-12 for value in adjusted):
        return
    assert {k for k, value in enumerate(adjusted) if value <= alpha} == rejected(values, alpha)


def test_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9]) == [0.9]
    assert holm([0.5, 0.6]) == [1.0, 1.0]
