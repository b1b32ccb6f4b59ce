"""Cosines with unused tokens by bins of ids."""

from __future__ import annotations

import numpy as np
from drawn_charts_for_tests import HOSTILE, axes_of, check_chart, marks_in, picture, values_of

from isoscope.results.result import Result, Row
from isoscope.verbs.explain.charts.frequency import ids_of, unused_bin_figures
from isoscope.verbs.explain.topics.unused import Bins, bin_rows

BINS = Bins(((0, 1_000), (1_000, 2_000), (2_000, 2_600)), (0, 1_000), (1_500, 2_500))


def rows_of(subject: str) -> list[Row]:
    """Make rows as explanations do: cosines rise with ids."""
    cosines = np.linspace(-0.2, 0.6, 2_600)
    return [
        Row(subject, row.part, row.correction, row.measure, row.value, n=row.n, note=row.note)
        for correction, shift in (("none", 0.3), ("center", 0.0))
        for row in bin_rows(cosines + shift, correction, BINS, "")
    ]


def test_every_bin_is_a_point_in_its_middle() -> None:
    rows = rows_of("m")
    (figure,) = unused_bin_figures(Result(rows))
    check_chart(figure)
    bins = [row for row in rows if row.measure == "cosine_with_unused"]
    assert len(bins) == len(values_of(figure)) == len(figure.rows) == 8
    assert [(p["space"], p["ids"], p["cosine"], p["count"]) for p in values_of(figure)] == [
        (row.correction, row.part, row.value, row.n) for row in bins
    ]
    assert [p["middle"] for p in values_of(figure)[:4]] == [499.5, 1_499.5, 2_299.5, 1_999.5]
    assert [p["extra"] for p in values_of(figure)[:4]] == [False, False, False, True]
    difference = next(row for row in rows if row.measure.endswith("rare_minus_frequent"))
    assert f"none: ids 1,500 to 2,499 less ids 0 to 999 {difference.value:.4g}" in figure.alt
    assert "diamond" in figure.alt
    assert axes_of(figure, "point") == axes_of(figure, "line") == {("middle", "cosine")}
    svg = picture(figure)
    assert marks_in(svg, "point") == 8
    assert marks_in(svg, "line mark") == 2


def test_bins_without_a_value_or_a_difference() -> None:
    rows = [
        Row("m", "ids 0 to 999", "none", "cosine_with_unused", 0.25),
        Row("m", "ids 1,000 to 1,999", "none", "cosine_with_unused", None, note="zero vectors"),
        Row("m", "ids 2,000 to 2,999", "none", "cosine_with_unused", 0.75),
        Row("m", "", "none", "cosine_with_unused/rare_minus_frequent", None),
    ]
    (figure,) = unused_bin_figures(Result(rows))
    check_chart(figure)
    assert [p["cosine"] for p in values_of(figure)] == [0.25, 0.75]
    assert "0.25 (ids 0 to 999), 0.75 (ids 2,000 to 2,999)" in figure.alt
    assert "diamond" not in figure.alt


def test_models_are_small_charts() -> None:
    (figure,) = unused_bin_figures(Result([*rows_of("a"), *rows_of("b")]))
    check_chart(figure)
    assert figure.spec["facet"]["sort"] == ["a", "b"]
    assert marks_in(picture(figure), "point") == 16


def test_ids_are_read_from_the_names_of_bins() -> None:
    assert ids_of("ids 28,500 to 29,499") == (28_500, 29_499)


def test_nothing_for_other_results() -> None:
    assert not unused_bin_figures(Result([]))
    rows = [
        Row("m", "", "none", "cosine_with_unused/rare_minus_frequent", 0.2),
        Row("m", "embedding matrix", "none", "cosine_with_unused", 0.2),
        Row("m", "ids 0 to 999", "none", "mean_cosine", 0.2),
        Row("m", "ids 0 to 999", "none", "cosine_with_unused", None),
    ]
    assert not unused_bin_figures(Result(rows))


def test_names_stay_data() -> None:
    (figure,) = unused_bin_figures(Result([*rows_of(HOSTILE), *rows_of("b")]))
    check_chart(figure)
    assert "<b>" not in picture(figure)
