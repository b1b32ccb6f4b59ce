"""The area under the ROC curve against scikit-learn and its definition, ties included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from isoscope.compute.stats.class_scores import auc
from isoscope.compute.stats.estimates import difference
from isoscope.errors import DataError, UsageError

ITEMS = st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=4, max_size=40)


@given(ITEMS)
def test_values_are_scikit_learns(items: list[tuple[bool, int]]) -> None:
    labels, scores = np.array(items).T
    found = auc(labels, scores)
    if len(np.unique(labels)) < 2:
        assert found.note == "undefined: one class only"
    elif len(np.unique(scores)) < 2:
        assert found.note == "undefined: all scores are the same"
    else:
        assert found.value == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12)


def drawn(
    rng: np.random.Generator, n: int, *, ties: bool, share: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    labels = rng.random(n) < share
    scores = rng.normal(size=n) + 1.2 * labels
    return labels, np.round(scores) if ties else scores


def truth(*, ties: bool) -> float:
    if not ties:
        return float(stats.norm.cdf(1.2 / math.sqrt(2)))
    edges = np.arange(-12.5, 13)
    no, yes = (np.diff(stats.norm.cdf(edges, loc=shift)) for shift in (0, 1.2))
    return float(np.sum(yes * (np.cumsum(no) - no / 2)))


@pytest.mark.parametrize("ties", [False, True])
def test_influence_is_what_leaving_an_item_out_does(ties: bool) -> None:
    labels, scores = drawn(np.random.default_rng(0), 40, ties=ties)
    found = auc(labels, scores)
    without = [metrics.roc_auc_score(np.delete(labels, i), np.delete(scores, i)) for i in range(40)]
    assert found.influences == pytest.approx(39 * (found.value - np.array(without)), abs=1e-10)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_intervals_cover(ties: bool, share: float) -> None:
    """1,000 intervals of 95 %: three standard deviations of the share are 2 points."""
    rng, true = np.random.default_rng(1), truth(ties=ties)
    found = [auc(*drawn(rng, 200, ties=ties, share=share)) for _ in range(1000)]
    assert 0.93 <= np.mean([one.low <= true <= one.high for one in found]) <= 0.97


def test_paired_differences_cover() -> None:
    rng = np.random.default_rng(2)
    shift = truth(ties=False) - float(stats.norm.cdf(0.6 / math.sqrt(2)))
    hits = []
    for _ in range(800):
        labels, scores = drawn(rng, 200, ties=False)
        noise = rng.normal(size=200)
        before = 0.6 * labels + math.sqrt(0.5) * ((scores - 1.2 * labels) + noise)
        found = difference(auc(labels, scores), auc(labels, before))
        hits.append(found.low <= shift <= found.high)
    assert 0.93 <= np.mean(hits) <= 0.97


def test_what_has_no_interval_and_what_is_refused() -> None:
    assert "bound" in auc([0, 0, 1, 1], [1, 2, 3, 4]).note
    assert "single item of a class" in auc([0, 0, 0, 1], [1, 5, 3, 4]).note
    with pytest.raises(DataError, match="1 for yes"):
        auc([0, 2], [1, 2])
    with pytest.raises(DataError, match="NaN"):
        auc([0, 1], [1, math.nan])
    with pytest.raises(UsageError, match="one length"):
        auc([0, 1], [1])
