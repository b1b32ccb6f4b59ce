from __future__ import annotations

from typing import Any

from result_figures_for_tests import NASTY, check_drawing, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row
from isoscope.verbs.study.charts import MOST_CLAIMS, OUTCOMES, claim_figures


def claim(outcome: str, text: str = "centring raises I1", **more: Any) -> dict[str, Any]:
    return {"text": text, "outcome": outcome, "reason": "true in 1 of 2", "cases": [],
            "other_models": ["minilm"], **more}  # fmt: skip


def study(claims: Any) -> Result:
    return Result([], extra={"claims": claims, "study": {"id": "B-T1"}})


def test_claims_stand_by_outcome() -> None:
    outcomes = ["holds", "fails", "fails", "not run"]
    (figure,) = claim_figures(study([claim(one) for one in outcomes]))
    marks = values_of(figure)
    assert [mark["outcome"] for mark in marks] == outcomes
    assert len({mark["claim"] for mark in marks}) == 4, "the same words are four claims"
    assert figure.alt.startswith("4 claims of a paper by outcome: holds 1, fails 2, not run 1")
    assert "holds: centring raises I1 (true in 1 of 2)" in figure.alt
    assert figure.title == "Outcomes of the claims of B-T1"
    assert figure.rows[0] == ["centring raises I1", "holds", "true in 1 of 2", "minilm"]
    encoding = figure.spec["encoding"]
    assert encoding["x"]["scale"]["domain"] == list(OUTCOMES)
    assert len(set(encoding["shape"]["scale"]["range"])) == len(OUTCOMES)
    assert len(encoding["color"]["scale"]["range"]) == len(OUTCOMES)
    assert len(set(encoding["color"]["scale"]["range"])) == 5  # what was not judged is grey
    check_figure(figure)


def test_long_claims_have_several_lines_and_the_room_for_them() -> None:
    short, long = (
        claim_figures(study([claim("holds", text)]))[0] for text in ("short", "word " * 30)
    )
    assert values_of(long)[0]["claim"].count("\n") >= 4
    assert values_of(long)[0]["text"] == "word " * 30
    assert long.spec["height"]["step"] > 4 * short.spec["height"]["step"] / 2
    assert check_drawing(long).count(">word word") >= 4, "every line is drawn by itself"


def test_of_many_claims_the_first_are_drawn() -> None:
    (figure,) = claim_figures(study([claim("holds", f"claim {k}") for k in range(30)]))
    assert len(values_of(figure)) == MOST_CLAIMS
    assert len(figure.rows) == 30
    assert "5 more in the table only" in figure.alt


def test_words_stay_data_and_odd_outcomes_are_unjudged() -> None:
    (figure,) = claim_figures(study([claim(NASTY, NASTY, other_models=None), "odd"]))
    assert values_of(figure)[0]["outcome"] == "not run"
    assert "alert" not in outside_data(figure.spec)
    assert "<script>" not in check_drawing(figure)
    check_figure(figure)


def test_nothing_for_other_results() -> None:
    assert claim_figures(Result([Row("m", "", "none", "i1", 0.5)])) == []
    assert claim_figures(study([])) == []
    assert claim_figures(study("odd")) == []
