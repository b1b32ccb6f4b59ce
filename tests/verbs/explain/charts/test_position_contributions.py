from __future__ import annotations

from figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.charts.marks import MOST_SERIES
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.explain.charts.layers import contribution_figures


def contributions(subject: str = "m", layer: str = "block 1") -> Table:
    rows = [
        {"layer": layer, "dimension": 3, "contribution": 0.5},
        {"layer": layer, "dimension": 4, "contribution": 0.4},
        {"layer": "block 2", "dimension": 4, "contribution": 0.8},
        {"layer": "block 2", "dimension": 4, "contribution": None},
    ]
    return Table(subject, "", "none", "position_contributions", rows, "the two largest")


def ranks(dimensions: int = 2) -> list[Row]:
    return [
        Row("m", layer, "none", f"contribution_rank/{k}", float(rank + k), n=384)
        for k in range(dimensions)
        for layer, rank in (("layer 1", 300), ("layer 0", 2))
    ]


def test_marks_are_the_contributions() -> None:
    (figure,) = contribution_figures(Result([], [contributions()]))
    assert sorted((m["layer"], m["dimension"], m["value"]) for m in values_of(figure)) == [
        ("block 1", "3", 0.5), ("block 1", "4", 0.4), ("block 2", "4", 0.8),
    ]  # fmt: skip
    assert "block 1 3 (0.5); block 2 4 (0.8)" in figure.alt
    check_figure(figure)


def test_marks_are_the_ranks_of_outlier_dimensions() -> None:
    rows = [*ranks(), Row("m", "layer 1", "none", "contribution_rank", 1.0, n=384)]
    (figure,) = contribution_figures(Result(rows))
    assert [(m["layer"], m["dimension"], m["value"]) for m in values_of(figure)] == [
        ("layer 0", "0", 2.0), ("layer 1", "0", 300.0),
        ("layer 0", "1", 3.0), ("layer 1", "1", 301.0),
    ]  # fmt: skip
    assert "Best ranks of 384: 0: 2; 1: 3" in figure.alt
    (line,) = [one for one in figure.spec["layer"] if one["mark"]["type"] == "line"]
    assert line["encoding"]["y"]["scale"]["domain"] == [1, 384]
    assert line["encoding"]["y"]["axis"]["values"] == [1, 3, 10, 30, 100, 300]
    check_figure(figure)


def test_of_many_dimensions_those_with_the_best_ranks_are_drawn() -> None:
    (figure,) = contribution_figures(Result(ranks(10)[::-1]))
    assert {m["dimension"] for m in values_of(figure)} == {str(k) for k in range(MOST_SERIES)}
    assert "3 more dimensions, of lower ranks, are left out" in figure.alt


def test_nothing_for_other_results() -> None:
    assert contribution_figures(Result([])) == []
    assert contribution_figures(Result(ranks()[:1])) == []
    empty = Table("m", "", "none", "position_contributions", [])
    assert contribution_figures(Result([], [empty])) == []


def test_names_stay_data() -> None:
    (figure,) = contribution_figures(Result([], [contributions(NASTY, NASTY)]))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)
