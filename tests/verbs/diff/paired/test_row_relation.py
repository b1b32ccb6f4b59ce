"""Whether the vectors tell that two clouds have the same rows."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.data.arrays import ArrayCloud
from isoscope.verbs.diff.paired.row_relation import (
    SAMPLE,
    relate_rows,
    relation,
    rotations,
    similarities,
)

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.standard_normal((300, 16)) * np.arange(1, 17) ** -0.5


def test_rows_of_another_model_are_the_same() -> None:
    other = np.tanh(ROWS @ RANDOM.standard_normal((16, 40)))
    other += 0.5 * RANDOM.standard_normal(other.shape)
    found = relation(ROWS, other)
    assert found.same
    assert found.aligned > 0.3


@pytest.mark.parametrize("rows", [20, 50, 250])
def test_unrelated_rows_are_not(rows: int) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        a, b = (random.standard_normal((rows, 16)) * np.arange(1, 17) ** -0.5 for _ in range(2))
        assert not relation(a, b).same


def test_rows_in_another_order_are_not() -> None:
    assert not relation(ROWS, ROWS[RANDOM.permutation(300)]).same


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_a_sorted_file_are_not(seed: int) -> None:
    """Topic by topic in both files, and no two rows the same."""
    random = np.random.default_rng(seed)
    topics = 2 * random.standard_normal((6, 16))[np.arange(300) // 50]
    a, b = (topics + random.standard_normal((300, 16)) for _ in range(2))
    found = relation(a, b)
    assert found.aligned > 0.5
    assert not found.same
    assert relation(a, a + random.standard_normal((300, 16))).same


def test_the_value_is_that_of_its_definition() -> None:
    a, b = ROWS[:30], ROWS[30:60]
    first, second = similarities(a), similarities(b)
    assert first is not None
    assert second is not None
    order = (np.arange(30) + 7) % 30
    wanted = (first * second[np.ix_(order, order)]).sum()
    assert rotations(first, second)[7] == pytest.approx(wanted, rel=1e-12)
    assert np.linalg.norm(first) == pytest.approx(1)


def test_constant_and_few_rows_say_nothing() -> None:
    assert relation(np.ones((50, 3)), ROWS[:50]).aligned is None
    assert not relation(np.ones((50, 3)), ROWS[:50]).same
    assert not relation(ROWS[:10], ROWS[:10] + 1e-3).same
    assert relation(ROWS[:10], ROWS[:10]).same


def test_both_clouds_give_the_same_rows_and_holes_are_left_out() -> None:
    rows = np.random.default_rng(1).standard_normal((3 * SAMPLE, 4))
    holes = rows + 0.01
    holes[::3] = np.nan
    found = relate_rows(ArrayCloud(rows, "a"), ArrayCloud(holes, "b"), seed=3)
    assert found.rows < SAMPLE
    assert found.same
