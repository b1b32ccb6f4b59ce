"""GLUE's scores against their definitions, and predictions that are all the same."""

from __future__ import annotations

import math

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.verbs.train.finetune.label_tasks import judge_labels, judge_numbers

CLASSES = arrays.arrays(np.int64, 30, elements=st.integers(0, 1))
EVERY = ("accuracy", "f1", "matthews")


@given(CLASSES, CLASSES)
def test_scores_of_classes_are_their_definitions(true: np.ndarray, said: np.ndarray) -> None:
    found = judge_labels(true, said, EVERY).scores
    hit = int(((true == 1) & (said == 1)).sum())
    right = int(((true == 0) & (said == 0)).sum())
    false_alarm, miss = (
        int(((true == 0) & (said == 1)).sum()),
        int(((true == 1) & (said == 0)).sum()),
    )
    assert found["accuracy"] == pytest.approx((hit + right) / 30)
    whole = 2 * hit + false_alarm + miss
    assert found["f1"] == pytest.approx(2 * hit / whole if whole else 0)
    below = math.sqrt((hit + false_alarm) * (hit + miss) * (right + false_alarm) * (right + miss))
    wanted = (hit * right - false_alarm * miss) / below if below else 0
    assert found["matthews"] == pytest.approx(wanted, abs=1e-12)


def test_the_fingerprints_of_constant_predictions() -> None:
    """What a paper prints where a model says the same always: MRPC's F1 81.22, CoLA's 0."""
    mrpc = np.r_[np.ones(279, int), np.zeros(129, int)]
    found = judge_labels(mrpc, np.ones(408, int), ("f1", "accuracy"), ("0", "1"))
    assert found.constant
    assert found.scores["f1"] == pytest.approx(0.8122, abs=5e-5)
    assert found.notes == ("every prediction is 1",)
    assert judge_labels(mrpc, np.ones(408, int), ("matthews",)).scores["matthews"] == 0


def test_a_correlation_with_the_same_number_always_is_undefined() -> None:
    found = judge_numbers([1.0, 2.0, 3.0], [2.5, 2.5, 2.5], ("pearson", "spearman"))
    assert found.constant
    assert found.scores == {"pearson": None, "spearman": None}
    assert found.notes == ("undefined: every prediction is the same",)


def test_rounding_is_no_variation_and_a_small_one_is_noted() -> None:
    true = np.linspace(0, 5, 50)
    rounding = 2.5 + 1e-7 * np.sin(np.arange(50))
    assert judge_numbers(true, rounding, ("pearson",)).constant
    narrow = judge_numbers(true, 2.5 + 1e-3 * true, ("pearson",))
    assert not narrow.constant
    assert narrow.scores["pearson"] == pytest.approx(1)
    assert narrow.notes == ("predictions span 0.005 only",)


def test_correlations_are_their_definitions() -> None:
    chance = np.random.default_rng(0)
    true, said = chance.normal(size=40), chance.normal(size=40)
    found = judge_numbers(true, said, ("pearson", "spearman")).scores
    assert found["pearson"] == pytest.approx(np.corrcoef(true, said)[0, 1])
    ranks = [np.argsort(np.argsort(one)) for one in (true, said)]
    assert found["spearman"] == pytest.approx(np.corrcoef(*ranks)[0, 1])
