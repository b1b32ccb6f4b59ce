from __future__ import annotations

from typing import Any

import pytest
from result_figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row
from isoscope.verbs.advise.charts import advice_figures

SCORE = "pairs:mine/cosine/spearman"


def advice(recommended: str = "", subject: str = "mine", score: str = SCORE) -> Result:
    rows = [Row(subject, "", "none", score, 0.5, n=400, extra={"unit": "pairs"})]
    for name, gain, chance in (
        ("clip", 0.2, 1e-9), ("center", 0.1, 0.001), ("whiten", -0.1, 0.01), ("flow", 0.01, 0.6),
    ):  # fmt: skip
        about: dict[str, Any] = {"unit": "pairs", "recommended": name == recommended}
        rows.append(Row(subject, "", name, score, 0.5 + gain, n=400, extra=about))
        rows.append(
            Row(subject, "", name, f"{score}/difference", gain, low=gain - 0.05, high=gain + 0.05,
                n=400, extra={"unit": "pairs", "p_holm": chance})
        )  # fmt: skip
    rows.append(Row(subject, "", "odd", f"{score}/difference", None, extra={"unit": "pairs"}))
    found = {"sentence": "", "worthwhile": 0.01, "alpha": 0.05}
    return Result(rows, extra={"kind": "advice", "recommendation": found})


def test_gains_against_leaving_it_alone() -> None:
    (figure,) = advice_figures(advice("clip"))
    assert [(p["label"], p["value"], p["low"], p["series"]) for p in values_of(figure)] == [
        ("clip", 0.2, 0.2 - 0.05, "recommended"),
        ("center", 0.1, 0.1 - 0.05, "significant gain"),
        ("whiten", -0.1, -0.1 - 0.05, "significant loss"),
        ("flow", 0.01, 0.01 - 0.05, "not significant"),
    ]
    assert "Recommended: clip, 0.2 (0.15 to 0.25)." in figure.alt
    assert "lowest: whiten, -0.1 (-0.15 to -0.05). 1 undefined." in figure.alt
    alone, worth = figure.spec["layer"][:2]
    assert alone["encoding"]["x"]["datum"] == 0
    assert worth["encoding"]["x"]["datum"] == 0.01
    colour = figure.spec["layer"][-1]["encoding"]["color"]["scale"]
    assert len(colour["domain"]) == len(colour["range"]) == 4
    assert len(figure.rows) == 5
    check_figure(figure)


def test_nothing_recommended_is_said() -> None:
    (figure,) = advice_figures(advice())
    assert "Nothing is recommended. " in figure.alt
    assert {p["series"] for p in values_of(figure)} == {
        "significant gain", "significant loss", "not significant",
    }  # fmt: skip
    assert len(figure.spec["layer"][-1]["encoding"]["color"]["scale"]["domain"]) == 3
    check_figure(figure)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [("undecided", "is not excluded"), ("negligible", "is excluded"),
     ("leave it alone", "is excluded")],
)  # fmt: skip
def test_why_nothing_is_recommended(outcome: str, said: str) -> None:
    result = advice()
    result.extra["recommendation"]["outcome"] = outcome
    (figure,) = advice_figures(result)
    assert f"Nothing is recommended: a worthwhile gain {said}. " in figure.alt


def test_a_significant_gain_below_the_limit_is_negligible() -> None:
    result = advice()
    result.extra["recommendation"]["worthwhile"] = 0.15
    (figure,) = advice_figures(result)
    assert [p["series"] for p in values_of(figure)] == [
        "significant gain", "significant, negligible", "significant, negligible",
        "not significant",
    ]  # fmt: skip


def test_what_is_significant_is_as_the_result_says() -> None:
    result = advice()
    result.extra["recommendation"]["alpha"] = 0.005
    (figure,) = advice_figures(result)
    assert [p["series"] for p in values_of(figure)][2] == "not significant"


def test_names_stay_data() -> None:
    (figure,) = advice_figures(advice(subject=NASTY, score=NASTY))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)


def test_nothing_for_other_results() -> None:
    result = advice()
    assert advice_figures(Result(result.rows)) == []
    assert advice_figures(Result([], extra={"kind": "advice"})) == []
