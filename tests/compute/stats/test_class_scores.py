"""F1 and Matthews' correlation against scikit-learn, influences against leaving items out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from isoscope.compute.stats.class_scores import f1_score, matthews, matthews_influences
from isoscope.compute.stats.estimates import difference, pearson, pearson_influences

CLASSES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=40)


def drawn(
    rng: np.random.Generator, n: int, shares: tuple[float, ...], right: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw classes, and predictions of which a share is right and the others drawn alike."""
    true = rng.choice(len(shares), n, p=shares)
    guessed = rng.choice(len(shares), n, p=shares)
    return true, np.where(rng.random(n) < right, true, guessed)


@given(CLASSES)
def test_values_are_scikit_learns(items: list[tuple[int, int]]) -> None:
    true, said = np.array(items).T
    classes = np.unique(true)
    if len(classes) < 2:
        assert f1_score(true, said).value is None
        assert matthews(true, said).note == "undefined: one class only"
        return
    expected = metrics.f1_score(true, said, labels=classes, average="macro")
    assert f1_score(true, said).value == pytest.approx(expected, abs=1e-12)
    one = metrics.f1_score(true == classes[0], said == classes[0])
    assert f1_score(true, said, positive=classes[0]).value == pytest.approx(one, abs=1e-12)
    if len(np.unique(said)) < 2:
        assert matthews(true, said).value is None
        return
    expected = metrics.matthews_corrcoef(true, said)
    assert matthews(true, said).value == pytest.approx(expected, abs=1e-12)


def test_labels_may_be_words() -> None:
    true, said = drawn(np.random.default_rng(0), 50, (0.5, 0.5), 0.6)
    words = np.array(["no", "yes"])
    assert f1_score(words[true], words[said], positive="yes").value == (
        f1_score(true, said, positive=1).value
    )
    assert matthews(words[true], words[said]).low == matthews(true, said).low


@pytest.mark.parametrize("shares", [(0.7, 0.3), (0.5, 0.3, 0.2)])
def test_matthews_influence_is_what_leaving_an_item_out_does(shares: tuple[float, ...]) -> None:
    true, said = drawn(np.random.default_rng(1), 60, shares, 0.5)
    value, influences = matthews_influences(true, said)
    without = [metrics.matthews_corrcoef(np.delete(true, i), np.delete(said, i)) for i in range(60)]
    assert influences == pytest.approx(59 * (value - np.array(without)), abs=1e-9)


def test_two_classes_are_pearsons_correlation() -> None:
    true, said = drawn(np.random.default_rng(2), 80, (0.6, 0.4), 0.5)
    found, expected = matthews(true, said), pearson(true, said)
    assert found.low == pytest.approx(expected.low, abs=1e-12)
    assert found.high == pytest.approx(expected.high, abs=1e-12)
    alone = np.array([0, 0, 0, 0, 1])  # without its last item one class is left
    other = np.array([0, 1, 0, 0, 1])
    _, influences = matthews_influences(alone, other)
    _, expected_influences = pearson_influences(alone.astype(float), other.astype(float))
    assert influences == pytest.approx(expected_influences, abs=1e-12)


@pytest.mark.parametrize("positive", [None, 1])
def test_f1s_influence_is_what_leaving_an_item_out_does_to_first_order(
    positive: int | None,
) -> None:
    n = 2000
    true, said = drawn(np.random.default_rng(3), n, (0.5, 0.3, 0.2), 0.5)
    found = f1_score(true, said, positive=positive)
    places = np.arange(0, n, 40)
    without = [
        f1_score(np.delete(true, i), np.delete(said, i), positive=positive).value for i in places
    ]
    assert found.influences is not None
    assert found.influences.mean() == pytest.approx(0, abs=1e-12)
    moved = (n - 1) * (found.value - np.array(without, float))
    assert found.influences[places] == pytest.approx(moved, abs=5e-3)


def test_what_has_no_value_or_no_interval_says_why() -> None:
    true = np.array([0, 1, 0, 1, 0, 1])
    assert "only one class is predicted" in matthews(true, np.zeros(6, int)).note
    assert "no item belongs to the class 7" in f1_score(true, true, positive=7).note
    missed = f1_score(true, np.zeros(6, int), positive=1)
    assert (missed.value, missed.low) == (0, None)
    assert "bound" in missed.note
    assert f1_score(true, true).value == 1
    assert matthews(true, 1 - true).value == pytest.approx(-1)
    assert matthews([], []).value is None
    assert difference(matthews(true, np.zeros(6, int)), matthews(true, true)).value is None


SHARES = (0.5, 0.3, 0.2)
RIGHT = 0.6


def true_f1(one: int) -> float:
    # Predictions have the classes' own shares, so that precision and recall are equal.
    return RIGHT + (1 - RIGHT) * SHARES[one]


@pytest.mark.parametrize(
    ("score", "options", "truth"),
    [
        (f1_score, {}, float(np.mean([true_f1(k) for k in range(3)]))),
        (f1_score, {"positive": 2}, true_f1(2)),
        (matthews, {}, RIGHT),  # the share of items that agree beyond chance
    ],
)
def test_intervals_cover(score: Any, options: dict[str, Any], truth: float) -> None:
    """1,000 intervals of 95 %: three standard deviations of the share are 2 points."""
    rng = np.random.default_rng(4)
    found = [score(*drawn(rng, 200, SHARES, RIGHT), **options) for _ in range(1000)]
    assert 0.93 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.97


@pytest.mark.parametrize("score", [f1_score, matthews])
def test_paired_differences_cover(score: Any) -> None:
    """Two predictions of which the second knows 0.6, the first 0.5 of the classes, mostly alike."""
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(800):
        true, after = drawn(rng, 200, SHARES, RIGHT)
        guessed = rng.choice(3, 200, p=SHARES)
        before = np.where(rng.random(200) < 5 / 6, after, guessed)
        found = difference(score(true, after), score(true, before))
        shift = 0.1 * (1 - np.mean(SHARES)) if score is f1_score else 0.1
        hits.append(found.low <= shift <= found.high)
    assert 0.93 <= np.mean(hits) <= 0.97
