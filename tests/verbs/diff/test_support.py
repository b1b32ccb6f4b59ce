"""Shares outside the support: against the definition, and where clouds are equal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from isoscope.verbs.diff import support
from isoscope.verbs.diff.support import outside


def test_strangeness_is_the_distance_to_the_fifth_neighbour() -> None:
    random = np.random.default_rng(0)
    rows, reference = random.normal(50, 1, (700, 6)), random.normal(50, 1, (40, 6))
    wanted = np.sort(cdist(rows, reference), axis=1)[:, support.NEIGHBOUR - 1]
    # Squares by products lose digits to the sizes of the rows, which are centred first.
    np.testing.assert_allclose(support.strangeness(rows, reference), wanted, rtol=1e-9)


def test_the_limit_is_the_conformal_quantile() -> None:
    own = np.arange(1.0, 100.0)  # 99 held-out rows: the 95th of them is the limit
    other = np.array([94.0, 95.0, 95.5, 200.0])
    found = support.share_outside(own, other, [(np.ones(99), np.ones(4))], 0.95)
    assert found.value == 0.5
    assert found.low == found.high == 0.5
    assert support.share_outside(own, other, [(np.ones(99), np.ones(4))], 0.99).value == 0.25
    few = support.share_outside(own[:50], other, [], 0.99)
    assert few.value is None
    assert "needs 99 held-out rows, and there are 50" in few.note


@pytest.mark.parametrize("paired", [False, True])
def test_of_equal_clouds_a_twentieth_is_outside(
    paired: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares, missed = [], 0
    monkeypatch.setattr(support, "RESAMPLES", 200)
    for seed in range(40):
        random = np.random.default_rng(seed)
        common = random.standard_normal((400, 8)) if paired else 0
        a, b = (random.standard_normal((400, 8)) + common for _ in range(2))
        units = np.arange(400)
        found = outside(a, units, b, units, paired=paired, seed=seed)[0]
        shares.append(found.value)
        missed += not (found.low or 0) <= 0.05 <= (found.high or 0)
    # One share has a standard deviation of 0.02 at most, their mean one of 0.003.
    assert np.mean([share or 0 for share in shares]) == pytest.approx(0.05, abs=0.01)
    assert missed <= 7


def test_what_lies_elsewhere_is_found() -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((1_000, 8))
    b = random.standard_normal((1_000, 8))
    b[:300] += 20
    units = np.arange(1_000)
    found = outside(a, units, b, units, paired=False)[0]
    assert found.value == pytest.approx(0.3 + 0.7 * 0.05, abs=0.03)
    assert (found.low or 0) < found.value < (found.high or 0)


def test_documents_are_held_out_as_a_whole() -> None:
    random = np.random.default_rng(0)
    units = np.repeat(np.arange(40), 30)
    # Rows of a document are almost the same: if some were reference, the others would be near.
    a, b = (
        random.standard_normal((40, 4))[units] + 0.001 * random.standard_normal((1_200, 4))
        for _ in range(2)
    )
    found = outside(a, units, b, units, paired=False)[0]
    assert (found.low or 0) <= 0.05 <= (found.high or 0)
    apart = outside(a, np.arange(1_200), b, np.arange(1_200), paired=False)[0]
    assert (apart.value or 0) > 0.9


def test_a_share_differs_where_that_is_significant_and_not_negligible() -> None:
    random = np.random.default_rng(0)
    units = np.arange(1_000)
    a, b = random.standard_normal((2, 1_000, 4))
    assert [one.differs for one in outside(a, units, b, units, paired=False)] == [0, 0]
    assert outside(a, units, 2 * b, units, paired=False)[0].differs == 1
    assert outside(a, units, b / 4, units, paired=False)[0].differs == -1
    # All of a cloud is as far outside itself as it should be, to one row.
    assert outside(a, units, a + 1e-9, units, paired=True)[0].differs == 0
