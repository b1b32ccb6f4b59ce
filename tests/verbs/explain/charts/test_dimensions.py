from __future__ import annotations

from typing import Any

from figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.charts.marks import COLOURS
from isoscope.results.charts.vega import BEFORE
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.explain.charts.layers import MOST_TOLD, OTHERS, mean_vector_figures

MEANS: list[tuple[str, int, float]] = [
    ("embedding", 1, 0.5), ("embedding", 7, -0.1), ("block 1", 1, 0.4), ("block 1", 2, -3.0),
    ("block 2", 2, -2.0), ("block 3", 1, 0.3), ("block 3", 2, -1.0),
]  # fmt: skip


def made(means: list[tuple[str, int, float]], subject: str = "m") -> Result:
    rows: list[dict[str, Any]] = [
        {"layer": layer, "dimension": dimension, "mean": mean} for layer, dimension, mean in means
    ]
    return Result([], [Table(subject, "", "none", "mean_vectors", rows, "the largest")])


def test_marks_are_the_entries_of_the_table() -> None:
    (figure,) = mean_vector_figures(made(MEANS))
    marks = values_of(figure)
    assert sorted((m["layer"], int(m["dimension"]), m["value"]) for m in marks) == sorted(MEANS)
    assert {m["layer"]: m["depth"] for m in marks} == {
        "embedding": 0, "block 1": 1, "block 2": 2, "block 3": 3,
    }  # fmt: skip
    assert len(figure.rows) == len(MEANS)
    assert "block 1 2 (-3); block 2 2 (-2)" in figure.alt
    assert "Listed are the largest" in figure.alt
    check_figure(figure)


def test_the_largest_entry_of_each_layer_is_labelled() -> None:
    (figure,) = mean_vector_figures(made(MEANS))
    labelled = {(m["layer"], m["dimension"]) for m in values_of(figure) if m["largest"]}
    assert labelled == {("embedding", "1"), ("block 1", "2"), ("block 2", "2"), ("block 3", "2")}


def test_a_line_breaks_where_a_layer_does_not_list_the_dimension() -> None:
    (figure,) = mean_vector_figures(made(MEANS))
    runs = {
        (m["dimension"], m["layer"]): m["run"] for m in values_of(figure) if m["dimension"] != "7"
    }
    assert runs["1", "embedding"] == runs["1", "block 1"] != runs["1", "block 3"]
    assert runs["2", "block 1"] == runs["2", "block 2"] == runs["2", "block 3"]


def test_dimensions_without_a_colour_are_grey_and_come_last() -> None:
    many = [("block 1", k, 10.0 - k) for k in range(9)]
    (figure,) = mean_vector_figures(made(many))
    marks = values_of(figure)
    assert [m["shown"] for m in marks] == ["0", "1", "2", "3", "4", "5", *[OTHERS] * 3]
    assert [m["colour"] for m in marks] == [*COLOURS, *[BEFORE] * 3]
    (points,) = [one for one in figure.spec["layer"] if one["mark"]["type"] == "point"]
    assert points["encoding"]["color"]["scale"]["range"] == [*COLOURS, BEFORE]


def test_dimensions_with_the_largest_entries_of_any_sign_have_colours() -> None:
    many = [("block 1", k, float(k)) for k in range(8)] + [("block 2", 99, -50.0)]
    (figure,) = mean_vector_figures(made(many))
    named = dict.fromkeys(m["shown"] for m in values_of(figure))
    assert list(named) == ["99", "7", "6", "5", "4", "3", OTHERS]
    check_figure(figure)


def test_of_many_layers_the_largest_are_told() -> None:
    (figure,) = mean_vector_figures(made([(f"block {k}", k, float(k)) for k in range(1, 31)]))
    said = figure.alt.split("each layer: ")[1].split(". Listed")[0]
    assert said.split("; ")[0] == "block 23 23 (23)"
    assert len(said.split("; ")) == MOST_TOLD


def test_nothing_for_other_results() -> None:
    assert mean_vector_figures(Result([Row("m", "", "none", "mean_cosine", 0.1)])) == []
    assert mean_vector_figures(made([])) == []
    other = Table("m", "", "none", "mean_vectors", [{"layer": "a", "mean": None, "dimension": 1}])
    assert mean_vector_figures(Result([], [other])) == []


def test_names_stay_data() -> None:
    (figure,) = mean_vector_figures(made([(NASTY, 1, 0.5), ("b", 2, 1.0)], NASTY))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)
