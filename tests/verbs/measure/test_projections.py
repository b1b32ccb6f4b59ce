"""Scatters of the first two components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn_charts_for_tests import (
    HOSTILE,
    axes_of,
    check_chart,
    marks_in,
    picture,
    units,
    values_of,
)

from isoscope.results.charts.chart import MOST_POINTS
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.measure.charts import projection_figures

LAYERS = ("input", "middle", "output")


def table(correction: str = "none", rows: int = 12, scale: float = 1, **fields: Any) -> Table:
    """Make points with fields that are functions of their number."""
    places = scale * np.random.default_rng(rows).normal(size=(rows, 2))
    points = [
        {"first": float(x), "second": float(y)} | {key: of(k) for key, of in fields.items()}
        for k, (x, y) in enumerate(places)
    ]
    return Table("m", "block 6", correction, "projections", points)


def encoding_of(result: Result) -> dict[str, Any]:
    (figure,) = projection_figures(result)
    check_chart(figure)
    encoding: dict[str, Any] = next(units(figure.spec))["encoding"]
    assert encoding["x"]["title"] == "first component"
    assert encoding["y"]["title"] == "second component"
    return encoding


def test_spaces_side_by_side_with_axes_of_their_own() -> None:
    tables = [table("none"), table("a-correction", scale=100)]
    (figure,) = projection_figures(Result([], tables))
    check_chart(figure)
    assert figure.spec["facet"]["sort"] == ["none", "a-correction"]
    assert figure.spec["resolve"]["scale"] == {"x": "independent", "y": "independent"}
    found = [(p["space"], p["first"], p["second"]) for p in values_of(figure)]
    wanted = [(t.correction, row["first"], row["second"]) for t in tables for row in t.rows]
    assert [p[0] for p in found] == [p[0] for p in wanted]
    # Points have four digits.
    assert np.allclose([p[1:] for p in found], [p[1:] for p in wanted], rtol=1e-3)
    assert "24 of 24 points of m block 6" in figure.alt
    low, high = min(p[1] for p in found[:12]), max(p[1] for p in found[:12])
    assert f"none: {low:.4g} to {high:.4g} along the first" in figure.alt
    assert axes_of(figure, "point") == {("first", "second")}
    assert marks_in(picture(figure), "point") == 24


def test_tokens_and_frequencies_are_told() -> None:
    points = table(log10_frequency=lambda k: -k / 2, token=lambda k: f"t{k}")
    row = Row("m", "block 6", "none", "correlation_with_log_frequency/component_1", 0.4689)
    elsewhere = Row("m", "block 5", "none", "correlation_with_log_frequency/component_1", 0.1111)
    (figure,) = projection_figures(Result([row, elsewhere], [points]))
    encoding = encoding_of(Result([row], [points]))
    assert encoding["color"]["type"] == "quantitative"
    assert "shape" not in encoding
    assert encoding["color"]["scale"] == {"scheme": "viridis"}
    assert {"token", "shade"} <= {one["field"] for one in encoding["tooltip"]}
    assert [p["token"] for p in values_of(figure)] == [f"t{k}" for k in range(12)]
    assert [p["shade"] for p in values_of(figure)] == [-k / 2 for k in range(12)]
    assert "none 0.4689" in figure.alt
    assert "0.1111" not in figure.alt
    assert figure.header == [
        "correction", "token", "first component", "second component", "log₁₀ of frequency",
    ]  # fmt: skip
    assert "width" not in figure.spec
    assert "facet" not in figure.spec


def test_large_clusters_have_colours_and_shapes_of_their_own() -> None:
    clustered = table(rows=60, cluster=lambda k: min(k % 12, 11 if k < 24 else 3))
    (figure,) = projection_figures(Result([], [clustered]))
    encoding = encoding_of(Result([], [clustered]))
    domain = encoding["color"]["scale"]["domain"]
    assert len(domain) == 7
    assert domain[0] == "3"
    assert domain[-1] == "6 others"
    assert encoding["shape"]["scale"] == encoding["color"]["scale"]
    sizes = [sum(p["group"] == name for p in values_of(figure)) for name in domain]
    assert sum(sizes) == 60
    assert f"The largest cluster of 12, 3, has {sizes[0]} points" in figure.alt
    assert sizes[0] == sum(row["cluster"] == 3 for row in clustered.rows)


def test_few_clusters_need_no_rest() -> None:
    encoding = encoding_of(Result([], [table(cluster=lambda k: k % 2)]))
    assert encoding["color"]["scale"]["domain"] == ["0", "1"]


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"position": lambda k: k}, "quantitative"),
        ({"layer": lambda k: k}, "quantitative"),
        ({"layer": lambda k: LAYERS[k % 3]}, "nominal"),
        ({"cluster": lambda k: k % 2, "position": lambda k: k}, "quantitative"),
    ],
)
def test_what_points_are_coloured_by(fields: dict[str, Any], kind: str) -> None:
    assert encoding_of(Result([], [table(**fields)]))["color"]["type"] == kind


def test_without_a_field_there_is_one_colour() -> None:
    assert "field" not in encoding_of(Result([], [table()]))["color"]


def test_unknown_colours_and_places_are_left_out() -> None:
    points = table(position=lambda k: None if k == 0 else k)
    points.rows[3]["first"] = None
    (figure,) = projection_figures(Result([], [points]))
    check_chart(figure)
    assert len(values_of(figure)) == 11 == len(figure.rows)
    assert "shade" not in values_of(figure)[0]
    assert figure.rows[0][-1] == ""
    assert "11 of 12 points" in figure.alt


def test_no_more_points_than_a_scatter_has_room_for() -> None:
    tables = [table(space, rows=1_500) for space in ("none", "center", "whiten")]
    (figure,) = projection_figures(Result([], tables))
    points = values_of(figure)
    assert MOST_POINTS - 3 < len(points) <= MOST_POINTS
    assert f"{len(points):,} of 4,500 points" in figure.alt
    # The same rows of every space, from the first to the last.
    firsts = [[p["first"] for p in points if p["space"] == t.correction] for t in tables]
    assert firsts[0] == firsts[1] == firsts[2]
    assert firsts[0][-1] == pytest.approx(tables[0].rows[-1]["first"], rel=1e-3)


def test_a_figure_per_cloud() -> None:
    other = Table("n", "", "none", "projections", table().rows)
    names = [figure.name for figure in projection_figures(Result([], [table(), other]))]
    assert names == ["projections-m-block-6", "projections-n"]


def test_tokens_with_markup_stay_data() -> None:
    points = table("</b>", token=lambda _: HOSTILE, cluster=lambda k: HOSTILE * (k % 2))
    (figure,) = projection_figures(Result([], [points, table(HOSTILE, cluster=lambda k: k)]))
    check_chart(figure)
    assert "<b>" not in picture(figure)


def test_nothing_for_other_results() -> None:
    assert not projection_figures(Result([]))
    other = Table("m", "", "none", "spectrum", [{"singular_value": 1.0}])
    empty = Table("m", "", "none", "projections", [])
    unknown = Table("m", "", "none", "projections", [{"first": None, "second": 1.0}])
    assert not projection_figures(Result([], [other, empty, unknown]))
