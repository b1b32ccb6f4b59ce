"""V-measure against scikit-learn, influences against leaving items out, and intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from isoscope.compute.stats.estimates import difference
from isoscope.compute.stats.v_measure import v_influences, v_measure
from isoscope.errors import UsageError

ITEMS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=4, max_size=40)


@given(ITEMS)
def test_values_are_scikit_learns(items: list[tuple[int, int]]) -> None:
    true, clusters = np.array(items).T
    found = v_measure(true, clusters)
    if len(np.unique(true)) < 2:
        assert found.note == "undefined: one class only"
        return
    assert found.value == pytest.approx(metrics.v_measure_score(true, clusters), abs=1e-12)


def drawn(rng: np.random.Generator, n: int, joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cells = rng.choice(joint.size, n, p=joint.ravel())
    return cells // joint.shape[1], cells % joint.shape[1]


def truth(joint: np.ndarray) -> float:
    """V of a distribution, from the definition by entropies."""

    def entropy(p: np.ndarray) -> float:
        return float(-np.sum(p[p > 0] * np.log(p[p > 0])))

    h, k = entropy(joint.sum(1)), entropy(joint.sum(0))
    shared = h + k - entropy(joint)
    homogeneity, completeness = shared / h, shared / k
    return 2 * homogeneity * completeness / (homogeneity + completeness)


GOOD = 0.75 * np.diag([0.4, 0.3, 0.2, 0.1]) + 0.25 * np.full((4, 4), 1 / 16)
MANY = 0.45 * np.diag([1 / 8] * 8) + 0.55 * np.full((8, 8), 1 / 64)  # a large bias
POOR = 0.35 * np.diag([0.25] * 4) + 0.65 * np.full((4, 4), 1 / 16)


def test_influence_is_what_leaving_an_item_out_does() -> None:
    true, clusters = drawn(np.random.default_rng(0), 60, GOOD)
    value, influences = v_influences(true, clusters)
    without = [
        metrics.v_measure_score(np.delete(true, i), np.delete(clusters, i)) for i in range(60)
    ]
    assert influences == pytest.approx(59 * (value - np.array(without)), abs=1e-10)


def test_the_mean_of_the_influences_is_minus_the_bias() -> None:
    rng = np.random.default_rng(1)
    found = [v_influences(*drawn(rng, 200, POOR)) for _ in range(400)]
    bias = np.mean([value for value, _ in found]) - truth(POOR)
    assert bias > 0.01
    assert -np.mean([one.mean() for _, one in found]) == pytest.approx(bias, rel=0.25)


@pytest.mark.parametrize("joint", [GOOD, POOR, MANY])
def test_intervals_cover(joint: np.ndarray) -> None:
    """1,000 intervals of 95 %: three standard deviations of the share are 2 points."""
    rng, true = np.random.default_rng(2), truth(joint)
    found = [v_measure(*drawn(rng, 200, joint)) for _ in range(1000)]
    assert 0.93 <= np.mean([one.low <= true <= one.high for one in found]) <= 0.97


def test_few_items_in_many_cells_have_differences_only() -> None:
    rng = np.random.default_rng(3)
    true, clusters = drawn(rng, 100, MANY)
    found = v_measure(true, clusters)
    assert (found.low, found.high) == (None, None)
    assert found.note == "no interval from fewer than 3 items for each of 64 cells"
    other = v_measure(true, np.where(rng.random(100) < 0.9, clusters, 0))
    assert difference(other, found).low is not None


def test_what_has_no_interval_says_why() -> None:
    true = np.array([0, 0, 1, 1, 1])
    nothing = v_measure(true, np.zeros(5, int))
    assert (nothing.value, nothing.low) == (0, None)
    assert "no item moves" in nothing.note
    perfect = v_measure(true, ["a", "a", "b", "b", "b"])
    assert perfect.value == pytest.approx(1)
    assert perfect.low is None
    assert v_measure([0, 1], [0, 1]).low is None
    assert v_measure([], []).value is None
    with pytest.raises(UsageError, match="one length"):
        v_measure([0, 1], [0])
