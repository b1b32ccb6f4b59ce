from __future__ import annotations

from result_figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row
from isoscope.verbs.study.charts import MOST_NUMBERS, printed_figures


def number(subject: str, measure: str, value: float | None, printed: float) -> Row:
    return Row(subject, "", "none", measure, value, extra={"printed": printed})


def test_two_marks_and_a_line_for_every_number() -> None:
    rows = [
        number("BERT", "i1", 0.5, 0.4), number("GPT-2", "i1", 0.1, 0.4),
        number("BERT", "men/cosine/pearson", 0.3, 0.3), number("BERT", "i1", None, 0.4),
        Row("BERT", "", "center", "i1", 0.9),
    ]  # fmt: skip
    first, second = printed_figures(Result(rows, extra={"study": {"id": "B-T1"}}))
    assert [(p["what"], p["from"], p["to"]) for p in values_of(first)] == [
        ("BERT", 0.5, 0.4), ("GPT-2", 0.1, 0.4),
    ]  # fmt: skip
    line, measured, printed = first.spec["layer"]
    assert (line["encoding"]["x"]["field"], line["encoding"]["x2"]["field"]) == ("from", "to")
    assert measured["encoding"]["x"]["field"] == "from"
    assert printed["encoding"]["x"]["field"] == "to"
    assert measured["encoding"]["shape"]["datum"] == "measured"
    assert "Furthest apart: GPT-2, measured 0.1, printed 0.4. 1 undefined." in first.alt
    assert first.rows == [
        ["BERT", "0.5", "0.4", "+0.1"], ["GPT-2", "0.1", "0.4", "-0.3"],
        ["BERT (2)", "undefined", "0.4", "undefined"],
    ]  # fmt: skip
    assert second.title == "pearson: measured and printed in B-T1"
    for figure in (first, second):
        check_figure(figure)


def test_at_most_forty() -> None:
    rows = [number(f"model {k}", "i1", 0.5, 0.4) for k in range(50)]
    (figure,) = printed_figures(Result(rows))
    assert len(values_of(figure)) == MOST_NUMBERS == 40
    assert len(figure.rows) == 50
    assert "10 more in the table only" in figure.alt


def test_numbers_over_many_powers_stand_by_their_logarithm() -> None:
    def scale(*values: float) -> str:
        rows = [number(f"m{k}", "i1", value, value) for k, value in enumerate(values)]
        (figure,) = printed_figures(Result(rows))
        return str(figure.spec["layer"][0]["encoding"]["x"]["scale"].get("type"))

    assert scale(1e-9, 0.5) == "log"
    assert scale(0.1, 0.5) == "None"
    assert scale(-1.0, 1e9) == "None"


def test_correlations_of_measures_are_a_kind_of_their_own() -> None:
    rows = [number("all models", "correlation(average/accuracy, i1)", 0.5, 0.4)]
    (figure,) = printed_figures(Result(rows))
    assert figure.title == "correlation(average/accuracy, i1): measured and printed"


def test_names_stay_data() -> None:
    rows = [number(NASTY, NASTY, 0.5, 0.4), number("x", NASTY, 0.5, 0.4)]
    (figure,) = printed_figures(Result(rows))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)


def test_nothing_without_printed_numbers() -> None:
    assert printed_figures(Result([Row("m", "", "none", "i1", 0.5)])) == []
    assert printed_figures(Result([number("m", "i1", None, 0.5)])) == []
