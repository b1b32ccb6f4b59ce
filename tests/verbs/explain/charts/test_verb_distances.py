from __future__ import annotations

from figures_for_tests import NASTY, check_drawing, check_figure, outside_data, values_of

from isoscope.results.charts.vega import AFTER, BEFORE
from isoscope.results.result import Result, Row
from isoscope.verbs.explain.charts.groups import verb_figures

KINDS = ("same_tense_same_sense", "same_tense_other_sense", "other_tense_same_sense")


def rows_of(subject: str = "m", correction: str = "cluster-pc-removal") -> list[Row]:
    before = [
        Row(subject, "block 6", "none", f"distance/{kind}", 6.0 + k, low=5.9 + k, high=6.1 + k)
        for k, kind in enumerate(KINDS)
    ]
    after = [
        Row(subject, "block 6", correction, f"distance/{kind}", 5.0 + k)
        for k, kind in enumerate(KINDS)
    ]
    all_of_them = Row(subject, "block 6", "none", "distance/all", 7.3)
    return [*after, all_of_them, *before]


def test_marks_are_three_distances_before_and_after() -> None:
    (figure,) = verb_figures(Result(rows_of()))
    points = values_of(figure)
    assert [(p["kind"], p["thing"], p["value"]) for p in points] == [
        ("none", "same tense, same sense", 6.0), ("none", "same tense, other sense", 7.0),
        ("none", "other tense, same sense", 8.0),
        ("cluster-pc-removal", "same tense, same sense", 5.0),
        ("cluster-pc-removal", "same tense, other sense", 6.0),
        ("cluster-pc-removal", "other tense, same sense", 7.0),
    ]  # fmt: skip
    assert [p["colour"] for p in points] == [BEFORE] * 3 + [AFTER] * 3
    assert [(p["low"], p["high"]) for p in points if "low" in p] == [
        (5.9, 6.1), (6.9, 7.1), (7.9, 8.1),
    ]  # fmt: skip
    assert "other tense, same sense 8; cluster-pc-removal: same tense, same sense 5" in figure.alt
    assert figure.rows[0] == ["none", "same tense, same sense", "6", "5.9", "6.1"]
    assert figure.rows[3][3:] == ["", ""]
    check_figure(figure)


def test_intervals_have_the_colours_of_their_dots() -> None:
    (figure,) = verb_figures(Result(rows_of()))
    rule, _ = figure.spec["layer"]
    assert rule["mark"]["type"] == "rule"
    assert rule["encoding"]["stroke"] == {"field": "colour", "type": "nominal", "scale": None}
    assert check_drawing(figure).count(f'stroke="{BEFORE}"') >= 3


def test_no_rules_without_intervals() -> None:
    (figure,) = verb_figures(Result(rows_of()[:3]))
    assert [layer["mark"]["type"] for layer in figure.spec["layer"]] == ["point"]
    check_figure(figure)


def test_many_corrections_are_left_out_in_words() -> None:
    rows = [row for k in range(9) for row in rows_of("m", f"remove {k}")[:3]]
    (figure,) = verb_figures(Result(rows))
    assert "2 more corrections are left out" in figure.alt
    assert len(values_of(figure)) == 21


def test_nothing_for_other_results() -> None:
    assert verb_figures(Result([])) == []
    assert verb_figures(Result([Row("m", "", "none", "distance/all", 7.3)])) == []
    undefined = Row("m", "", "none", "distance/same_tense_same_sense", None)
    assert verb_figures(Result([undefined])) == []


def test_names_stay_data() -> None:
    (figure,) = verb_figures(Result(rows_of(NASTY, NASTY)))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)
