"""Sentences of advice agree with the intervals that they stand beside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from screens_for_tests import screen_lines, words_of

from isoscope.compute.stats.estimates import Score, mean_score
from isoscope.compute.stats.significance import holm
from isoscope.corrections.named import named
from isoscope.results.fields import KIND
from isoscope.results.result import Result
from isoscope.tasks.cross_fitting import Candidate, CrossFitted
from isoscope.tasks.problem import Items, Problem
from isoscope.tasks.vectors import Ground
from isoscope.verbs.advise.api import advice_rows
from isoscope.verbs.advise.decision import Decision, decide, holm_levels
from isoscope.verbs.advise.mean_cosines import MeanCosine
from isoscope.verbs.advise.text import ADVICE, caveats, recommendation

NAMES = ("center", "center-scaled", "standardize", "all-but-the-top", "whiten")
COSINES = {"none": {"vectors": MeanCosine(0.5, 100)}}


@dataclass(frozen=True)
class Means(Problem):
    """Items whose outputs are their scores."""

    count: int
    main: str = "mean"
    task: str = "toy"
    unit: str = "pairs"
    texts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.count

    def rows_of(self, items: Items) -> Items:
        return items

    def outputs(self, vectors: Any, learn: Items, held: Items) -> np.ndarray:
        raise NotImplementedError

    def scores(self, outputs: np.ndarray, items: Items, level: float) -> Mapping[str, Score]:
        del items
        return {self.main: mean_score(outputs, level)}


def tried(name: str, outputs: np.ndarray) -> CrossFitted:
    one = named([name])
    return CrossFitted(Candidate(name, one), outputs, (name,), one[0])


def decided(
    gains: list[float],
    noise: float,
    items: int,
    worthwhile: float,
    level: float,
    seed: int,
    main: str = "mean",
) -> tuple[Means, Decision]:
    """Decide about corrections that gain so much, with so much noise."""
    random = np.random.default_rng(seed)
    before = random.uniform(0.4, 0.6, items)
    found = [
        tried(name, np.clip(before + gain + noise * random.standard_normal(items), 0, 1))
        for name, gain in zip(NAMES, gains, strict=False)
    ]
    problem = Means(items, main)
    return problem, decide(problem, before, found, level=level, worthwhile=worthwhile)


def sentence_of(problem: Means, decision: Decision) -> str:
    chosen = decision.recommended
    return recommendation(problem, decision, None if chosen is None else chosen.found.final)


DECISIONS = st.builds(
    decided,
    gains=st.lists(st.sampled_from([-0.05, -0.004, 0.0, 0.002, 0.008, 0.012, 0.05]),
                   min_size=1, max_size=5),
    noise=st.sampled_from([0.0, 0.003, 0.02, 0.1, 0.4]),
    items=st.integers(20, 200),
    worthwhile=st.sampled_from([0.0, 0.01, 0.03]),
    level=st.sampled_from([0.8, 0.95, 0.99]),
    seed=st.integers(0, 10_000),
    main=st.sampled_from(["mean", "toy/auc"]),
)  # fmt: skip
INTERVAL = re.compile(r"([+-]\d\.\d+) \(([+-]\d\.\d+) to ([+-]\d\.\d+)\)")


@given(DECISIONS)
@settings(max_examples=300, deadline=None)
def test_an_interval_excludes_zero_exactly_where_the_gain_is_significant(
    found: tuple[Means, Decision],
) -> None:
    _, decision = found
    for one in decision.tried:
        low, high = one.change.low, one.change.high
        if low is not None and high is not None and abs(one.p_holm - decision.alpha) > 1e-9:
            assert decision.significant(one) == (low > 0 or high < 0)


@given(DECISIONS)
@settings(max_examples=500, deadline=None)
def test_no_sentence_stands_beside_an_interval_that_says_otherwise(
    found: tuple[Means, Decision],
) -> None:
    problem, decision = found
    sentence = sentence_of(problem, decision)
    limit = decision.worthwhile
    highs = [one.change.high for one in decision.tried if one.change.high is not None]
    printed = [tuple(map(float, one)) for one in INTERVAL.findall(sentence)]
    if sentence.startswith("Leave it alone"):
        assert all(high < limit or high <= 0 for high in highs)
        assert all(high < limit or high <= 0 for _, _, high in printed)
    if "significant but negligible" in sentence:
        (_, low, high), *_ = printed
        assert low > 0
        assert high < limit
        assert f"{limit:g} or more" in sentence
    if "no correction gains significantly" in sentence:
        assert not any(one.change.low is not None and one.change.low > 0 for one in decision.tried)
        assert all(low <= 0 for _, low, _ in printed)
    if "cannot be excluded" in sentence:
        most = float(re.findall(r"up to ([+-]\d\.\d+)", sentence)[0])
        assert most >= limit
        assert most == pytest.approx(max(highs), abs=5.1e-5)
    if sentence.startswith("Use "):
        assert decision.recommended is not None
        assert decision.recommended.gain >= limit
        assert all(low > 0 for _, low, _ in printed)
        if problem.main.endswith("auc"):
            assert decision.recommended.score.low is None or decision.recommended.score.low > 0.5
    if "not significantly more than chance" in sentence:
        ends = re.search(r"scores \S+ \((\S+) to (\S+)\)", sentence)
        assert ends is not None
        assert float(ends[1]) <= 0.5
    for line in caveats(problem, decision, COSINES):
        ends = [tuple(map(float, one)) for one in INTERVAL.findall(line)]
        if line.startswith("Whitening loses"):
            assert all(high < 0 for _, _, high in ends)
        if "not rankings" in line:
            assert all(-limit < low and high < limit for _, low, high in ends)
            assert not sentence.startswith("Use ")


@given(DECISIONS)
@settings(max_examples=200, deadline=None)
def test_no_line_of_the_screen_says_otherwise_than_its_interval(
    found: tuple[Means, Decision],
) -> None:
    problem, decision = found
    rows = advice_rows(Ground(problem, np.zeros((2, 2)), "toy", ""), decision, "")
    told = {"sentence": sentence_of(problem, decision), "alpha": decision.alpha}
    lines = screen_lines(Result(rows, extra={KIND: ADVICE, "recommendation": told}))
    assert told["sentence"] in words_of(lines)
    for one in decision.tried:
        (line,) = [line for line in lines if line.startswith(f"  {one.name} ")]
        low, high = one.change.low, one.change.high
        if low is None or high is None or abs(one.p_holm - decision.alpha) < 1e-9:
            continue
        assert ("not significant" in line) == (low <= 0 <= high)
        assert ("significant loss" in line) == (high < 0)
        if line.endswith("recommended"):
            assert low > 0
            assert one.gain >= decision.worthwhile
            assert told["sentence"].startswith(f"Use {one.name}")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.sampled_from([0.01, 0.05, 0.2]))
def test_levels_are_those_at_which_holm_tests(p_values: list[float], alpha: float) -> None:
    levels = holm_levels(p_values, alpha)
    assert min(levels) >= 1 - alpha - 1e-12
    assert max(levels) == pytest.approx(1 - alpha / len(p_values))
    rejected = [p <= 1 - level for p, level in zip(p_values, levels, strict=True)]
    for p, adjusted, reject in zip(p_values, holm(p_values), rejected, strict=True):
        assert reject == (adjusted <= alpha) or abs(adjusted - alpha) < 1e-9 or p < 1e-300


@pytest.mark.parametrize(
    ("gains", "noise", "items", "outcome", "said"),
    [
        ([0.05], 0.02, 100, "use", "Use center"),
        ([0.0], 0.02, 2_000, "leave it alone", "is excluded for the correction; center comes near"),
        ([0.003, 0.0], 0.02, 4_000, "negligible", "is significant but negligible; a gain of 0.01"),
        ([0.0, 0.0], 0.2, 50, "undecided", "no correction gains significantly"),
        ([0.01], 0.03, 200, "undecided", "center gains significantly on toy mean"),
    ],
)
def test_each_outcome_has_its_sentence(
    gains: list[float], noise: float, items: int, outcome: str, said: str
) -> None:
    problem, decision = decided(gains, noise, items, 0.01, 0.95, 1)
    assert decision.outcome == outcome
    assert said in sentence_of(problem, decision)


def test_what_scores_no_more_than_chance_is_not_recommended() -> None:
    """Random labels: a correction moves the AUC from 0.45 to 0.50."""
    low = np.random.default_rng(0).uniform(0.35, 0.55, 100)
    problem = Means(100, "toy/auc")
    found = [tried("center", low + np.random.default_rng(1).uniform(0.03, 0.07, 100))]
    decision = decide(problem, low, found)
    assert decision.recommended is None
    assert decision.outcome == "undecided"
    said = sentence_of(problem, decision)
    assert said.startswith("No recommendation: center gains significantly on toy toy/auc")
    assert said.endswith("which is not significantly more than chance (0.5).")
    assert decide(Means(100), low, found).recommended is not None


def test_ends_that_round_to_zero_get_more_digits() -> None:
    for seed in range(200):
        problem, decision = decided([0.0001], 0.0004, 100, 0.01, 0.95, seed)
        (one,) = decision.tried
        if decision.outcome == "negligible":
            ((_, low, _),) = INTERVAL.findall(sentence_of(problem, decision))
            assert float(low) > 0
            assert one.change.low is not None
