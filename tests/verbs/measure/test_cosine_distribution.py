"""Curves through the quantiles of the cosines of random pairs."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_charts_for_tests import HOSTILE, axes_of, check_chart, marks_in, picture, values_of

import isoscope
from isoscope.results.result import Result, Row
from isoscope.verbs.measure.charts import cosine_distribution_figures

PERCENTS = (1, 5, 50, 95, 99)


def rows_of(subject: str, part: str = "", correction: str = "none", shift: float = 0) -> list[Row]:
    return [
        Row(subject, part, correction, f"cosine_quantiles/{percent}%", percent / 200 + shift)
        for percent in PERCENTS
    ]


def test_every_quantile_that_measure_gives_is_a_point() -> None:
    cloud = np.random.default_rng(0).normal(0.5, 1, (300, 8))
    result = isoscope.measure(cloud, ["cosine_quantiles", "mean_cosine"], "none,center")
    (figure,) = cosine_distribution_figures(result)
    check_chart(figure)
    found = {(p["space"], p["percent"]): p["cosine"] for p in values_of(figure)}
    wanted = {
        (space, percent): result.value(f"cosine_quantiles/{percent}%", space)
        for space in ("none", "center")
        for percent in PERCENTS
    }
    assert found == wanted
    assert len(figure.rows) == 10
    assert "none: median" in figure.alt
    assert "center: median" in figure.alt
    assert f"99 % below {wanted['none', 99]:.4g}" in figure.alt
    assert "quantiles" in figure.alt
    assert "facet" not in figure.spec
    assert "width" not in figure.spec
    assert axes_of(figure, "point") == axes_of(figure, "line") == {("cosine", "percent")}
    svg = picture(figure)
    assert svg.count(">correction<") == 1, "one legend for colours and dashes"
    assert marks_in(svg, "point") == 10
    assert marks_in(svg, "line mark") == 2


def test_layers_of_a_model_are_small_charts_in_their_order() -> None:
    rows = [
        row
        for part in ("embedding", "block 1", "block 10", "block 2")
        for correction in ("none", "center")
        for row in rows_of("toy", part, correction)
    ]
    (figure,) = cosine_distribution_figures(Result(rows))
    check_chart(figure)
    assert figure.spec["facet"]["sort"] == ["embedding", "block 1", "block 10", "block 2"]
    assert marks_in(picture(figure), "point") == len(rows) == len(values_of(figure))
    assert {p["series"] for p in values_of(figure)} == {"none", "center"}


def test_one_space_of_few_models_is_one_chart() -> None:
    (figure,) = cosine_distribution_figures(Result([*rows_of("a"), *rows_of("b", shift=0.1)]))
    check_chart(figure)
    assert "facet" not in figure.spec
    assert {p["series"] for p in values_of(figure)} == {"a", "b"}
    assert "a: median 0.25" in figure.alt
    assert "b: median 0.35" in figure.alt


def test_undefined_quantiles_are_left_out() -> None:
    rows = [*rows_of("toy")[:4], Row("toy", "", "none", "cosine_quantiles/99%", None)]
    (figure,) = cosine_distribution_figures(Result(rows))
    assert [p["percent"] for p in values_of(figure)] == [1, 5, 50, 95]
    assert "99 %" not in figure.alt


@pytest.mark.parametrize("measure", ["mean_cosine", "cosine_quantiles", "cosine_quantiles/x%"])
def test_nothing_for_other_results(measure: str) -> None:
    assert not cosine_distribution_figures(Result([]))
    assert not cosine_distribution_figures(Result([Row("toy", "", "none", measure, 0.1)]))
    undefined = Row("toy", "", "none", "cosine_quantiles/1%", None)
    assert not cosine_distribution_figures(Result([undefined]))


def test_names_stay_data() -> None:
    rows = [row for c in ("none", HOSTILE) for row in rows_of(HOSTILE, HOSTILE, c)]
    (figure,) = cosine_distribution_figures(Result(rows))
    check_chart(figure)
    assert "<b>" not in picture(figure)
