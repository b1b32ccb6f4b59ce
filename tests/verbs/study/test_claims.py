"""Claims hold, fail or cannot be judged, with the figures they were judged on."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from isoscope.results.result import Result, Row
from isoscope.verbs.study.claims import ALL_MODELS, Claim, compare

I1 = {"measure": "i1"}
NONE, CENTER = {"correction": "none"}, {"correction": "center"}
ROWS = [
    Row("A", "", "none", "i1", 0.2),
    Row("A", "", "center", "i1", 0.9),
    Row("B", "", "none", "i1", 0.5),
    Row("B", "", "center", "i1", 0.4),
    Row("A", "", "none", "i2", 7.0),
]


def judge(claim: Claim, rows: list[Row] = ROWS, models: tuple[str, ...] = ("A",)) -> Any:
    return claim.judge(Result(rows), models)


def test_every_case_must_be_true() -> None:
    verdict = judge(Claim("centring helps", I1, CENTER, ">", NONE))
    assert (verdict.outcome, verdict.reason) == ("fails", "true in 1 of 2")
    assert verdict.other_models == ("B",)
    first = verdict.cases[0]
    assert (first.subject, first.left, first.left_value) == ("A", "i1 (center)", 0.9)
    assert (first.right, first.right_value, first.true) == ("i1 (none)", 0.2, True)
    assert verdict.cases[1].true is False


def test_a_share_of_cases_may_be_enough() -> None:
    half = Claim("often", I1, CENTER, ">", NONE, over="share", share=0.5)
    assert judge(half).outcome == "holds"
    most = Claim("mostly", I1, CENTER, ">", NONE, over="share", share=0.6)
    assert judge(most).outcome == "fails"


@pytest.mark.parametrize(("op", "outcome"), [(">", "fails"), (">=", "holds"), ("<=", "holds")])
def test_numbers_and_equality(op: Any, outcome: str) -> None:
    claim = Claim("half", {**I1, "subject": "b"}, NONE, op, 0.5)
    assert judge(claim).outcome == outcome


def test_exceptions_are_left_out() -> None:
    claim = Claim("but B", I1, CENTER, ">", NONE, excluding=({"subject": "b*"},))
    verdict = judge(claim)
    assert (verdict.outcome, verdict.reason) == ("holds", "true in 1 of 1")
    assert verdict.other_models == ()


def test_an_exception_may_need_several_fields() -> None:
    rows = [*ROWS, Row("B", "", "center", "i2", 1.0), Row("B", "", "none", "i2", 2.0)]
    out = ({"subject": "B", "measure": "i1"},)
    claim = Claim("but B's i1", {"measure": "i*"}, CENTER, ">", NONE, excluding=out)
    verdict = judge(claim, rows)
    assert verdict.reason == "true in 1 of 2"


def test_sides_may_be_other_measures_for_every_correction() -> None:
    rows = [
        Row("A", "", c, f"average/{s}", v)
        for c, s, v in [("x", "inner", 2.0), ("x", "cosine", 1.0), ("y", "inner", 3.0)]
    ]
    claim = Claim(
        "gain", {"measure": "average/*"}, {"measure": "average/inner"}, ">",
        {"measure": "average/cosine"},
    )  # fmt: skip
    assert judge(claim, rows).reason == "true in 1 of 1"  # y has no cosine to compare with


def test_an_empty_side_takes_every_row() -> None:
    rows = [Row("A", f"k={k}", "none", "i1", 0.1 * k) for k in (1, 2, 3)]
    assert judge(Claim("small", I1, {}, "<", 0.25), rows).reason == "true in 2 of 3"


@pytest.mark.parametrize(
    ("claim", "rows", "reason"),
    [
        (Claim("x", {"measure": "nothing"}, NONE, ">", 0.0), ROWS, "no figures for measure noth"),
        (Claim("x", I1, {"correction": "whiten"}, ">", NONE), ROWS, "no figures for .*whiten"),
        (Claim("x", I1, NONE, ">", 0.0, min_subjects=3), ROWS, "at least 3 models.* are 2"),
        (
            Claim("x", I1, NONE, ">", 0.0),
            [Row("A", "", "none", "i1", None, note="one vector")],
            "one vector",
        ),
    ],
)
def test_what_cannot_be_judged_says_why(claim: Claim, rows: list[Row], reason: str) -> None:
    verdict = judge(claim, rows)
    assert verdict.outcome == "cannot be judged"
    assert re.search(reason, verdict.reason)


def test_a_figure_over_models_counts_models_not_itself() -> None:
    rows = [Row(name, "", "none", "i1", 0.1) for name in "abcde"]
    rows.append(Row(ALL_MODELS, "", "none", "r", -0.5))
    claim = Claim("negative", {"measure": "r"}, NONE, "<", 0.0, min_subjects=5)
    verdict = judge(claim, rows, ("a", "b", "c", "d"))
    assert (verdict.outcome, verdict.other_models) == ("holds", ("e",))
    assert judge(claim, rows[1:]).outcome == "cannot be judged"


def test_tiny_values_are_compared_by_their_logarithms() -> None:
    rows = [
        Row("A", "", "none", "i1", 0.0, log10=-400.0),
        Row("A", "", "center", "i1", 0.0, log10=-390.0),
    ]
    assert judge(Claim("x", I1, CENTER, ">", NONE), rows).outcome == "holds"
    assert judge(Claim("x", I1, NONE, "<", 1e-300), rows).outcome == "holds"
    assert compare(">", (0.0, -400.0), (0.0, None)) is False
    assert compare(">", (None, None), (0.0, None)) is None


def test_names_of_models_are_compared_in_any_case() -> None:
    assert judge(Claim("x", I1, NONE, ">", 0.0), ROWS, ("a", "b")).other_models == ()


def test_a_claim_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="no field"):
        Claim("x", {"model": "A"}, NONE, ">", 0.0)
    with pytest.raises(ValueError, match="no operator"):
        Claim("x", I1, NONE, "=", 0.0)  # type: ignore[arg-type]


def test_a_verdict_becomes_plain_data() -> None:
    values = judge(Claim("centring helps", I1, CENTER, ">", NONE)).to_dict()
    assert values["cases"][0]["left_value"] == 0.9
    assert values["other_models"] == ["B"]


def test_one_of_several_names_and_none_of_them() -> None:
    rows = [*ROWS, Row("C", "", "none", "i1", 0.1)]
    claim = Claim(
        "A and B are above C", {**I1, **NONE}, {"subject": "a|b"}, ">", {"subject": "!a|b"}
    )
    verdict = judge(claim, rows)
    assert (verdict.outcome, verdict.reason) == ("holds", "true in 2 of 2")
    assert verdict.other_models == ("B", "C")
    assert {case.right_subject for case in verdict.cases} == {"C"}
    highest = Claim("B is the highest", {**I1, **NONE}, {"subject": "B"}, ">", {"subject": "*"})
    assert judge(highest, rows).reason == "true in 2 of 2"  # not compared with itself
    missing = Claim("of D", {**I1, "subject": "D|E"}, {}, ">", 0.0)
    assert (
        judge(missing, rows, models=("A", "B", "C")).reason
        == "no figures for measure i1, subject D or E"
    )


def test_other_names_of_the_papers_models() -> None:
    claim = Claim("all", I1, NONE, ">", 0.0)
    assert judge(claim, models=("X|a", "B")).other_models == ()
    assert judge(claim, models=("X|a",)).other_models == ("B",)


def test_a_claim_about_a_model_is_tested_on_others_where_its_own_is_not_there() -> None:
    claim = Claim("R is even", {**I1, "subject": "R|RoBERTa"}, NONE, ">", 0.3)
    models = ("A", "R|RoBERTa")
    verdict = judge(claim, models=models)
    assert (verdict.outcome, verdict.reason) == ("holds", "true in 1 of 1")
    assert verdict.other_models == ("B",)  # A is the paper's, which says nothing of it
    assert judge(claim, ROWS[:2], models).outcome == "cannot be judged"
    own = [*ROWS, Row("roberta", "", "none", "i1", 0.1)]
    verdict = judge(claim, own, models)
    assert (verdict.outcome, verdict.other_models) == ("fails", ())
    others = Claim("all but R", {**I1, "subject": "!A|B"}, NONE, ">", 0.3)
    assert judge(others, models=models).outcome == "cannot be judged"
    both = Claim("A above R", I1, {"subject": "A"}, ">", {"subject": "R"})
    assert judge(both, models=models).outcome == "cannot be judged"
    summed = Claim("R", {"subject": "R", "measure": "r"}, {}, ">", 0.0)
    assert judge(summed, [Row(ALL_MODELS, "", "none", "r", 1.0)]).outcome == "cannot be judged"


def test_numbers_of_numpy_are_numbers() -> None:
    rows = [Row("A", "", "none", "i1", np.float64(0.5), log10=np.float64(-0.3))]
    for value in (0.4, 0.6):
        verdict = judge(Claim("even", I1, NONE, ">", value), rows)
        assert verdict.outcome == ("holds" if value < 0.5 else "fails")
        assert isinstance(verdict.cases[0].true, bool)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_cannot_be_judged_saved_or_not(value: float) -> None:
    claim = Claim("large", I1, NONE, ">", 0.5)
    result = Result([Row("A", "", "none", "i1", value, log10=float("-inf"))])
    saved = Result.from_json(result.to_json())
    assert claim.judge(result, ()).outcome == claim.judge(saved, ()).outcome == "cannot be judged"
