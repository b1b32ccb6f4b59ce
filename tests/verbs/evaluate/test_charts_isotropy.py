from __future__ import annotations

import numpy as np
import pytest
from relations_for_tests import evaluation
from result_figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.charts.chart import MOST_POINTS
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.evaluate.charts import OTHERS, evenly, few, isotropy_figures
from isoscope.verbs.evaluate.relation import relate


def related(model: str = "alpha", task: str = "sts-b") -> Result:
    random = np.random.default_rng(0)
    powers = random.uniform(-8, 0, (6, 4))
    scores = 0.5 + 0.04 * powers + random.normal(0, 0.05, (6, 4))
    scores[2, 1] = np.nan
    return relate([evaluation(scores, powers, model=one, task=task) for one in (model, "beta")])


@pytest.fixture(scope="module")
def result() -> Result:
    return related()


def test_every_space_is_a_mark_in_a_panel_for_every_measure(result: Result) -> None:
    _, spaces = isotropy_figures(result)
    marks = values_of(spaces)
    table = result.tables[0].rows
    known = [row for row in table if row["value"] is not None]
    assert (len(table), len(known)) == (48, 46)
    assert len(marks) == 46 * 3
    powers = [mark for mark in marks if mark["panel"].startswith("log10 of i1_scaled")]
    assert [mark["place"] for mark in powers] == [row["i1_scaled_log10"] for row in known]
    assert [mark["value"] for mark in powers] == [row["value"] for row in known]
    assert {mark["panel"] for mark in marks} == {
        "log10 of i1_scaled (higher is more isotropic)",
        "mean_cosine (lower is more isotropic)",
        "mean_norm",
    }
    assert len(spaces.rows) == 48
    assert spaces.rows[0][3] == f"{table[0]['value']:.4g}"
    first = next(row for row in result.rows if row.extra["isotropy"] == "i1_scaled")
    assert f"i1_scaled {first.value:.4g} ({first.low:.4g} to {first.high:.4g})" in spaces.alt
    assert spaces.spec["spec"]["encoding"]["shape"]["field"] == "family"
    check_figure(spaces)


def test_correlations_by_what_is_compared(result: Result) -> None:
    correlations, _ = isotropy_figures(result)
    known = [row for row in result.rows if row.value is not None]
    marks = values_of(correlations)
    assert [mark["value"] for mark in marks] == [row.value for row in known]
    assert {mark["panel"] for mark in marks} == {row.subject for row in result.rows}
    own = [row for row in known if row.subject == "all spaces"]
    up = sum(row.low is not None and row.low > 0 for row in own)
    assert (
        f"all spaces: of 3, {up} above 0 with their whole interval and 0 below" in correlations.alt
    )
    assert up == 2
    assert correlations.spec["spec"]["layer"][0]["encoding"]["x"]["datum"] == 0
    check_figure(correlations)


def test_names_stay_data() -> None:
    figures = isotropy_figures(related(model=NASTY, task=NASTY.replace("/", "")))
    assert len(figures) == 2
    assert "alert" not in outside_data(figures[1].spec)
    for figure in figures:
        check_figure(figure)


def test_more_names_than_colours_are_with_others() -> None:
    assert few(["a"] * 3) == ["a"]
    assert few(str(k) for k in range(7)) == [str(k) for k in range(7)]
    assert few(str(k) for k in range(8)) == [str(k) for k in range(6)]
    rows = [
        {"score": "s", "model": "m", "layer": "l", "correction": f"c{k}", "value": k / 10, "iso": k}
        for k in range(9)
    ]
    table = Table("all spaces", "", "none", "spaces", rows)
    (figure,) = isotropy_figures(Result([], [table], extra={"kind": "relation"}))
    assert [mark["series"] for mark in values_of(figure)][5:] == ["c5", OTHERS, OTHERS, OTHERS]
    assert [mark["correction"] for mark in values_of(figure)][-1] == "c8"
    check_figure(figure)


def test_of_many_marks_some_are_drawn_evenly() -> None:
    assert evenly([{"k": k} for k in range(10)], 5) == [{"k": k} for k in range(0, 10, 2)]
    rows = [
        {"score": "s", "model": "m", "layer": str(k), "correction": "none", "value": k, "iso": k}
        for k in range(MOST_POINTS + 5)
    ]
    table = Table("all spaces", "", "none", "spaces", rows)
    (figure,) = isotropy_figures(Result([], [table], extra={"kind": "relation"}))
    assert len(values_of(figure)) == MOST_POINTS
    assert "Of 2,005 marks, 2,000 are drawn." in figure.alt
    assert "No correlation is known." in figure.alt


def test_nothing_for_other_results() -> None:
    assert isotropy_figures(Result([Row("m", "", "none", "mean_cosine", 0.5)])) == []
    assert isotropy_figures(Result([], extra={"kind": "relation"})) == []
