"""Sentences about thresholds follow from the numbers beside them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.compute.stats.estimates import Difference, Estimate, Score, mean_score
from isoscope.verbs.threshold.api import rare_precisions
from isoscope.verbs.threshold.base_rate import BaseRate
from isoscope.verbs.threshold.goals import BestF1, Choice
from isoscope.verbs.threshold.labelled_pairs import SpaceScores, ThresholdScores
from isoscope.verbs.threshold.score_map import ScoreMap
from isoscope.verbs.threshold.text import (
    FEWEST_OF_A_KIND,
    SMALL,
    area_change,
    change_sentences,
    rate_sentences,
    relation_sentences,
)

MAP = ScoreMap("probability", "none", (0.0, 1.0), (0.1, 0.9))
VERDICTS = ("keep", "choose", "alone", "leave")
"""Words of advice: these sentences report and give none."""


def change(value: float, low: float | None, high: float | None) -> Difference:
    return Difference(value, low, high, 500)


def space(name: str, differs: Difference | None, cut: float, fewest: int = 100) -> SpaceScores:
    share = mean_score(np.arange(100) < 80)
    judged = ThresholdScores(BestF1(), Choice(cut), (cut,), share, share, share, share)
    return SpaceScores(
        name, Score(0.8, 0.7, 0.9, 500), differs, (judged,),
        Estimate(0.2, 0.1, 0.3, 500), 0.25, MAP, fewest,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given_change", "wanted"),
    [
        (change(0.09, 0.07, 0.11), "the AUC is significantly higher: +0.0900"),
        (change(-0.09, -0.11, -0.07), "the AUC is significantly lower: -0.0900"),
        (change(0.004, 0.002, 0.006), "(+0.0020 to +0.0060), a negligible change of at most 0.01"),
        (change(0.01, -0.02, 0.04), "does not change significantly: +0.0100 (-0.0200 to +0.0400); "
                                    "a change of more than 0.01 is not ruled out"),
        (change(0.001, -0.002, 0.004), "and a change of more than 0.01 is ruled out"),
        (change(0.0, None, None), "does not change: no pair is ranked differently"),
        (Difference(0.2, None, None, 5, "no interval from 5"), "is possible (no interval from 5)"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_change(given_change: Difference, wanted: str) -> None:
    assert wanted in area_change(given_change, 100)


def test_few_yeses_allow_no_statement() -> None:
    said = area_change(change(0.09, 0.07, 0.11), FEWEST_OF_A_KIND - 1)
    assert "no statement about the change of the AUC" in said
    assert "significant" not in said


ENDS = st.tuples(*[st.floats(-1, 1)] * 3).map(sorted)


@given(ENDS, st.integers(1, 200), st.floats(-1, 1), st.floats(-1, 1))
def test_words_and_intervals_agree(
    ends: list[float], fewest: int, before: float, after: float
) -> None:
    low, value, high = ends
    scored = [space("none", None, before, fewest)]
    scored.append(space("other", change(value, low, high), after, fewest))
    (sentence,) = change_sentences(scored)
    said = sentence.text
    assert said.startswith(f"other: the threshold for the best F1 is {after:.3f} instead of")
    assert f"{value:+.4f} ({low:+.4f} to {high:+.4f})" in said
    assert ("significantly higher" in said) == (low > 0 and fewest >= FEWEST_OF_A_KIND)
    assert ("significantly lower" in said) == (high < 0 and fewest >= FEWEST_OF_A_KIND)
    assert ("not change significantly" in said) == (low <= 0 <= high and fewest >= FEWEST_OF_A_KIND)
    if "negligible" in said or "is ruled out" in said:
        assert max(abs(low), abs(high)) <= SMALL
    if "is not ruled out" in said:
        assert max(abs(low), abs(high)) > SMALL
    assert not any(word in said.lower() for word in VERDICTS)


SHARES = st.floats(1e-5, 1 - 1e-5)


@given(SHARES, SHARES, st.sampled_from(["given", "implied", "assumed"]), st.booleans())
def test_precisions_are_those_of_the_result(above, rate, origin, stored) -> None:
    one = space("none", None, 0.5)
    known = BaseRate(rate, origin, "a reason", rate)
    shares = {("none", 0.5): Estimate(above, 0.9 * above, min(1.1 * above, 1), 10**6)}
    rare = rare_precisions([one], known, shares, "" if stored else "there is no store")
    lines = [sentence.text for sentence in rate_sentences(one, known, rare)]
    assert "(a reason)" in lines[0]
    found = rare["none", "best-f1"].in_search
    if found.value is None:
        assert "search over the store is undefined: " in lines[-1]
        assert stored or lines[-1].endswith("there is no store.")
    else:
        numbers = [float(text) for text in re.findall(r"[0-9.e-]*[0-9]", lines[-1])]
        for number, wanted in zip(numbers, (found.value, found.low, found.high), strict=False):
            assert number == pytest.approx(wanted, abs=6e-4)
    assert not any(word in " ".join(lines).lower() for word in (*VERDICTS, "significant"))


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0.47, 0.61, ["Cosines do not separate yes from no significantly: the AUC without a "
                      "correction is 0.540 (0.470 to 0.610), where 0.5 is chance. Thresholds "
                      "chosen on these pairs mean little for others."]),
        (0.31, 0.45, ["A no often has a higher cosine than a yes: the AUC without a "
                      "correction is 0.380 (0.310 to 0.450), where 0.5 is chance. Are the "
                      "labels reversed?"]),
        (0.51, 0.61, []),
        (None, None, []),
    ],
)  # fmt: skip
def test_labels_that_cosines_do_not_tell(
    low: float | None, high: float | None, wanted: list[str]
) -> None:
    middle = 0.6 if low is None or high is None else (low + high) / 2
    plain = replace(space("none", None, 0.5), auc=Score(middle, low, high, 100))
    assert [sentence.text for sentence in relation_sentences(plain)] == wanted
