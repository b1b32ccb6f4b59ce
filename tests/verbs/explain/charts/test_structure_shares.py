from __future__ import annotations

from figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.charts.marks import MOST_SERIES
from isoscope.results.result import Result, Row
from isoscope.verbs.explain.charts.groups import BY_CHANCE, structure_figures


def rows_of(word: str, correction: str = "center", subject: str = "m") -> list[Row]:
    return [
        Row(subject, word, "none", "chance", 0.005),
        Row(subject, word, "none", "same_group_share", 0.5, low=0.4, high=0.6),
        Row(subject, word, correction, "same_group_share", 0.25),
        Row(subject, word, correction, "same_group_share/difference", -0.25),
    ]


def test_marks_are_shares_before_and_after_and_chance() -> None:
    (figure,) = structure_figures(Result([*rows_of("."), *rows_of("the")]))
    points = values_of(figure)
    assert [(p["thing"], p["kind"], p["value"]) for p in points] == [
        ("“.”", "none", 0.5), ("“the”", "none", 0.5), ("“.”", "center", 0.25),
        ("“the”", "center", 0.25), ("“.”", BY_CHANCE, 0.005), ("“the”", BY_CHANCE, 0.005),
    ]  # fmt: skip
    assert len({p["colour"] for p in points}) == 3
    (dots,) = [one for one in figure.spec["layer"] if one["mark"]["type"] == "point"]
    in_turn = list(dict.fromkeys(p["colour"] for p in points))
    assert dots["encoding"]["color"]["scale"]["range"] == in_turn
    assert "“.” 50.00% (none), 25.00% (center), 0.50% (by chance)" in figure.alt
    assert figure.rows[0] == ["“.”", "none", "50.00%", "40.00%", "60.00%"]
    check_figure(figure)


def test_without_chance_there_is_no_such_kind() -> None:
    (figure,) = structure_figures(Result(rows_of(".")[1:]))
    assert {p["kind"] for p in values_of(figure)} == {"none", "center"}
    check_figure(figure)


def test_many_corrections_leave_room_for_chance() -> None:
    rows = rows_of(".") + [
        Row("m", ".", f"correction {k}", "same_group_share", 0.1) for k in range(9)
    ]
    (figure,) = structure_figures(Result(rows))
    assert len({p["kind"] for p in values_of(figure)}) == MOST_SERIES
    assert len({p["colour"] for p in values_of(figure)}) == MOST_SERIES
    assert BY_CHANCE in {p["kind"] for p in values_of(figure)}
    assert "5 more corrections are left out" in figure.alt


def test_nothing_for_other_results() -> None:
    assert structure_figures(Result([])) == []
    assert structure_figures(Result(rows_of(".")[:1])) == []


def test_names_stay_data() -> None:
    (figure,) = structure_figures(Result(rows_of(NASTY, NASTY, NASTY)))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)
