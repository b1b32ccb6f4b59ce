"""Thresholds for a goal, against definitions and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from isoscope.errors import UsageError
from isoscope.verbs.threshold.goals import BestF1, Cuts, Precision, Recall, tail

PAIRS = st.lists(
    st.tuples(st.integers(-8, 8).map(lambda k: k / 8), st.booleans()), min_size=2, max_size=60
).map(lambda pairs: (np.array([s for s, _ in pairs]), np.array([y for _, y in pairs])))


@given(PAIRS)
def test_cuts_count_what_a_threshold_accepts(pairs) -> None:
    cosines, labels = pairs
    cuts = Cuts.of(cosines, labels)
    assert len(cuts.thresholds) == len(np.unique(cosines))
    for threshold, accepted, right in zip(cuts.thresholds, cuts.accepted, cuts.right, strict=True):
        chosen = cosines >= threshold
        assert accepted == chosen.sum()
        assert right == labels[chosen].sum()


@given(PAIRS)
def test_the_best_f1_is_the_highest_of_all(pairs) -> None:
    cosines, labels = pairs
    found = BestF1().choose(cosines, labels)
    if not labels.any():
        assert found.threshold is None
        return
    assert found.threshold is not None

    def f1(threshold: float) -> float:
        said = cosines >= threshold
        return 2 * (said & labels).sum() / (said.sum() + labels.sum())

    assert f1(found.threshold) == max(f1(score) for score in cosines)


def test_precision_stops_before_it_first_falls_too_low() -> None:
    # Ten yeses, two noes, then twenty yeses: 10/12 is below 0.9, though 30/32 is above it.
    labels = np.array([True] * 10 + [False] * 2 + [True] * 20)
    cosines = np.linspace(1, 0, 32)
    found = Precision(0.9).choose(cosines, labels)
    assert found.threshold is not None
    assert (cosines >= found.threshold).sum() == 11  # 10/11 is 0.909
    assert Precision(0.8).choose(cosines, labels).threshold == 0.0


def test_recall_counts_the_pair_to_come() -> None:
    labels = np.ones(19, np.bool_)
    cosines = np.linspace(1, 0, 19)
    found = Recall(0.9).choose(cosines, labels)
    assert found.threshold is not None
    assert (cosines >= found.threshold).sum() == 18  # 18 / 20 = 0.9
    few = Recall(0.9).choose(cosines[:8], labels[:8])
    assert few.threshold is None
    assert few.note == "8 matches are too few for a recall of 0.9: there should be 9"


def test_a_confident_recall_is_a_tolerance_limit() -> None:
    cosines, labels = np.linspace(1, 0, 100), np.ones(100, np.bool_)
    found = Recall(0.9, 0.95).choose(cosines, labels)
    assert found.threshold is not None
    accepted = int((cosines >= found.threshold).sum())
    assert binom.sf(accepted - 1, 100, 0.9) <= 0.05 < binom.sf(accepted - 2, 100, 0.9)
    few = Recall(0.9, 0.95).choose(cosines[:28], labels[:28])
    assert (
        few.note
        == "28 matches are too few for a recall of 0.9 with 95 % confidence: there should be 29"
    )


def test_the_tail_is_the_binomial_one() -> None:
    successes, trials = np.array([0, 1, 5, 10]), np.array([10, 10, 10, 10])
    np.testing.assert_allclose(
        tail(successes, trials, 0.3), binom.sf(successes - 1, trials, 0.3), rtol=1e-12
    )


def true_precision(threshold: float) -> float:
    yes, no = 0.4 * norm.sf(threshold - 2.5), 0.6 * norm.sf(threshold)
    return float(yes / (yes + no))


@pytest.mark.parametrize("goal", [Precision(0.9), Precision(0.9, 0.95)], ids=lambda g: g.words)
def test_precision_is_reached_on_pairs_to_come(goal: Precision) -> None:
    """On average without a confidence; with one, in all but a twentieth of the runs."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        labels = rng.random(600) < 0.4
        chosen = goal.choose(rng.normal(size=600) + 2.5 * labels, labels)
        if chosen.threshold is not None:
            found.append(true_precision(chosen.threshold))
    assert len(found) > 150
    if goal.confidence is None:
        # The mean of 200 runs is known to 0.002.
        assert 0.895 < np.mean(found) < 0.92
    else:
        # 5 % of 200 runs, and two and a half standard errors of that share.
        assert np.mean(np.array(found) < 0.9) <= 0.09


def test_what_cannot_be_found_is_said() -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(200) < 0.3
    noise = rng.normal(size=200)
    found = Precision(0.95).choose(noise, labels)
    assert found.threshold is None
    assert "the highest precision of 10 or more accepted pairs is" in found.note
    few = Precision(0.95).choose(noise[:8], labels[:8])
    assert few.note.startswith("8 pairs are too few for a precision of 0.95: at least 10")
    sure = Precision(0.95, 0.9).choose(noise[:40], labels[:40])
    fewest = math.ceil(math.log(0.1 / 5) / math.log(0.95))
    assert f"at least {fewest}" in sure.note
    assert BestF1().choose(noise, np.zeros(200, np.bool_)).note == "no pair is a yes"


def test_shares_are_shares() -> None:
    with pytest.raises(UsageError, match="a precision must lie between 0 and 1, got 1"):
        Precision(1.0)
    with pytest.raises(UsageError, match="a recall must lie between 0 and 1, got 0"):
        Recall(0.0)
    with pytest.raises(UsageError, match="a confidence must lie between 0 and 1, got 95"):
        Recall(0.5, 95)
