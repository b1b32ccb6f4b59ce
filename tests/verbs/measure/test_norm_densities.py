"""Stepped lines over the bins of norms."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from drawn_charts_for_tests import HOSTILE, axes_of, check_chart, marks_in, picture, values_of

import isoscope
from isoscope.results.result import Result, Table
from isoscope.verbs.measure.charts import closed, norm_density_figures, point_at


def bin_at(number: int, share: float, count: int = 3) -> dict[str, float | int | None]:
    return {"from": 2 ** (number / 16), "to": 2 ** ((number + 1) / 16), "count": count,
            "share": share}  # fmt: skip


def test_every_bin_that_measure_gives_is_a_point() -> None:
    cloud = np.random.default_rng(0).normal(0.5, 1, (300, 8))
    result = isoscope.measure(cloud, ["norm_density"], "none,center")
    (figure,) = norm_density_figures(result)
    check_chart(figure)
    filled = [p for p in values_of(figure) if p["percent"] > 0]
    assert len(filled) == sum(len(table.rows) for table in result.tables) == len(figure.rows)
    for space in ("none", "center"):
        rows = result.table("norm_density", space).rows
        mine = [p for p in filled if p["space"] == space]
        assert [p["count"] for p in mine] == [row["count"] for row in rows]
        # Points have five digits.
        assert [p["percent"] for p in mine] == pytest.approx([100 * r["share"] for r in rows], 1e-4)
        assert [p["low"] for p in mine] == pytest.approx([r["from"] for r in rows], rel=1e-4)
        top = max(rows, key=lambda row: row["share"])
        assert f"most ({100 * top['share']:.3g} %) from {top['from']:.4g}" in figure.alt
    assert marks_in(picture(figure), "point") == len(values_of(figure))
    assert marks_in(picture(figure), "line mark") == 2
    assert axes_of(figure, "point") == axes_of(figure, "line") == {("norm", "percent")}
    assert "Beyond" not in figure.alt


def test_the_line_falls_to_zero_around_bins_and_in_gaps() -> None:
    rows = [bin_at(0, 0.5), bin_at(1, 0.25), bin_at(3, 0.125), bin_at(7, 0.125)]
    (figure,) = norm_density_figures(Result([], [Table("m", "", "none", "norm_density", rows)]))
    found = [(round(16 * math.log2(p["low"]), 2), p["percent"]) for p in values_of(figure)]
    assert found == [
        (-1, 0),
        (0, 50),
        (1, 25),
        (2, 0),
        (3, 12.5),
        (4, 0),
        (6, 0),
        (7, 12.5),
        (8, 0),
    ]
    norms = [p["norm"] for p in values_of(figure)]
    assert norms == sorted(norms)
    assert len(figure.rows) == 4


def test_a_point_is_in_the_middle_of_its_bin_on_a_logarithmic_axis() -> None:
    assert point_at(1.0, 4.0, 0.5, 2)["norm"] == 2
    assert [point["percent"] for point in closed([point_at(1.0, 2.0, 0.5, 2)])] == [0, 50, 0]


def test_bins_beyond_the_axis_are_said_and_not_drawn() -> None:
    rows = [
        {"from": 0.0, "to": 2.0**-40, "count": 1, "share": 0.25},
        bin_at(0, 0.5),
        {"from": 2.0**40, "to": None, "count": 1, "share": 0.25},
    ]
    (figure,) = norm_density_figures(Result([], [Table("m", "", "none", "norm_density", rows)]))
    check_chart(figure)
    assert [p["percent"] for p in values_of(figure)] == [0, 50, 0]
    assert "Beyond the axis are 50 % of the vectors." in figure.alt


def test_models_are_small_charts_with_the_same_norms() -> None:
    tables = [
        Table(m, "", c, "norm_density", [bin_at(k, 1.0)])
        for k, m in enumerate(("a", "b", "c"))
        for c in ("none", "center")
    ]
    (figure,) = norm_density_figures(Result([], tables))
    check_chart(figure)
    assert figure.spec["facet"]["sort"] == ["a", "b", "c"]
    x = figure.spec["spec"]["layer"][0]["encoding"]["x"]
    assert x["scale"]["type"] == "log"
    assert x["scale"]["domain"] == pytest.approx([2 ** (-1 / 16), 2 ** (4 / 16)], rel=1e-4)


def test_nothing_for_other_results() -> None:
    assert not norm_density_figures(Result([]))
    other = Table("m", "", "none", "spectrum", [bin_at(0, 1.0)])
    empty = Table("m", "", "none", "norm_density", [])
    only_beyond = Table("m", "", "none", "norm_density", [{"from": 0.0, "to": 1.0, "share": 1.0}])
    assert not norm_density_figures(Result([], [other, empty, only_beyond]))


def test_names_stay_data_and_files_small() -> None:
    tables = [
        Table(HOSTILE, part, HOSTILE, "norm_density", [bin_at(k, 0.02) for k in range(50)])
        for part in (HOSTILE, "b")
    ]
    (figure,) = norm_density_figures(Result([], tables))
    check_chart(figure)
    assert "<b>" not in picture(figure)
    assert len(json.dumps(figure.spec)) < 40_000
