from __future__ import annotations

import pytest
from result_figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.fields import KIND, MAIN, SCORES
from isoscope.results.result import Result, Row
from isoscope.verbs.evaluate.charts import task_score_figures

PAIRS = {"unit": "pairs"}


def score(
    measure: str,
    value: float | None,
    correction: str = "none",
    part: str = "",
    subject: str = "glove",
    **extra: object,
) -> Row:
    ends = {} if value is None else {"low": value - 0.05, "high": value + 0.05}
    return Row(subject, part, correction, measure, value, n=100, extra={**PAIRS, **extra}, **ends)


def words() -> list[Row]:
    return [
        score(f"{task}/{kind}", 0.1 * k + 0.2 * (correction == "center"), correction)
        for kind in ("cosine/pearson", "inner/pearson")
        for k, task in enumerate(("men", "simlex"), start=1)
        for correction in ("none", "center")
    ]


def test_a_dot_for_every_score_and_a_panel_for_every_kind() -> None:
    rows = words()
    (figure,) = task_score_figures(Result(rows))
    marks = values_of(figure)
    assert [mark["value"] for mark in marks] == [row.value for row in rows]
    assert [mark["low"] for mark in marks] == [row.low for row in rows]
    assert {mark["panel"] for mark in marks} == {"cosine/pearson", "inner/pearson"}
    assert {mark["label"] for mark in marks} == {"men", "simlex"}
    assert figure.spec["facet"]["field"] == "panel"
    assert "men cosine/pearson: 0.1 as it is, at best 0.3 with center" in figure.alt
    assert len(figure.rows) == len(rows)
    assert figure.rows[1][:5] == ["men", "cosine/pearson", "center", "0.3", "0.25"]
    check_figure(figure)


def test_differences_are_apart_and_stand_beside_zero() -> None:
    rows = [
        score("men/cosine/pearson", 0.5),
        score("men/cosine/pearson", 0.6, "center"),
        score("men/cosine/pearson", 0.4, "whiten"),
        score("men/cosine/pearson/difference", 0.1, "center"),
        score("men/cosine/pearson/difference", -0.1, "whiten"),
        score("men/inner/pearson/difference", 0.01, "whiten"),
    ]
    plain, change = task_score_figures(Result(rows))
    assert [mark["value"] for mark in values_of(plain)] == [0.5, 0.6, 0.4]
    assert [mark["value"] for mark in values_of(change)] == [0.1, -0.1, 0.01]
    assert change.spec["spec"]["layer"][0]["encoding"]["x"]["datum"] == 0
    assert (
        "Of 3 differences with an interval, 1 are above 0 with all of it and 1 below" in change.alt
    )
    assert "Highest: men cosine/pearson with center 0.1 (0.05 to 0.15)" in change.alt
    colours = [
        dict(zip(*spec["layer"][-1]["encoding"]["color"]["scale"].values(), strict=True))
        for spec in (plain.spec, change.spec["spec"])
    ]
    assert colours[0]["whiten"] == colours[1]["whiten"]
    check_figure(plain)
    check_figure(change)


def test_layers_are_lines_of_the_score_that_decides() -> None:
    rows = [
        row
        for k, part in enumerate(("embedding", "block 1", "block 2"))
        for correction in ("none", "center")
        for row in (
            score("sts-b/cosine/spearman", 0.5 + 0.1 * k, correction, part, main_score=True),
            score("sts-b/cosine/pearson", 0.4, correction, part),
            score("sts-b/cosine/spearman", 0.1, correction, part, subset="dev"),
            score("sts-b/cosine/spearman/difference", 0.1, correction, part),
        )
    ]
    assert rows[0].extra[MAIN]
    (figure,) = task_score_figures(Result(rows, extra={KIND: SCORES}))
    marks = values_of(figure)
    assert len(marks) == 6
    assert [mark["place"] for mark in marks] == [0, 0, 1, 1, 2, 2]
    assert [layer["mark"] for layer in figure.spec["layer"]][1] == "line"
    assert "highest 0.7 in block 2 (none)" in figure.alt
    assert "The bands are intervals" in figure.alt
    check_figure(figure)


def test_many_lines_have_no_bands_and_more_than_seven_are_left_out() -> None:
    rows = [
        score("sts-b/cosine/spearman", 0.5, f"c{c}", f"block {k}") for c in range(9) for k in (1, 2)
    ]
    (figure,) = task_score_figures(Result(rows))
    assert len(values_of(figure)) == 14
    assert len(figure.rows) == 18
    assert "4 more numbers in the table only" in figure.alt
    assert "bands" not in figure.alt
    check_figure(figure)


def test_the_best_layer_stands_apart_from_layers() -> None:
    rows = [score("wic/accuracy", 0.5, part=part) for part in ("best layer", "layer 0", "layer 1")]
    dot, line = task_score_figures(Result(rows))
    assert len(values_of(dot)) == 1
    assert len(values_of(line)) == 2
    assert "best layer" in dot.title


def test_epochs_are_called_so() -> None:
    rows = [score("rte/mlp/accuracy", 0.5, part=f"epoch {k}") for k in (1, 2, 3)]
    (figure,) = task_score_figures(Result(rows))
    assert figure.spec["layer"][-1]["encoding"]["x"]["title"] == "number of the epoch"
    assert [mark["place"] for mark in values_of(figure)] == [1, 2, 3]


def test_many_tasks_are_cut_and_undefined_scores_told() -> None:
    rows = [score(f"task{k}/accuracy", 0.5) for k in range(80)]
    rows.append(score("odd/accuracy", None))
    (figure,) = task_score_figures(Result(rows))
    assert len(values_of(figure)) == 60
    assert len(figure.rows) == 80
    assert "20 more numbers in the table only. 1 undefined." in figure.alt


def test_scores_without_intervals_are_drawn_and_not_counted() -> None:
    rows = [
        Row("m", "", name, f"average{end}", 0.1, extra={"unit": "sets"})
        for name in ("none", "center")
        for end in ("", "/difference")
    ]
    plain, change = task_score_figures(Result(rows))
    assert "interval" not in plain.alt
    assert "No difference has an interval" in change.alt
    check_figure(plain)


def test_names_stay_data() -> None:
    rows = [score(f"{NASTY}/accuracy", 0.5, subject=NASTY, part=part) for part in ("a", "b")]
    rows.append(score(f"{NASTY}/accuracy", 0.5, subject="x" + NASTY))
    for figure in task_score_figures(Result(rows)):
        assert "alert" not in outside_data(figure.spec)
        check_figure(figure)


@pytest.mark.parametrize(
    "row",
    [
        Row("m", "", "none", "mean_cosine", 0.5),
        Row("m", "", "none", "i1/turning", 0.5, extra={"unit": "checkpoints"}),
        Row("m", "", "none", "mrpc/f1", 0.5, extra={"unit": "runs"}),
        Row("m", "", "none", "neighbours/recall", 0.5, extra={"unit": "queries"}),
        Row("m", "s1", "none", "average/accuracy", 0.5, extra={"unit": "sets", "revision": "s1"}),
        Row("m", "", "none", "sts-b/seconds", 0.5, extra={"unit": "seconds"}),
        Row("m", "", "none", "wic/accuracy", None, extra={"unit": "pairs"}),
    ],
)
def test_nothing_for_other_rows(row: Row) -> None:
    assert task_score_figures(Result([row])) == []


def test_nothing_for_advice_whose_scores_have_a_figure_of_their_own() -> None:
    assert task_score_figures(Result(words(), extra={KIND: "advice"})) == []
