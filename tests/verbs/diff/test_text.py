"""Two clouds as tables."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.compute.stats.estimates import Difference, Score
from isoscope.results.kinds import kind_of
from isoscope.results.result import Result, Row
from isoscope.verbs.diff.names import (
    COSINE_LIMIT,
    DIFFERENCE,
    FEWEST_BY_CHANCE,
    KEEPING,
    NEIGHBOURS_LIMIT,
    SPACE_LIMIT,
    THRESHOLD_FACTOR,
)
from isoscope.verbs.diff.reuse import CorrectionReuse, SpaceReuse, ThresholdReuse
from isoscope.verbs.diff.rows import ComparisonRows, fields_of_answer
from isoscope.verbs.diff.screen import difference_screen, sentences
from isoscope.verbs.diff.support import Outside
from isoscope.verbs.diff.text import (
    about_correction,
    about_support,
    about_threshold,
    difference_grids,
    number,
    with_interval,
)


def row(part: str, measure: str, value: float | None, **more: object) -> Row:
    fields = {"low": None, "high": None, "correction": "none", **more}
    own = {key: fields.pop(key) for key in ("low", "high", "correction")}
    return Row(
        "a (A) and b (B)", part, str(own["correction"]), measure, value, low=own["low"],
        high=own["high"], n=100, extra=fields,
    )  # fmt: skip


RESULT = Result(
    rows=[
        row("difference", "mean_shift", 0.25, p_holm=0.003, limit=0.1),
        row("difference", "mean_length_ratio", 1.0, no_test="all the same"),
        row("difference", "mean_length/A", 2.0),
        row("difference", "mean_length/B", 3.0),
        row("support", "B outside A@95%", 0.2, low=0.15, high=0.22, expected=0.05),
        row("keeping", "mean_cosine/old", 0.4, low=0.3, high=0.5, correction="center", keep=False),
        row("keeping", "pairs_above_threshold/B", 0.1, correction="none", threshold=0.8, keep=True),
        row(
            "keeping",
            "pairs_above_threshold/B",
            None,
            correction="center",
            keep=None,
            threshold=None,
        ),
    ],
    left_out={"not finite": 2},
    extra={"kind": "difference of two clouds", "remarks": ["Assumed.", "Differs.", "Keep."]},
)


def test_every_question_has_a_grid() -> None:
    assert kind_of(RESULT) == DIFFERENCE
    differences, support, keeping = difference_grids(RESULT)
    assert differences.rows == [
        ["mean_shift", "0.2500", "", "", "0.003", "< 0.1"],
        ["mean_length_ratio", "1.0000", "", "", "", ""],
        ["mean_length", "", "2.0000", "3.0000", "", ""],
    ]
    assert "mean_length_ratio, no test: all the same" in differences.notes
    assert "left out, not finite: 2 rows" in differences.notes
    assert support.rows == [["B outside A@95%", "0.2000 ±0.0500", "0.0500", "100"]]
    assert keeping.header == ["kept for B", "center", "none"]
    assert ["keep the correction", "no", ""] in keeping.rows
    assert ["keep the threshold", "no statement", "yes"] in keeping.rows
    assert ["threshold", "", "0.8000"] in keeping.rows


def test_what_was_assumed_stands_first_and_the_answers_last() -> None:
    first, middle, last = difference_grids(RESULT)
    assert first.verdict == ["Assumed."]
    assert middle.verdict == []
    assert last.verdict == ["Differs.", "Keep."]
    assert RESULT.to_markdown().index("Assumed.") < RESULT.to_markdown().index("B outside A")


def test_numbers_are_short() -> None:
    assert [number(value) for value in (None, -0.00001, 0.5, 1234.56)] == [
        "", "0.0000", "0.5000", "1234.6",
    ]  # fmt: skip
    assert with_interval(row("support", "x", None)) == "undefined"


@pytest.mark.parametrize(
    ("share", "differs", "words"),
    [
        (0.40, 1, "40 % of B lies outside A's support (significantly more than the 5.0 % of A"),
        (0.01, -1, "1.0 % of B lies outside A's support (significantly less than the 5.0 % of A"),
        (0.06, 0, "6.0 % of B lies outside A's support (close to the 5.0 % of A itself)"),
        (0.12, 0, "12 % of B lies outside A's support (no significant difference from the 5.0 %"),
    ],
)
def test_shares_outside_are_said_with_their_test(share: float, differs: int, words: str) -> None:
    found = Outside(share, 0.0, 0.5, 100, differs=differs)
    (said,) = about_support({"B outside A": [found]})
    assert said.text.startswith(words)


@given(
    st.floats(0.001, 0.3), st.floats(0.4, 2.5), st.floats(0.02, 1.2),
    st.sampled_from(["none", "center"]),
)  # fmt: skip
def test_answers_about_thresholds_agree_with_their_intervals(
    a: float, factor: float, width: float, space: str
) -> None:
    """Words follow the interval that is printed beside them, to the rounding of its digits."""
    b, reach = factor * a, width * a
    p = 0.01 if reach < abs(b - a) else 0.5
    change = Difference(b - a, b - a - reach, b - a + reach, 100, "", p)
    ends = [Score(one, max(one - reach, 0.0), one + reach, 100) for one in (a, b)]
    found = ThresholdReuse(0.5, *ends, change)
    said = about_threshold(space, found)
    numbers = re.search(r"difference (\S+) percentage points, (\S+) to (\S+)\)", said)
    assert numbers is not None
    value, low, high = (float(one) / 100 for one in numbers.groups())
    assert value == pytest.approx(b - a, rel=0.06, abs=1e-12)
    slack = 0.06 * max(abs(low), abs(high))
    if said.startswith("Keep the threshold"):
        assert a / THRESHOLD_FACTOR - slack <= a + low
        assert a + high <= a * THRESHOLD_FACTOR + slack
    elif said.startswith("Choose a new threshold"):
        assert low > 0 or high < 0
        assert max(a, b) > THRESHOLD_FACTOR * min(a, b)
    else:
        assert said.startswith("No statement on the threshold (too few rows")
    words = {"may be kept": "Keep", "may not be kept": "Choose", "No statement": "No statement"}
    one = Row("A and B", KEEPING, space, "pairs_above_threshold/B", b, extra={
        "threshold": 0.5, **fields_of_answer(found.keep, found.no_statement)})  # fmt: skip
    (on_screen,) = sentences("threshold", [one], thresholds=True)
    assert [start for part, start in words.items() if part in on_screen] == [
        next(start for start in words.values() if said.startswith(start))
    ]
    assert found.keep is not None or on_screen.endswith(f": {found.no_statement}.")


def differing(value: float, reach: float) -> Difference:
    """A difference with its interval, and the p-value that belongs to it."""
    p = 0.01 if reach < abs(value) else 0.5
    return Difference(value, value - reach, value + reach, 100, "", p)


@given(
    st.floats(-0.3, 0.4), st.floats(0.001, 0.2), st.floats(-0.2, 0.2), st.floats(0.001, 0.1),
    st.floats(0.2, 1), st.floats(0, 2),
)  # fmt: skip
def test_answers_about_corrections_agree_with_their_intervals_in_text_and_on_screen(
    lost: float, lost_reach: float, change: float, change_reach: float, chance: float, apart: float
) -> None:
    kept = Score(min(max(chance - lost, 0.0), 1.0), 0.0, 1.0, 100)
    judged = CorrectionReuse(
        Score(0.1 + change, None, None, 100), Score(0.1, None, None, 100),
        differing(change, change_reach), kept, Score(chance, None, None, 100),
        differing(lost, lost_reach), covariance_distance=apart,
    )  # fmt: skip
    cut = ThresholdReuse(0.5, *[Score(0.01, 0.009, 0.011, 100)] * 2, differing(0.0, 0.001))
    made = ComparisonRows("a (A) and b (B)")
    made.add_reuse(SpaceReuse("center", judged, cut, 100))
    screen = difference_screen(Result(made.rows, extra={"kind": DIFFERENCE}))
    said, (on_screen,) = about_correction("center", judged), screen.answer
    neighbours = lost > NEIGHBOURS_LIMIT and lost_reach < lost
    cosines = abs(change) > COSINE_LIMIT and change_reach < abs(change)
    if said.startswith("Keep A's correction"):
        assert "A's correction may be kept for B" in on_screen
        assert lost + lost_reach <= NEIGHBOURS_LIMIT
        assert abs(change) + change_reach <= COSINE_LIMIT
        assert apart <= SPACE_LIMIT
    elif said.startswith("Fit the correction again"):
        assert "A's correction may not be kept for B" in on_screen
        assert neighbours or cosines
        assert ("neighbours change beyond chance" in said) == neighbours
        assert ("the mean cosine is off by more than" in said) == cosines
    else:
        assert said == f"No statement on A's center: {judged.no_statement}."
        assert f"No statement on A's correction: {judged.no_statement}." in on_screen
    assert (chance < FEWEST_BY_CHANCE) <= said.startswith("No statement")
    assert "A's threshold may be kept for B." in on_screen
