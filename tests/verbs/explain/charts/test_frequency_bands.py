"""Measures of tokens by how frequent they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from drawn_charts_for_tests import (
    HOSTILE,
    axes_of,
    check_chart,
    marks_in,
    picture,
    units,
    values_of,
)

from isoscope.models.frequencies import Frequencies
from isoscope.results.result import Result, Row
from isoscope.verbs.explain.charts.frequency import frequency_band_figures
from isoscope.verbs.explain.topics.frequency import band_rows

MEASURES = ("mean_cosine", "i1_scaled", "mean_norm")


def rows_of(where: str = "embedding matrix") -> list[Row]:
    """Measure a small vocabulary: two bands, and 20 tokens, too few, that the text lacks."""
    shares = np.concatenate((1 / np.arange(1.0, 301), np.zeros(20)))
    vectors = np.random.default_rng(0).normal(size=(320, 8))
    vectors[:100] += 1
    found = band_rows(where, vectors, np.arange(320), Frequencies(shares / shares.sum(), "a text"))
    return [replace(row, subject="m") for row in found]


def test_every_band_of_every_measure_is_a_point() -> None:
    rows = rows_of()
    (figure,) = frequency_band_figures(Result(rows))
    check_chart(figure)
    wanted = {
        (row.measure, row.part.rpartition(", ranks ")[2]): row.value
        for row in rows
        if row.measure in MEASURES and row.value is not None
    }
    assert len(wanted) == 6
    assert {(p["measure"], p["band"]): p["value"] for p in values_of(figure)} == wanted
    assert {p["where"] for p in values_of(figure)} == {"embedding matrix"}
    first, last = wanted["mean_cosine", "1 to 100"], wanted["mean_cosine", "101 to 1,000"]
    assert f"mean cosine {first:.4g} to {last:.4g}" in figure.alt
    assert "3 values are undefined" in figure.alt
    assert len(figure.rows) == 9
    assert [row[3] for row in figure.rows[6:]] == ["undefined"] * 3
    assert axes_of(figure, "point") == {("value", "band")}
    assert marks_in(picture(figure), "point") == 6


def test_small_charts_have_axes_of_their_own() -> None:
    (figure,) = frequency_band_figures(Result(rows_of()))
    points = [unit["encoding"] for unit in units(figure.spec) if "shape" in unit["encoding"]]
    titles = [encoding["x"]["title"] for encoding in points]
    assert titles == ["mean cosine", "I1, scaled (1 is even)", "mean norm"]
    assert {encoding["y"]["title"] for encoding in points} == {"frequency rank"}
    assert [encoding["y"]["sort"] for encoding in points] == [["1 to 100", "101 to 1,000"]] * 3


def test_intervals_are_rules_and_layers_have_shapes() -> None:
    inside = [
        replace(row, low=row.value - 0.1, high=row.value + 0.1)
        for row in rows_of("block 6")
        if row.value is not None
    ]
    (figure,) = frequency_band_figures(Result([*rows_of(), *inside]))
    check_chart(figure)
    svg = picture(figure)
    assert marks_in(svg, "point") == 12
    assert len([p for p in values_of(figure) if "low" in p]) == 6 == marks_in(svg, "rule mark")
    assert "block 6, from the first band" in figure.alt


def test_more_parts_than_shapes() -> None:
    rows = [row for k in range(9) for row in rows_of(f"block {k}")]
    (figure,) = frequency_band_figures(Result(rows))
    assert len({p["where"] for p in values_of(figure)}) == 7
    assert "Drawn are 7 of 9 parts." in figure.alt


def test_nothing_for_other_results() -> None:
    assert not frequency_band_figures(Result([]))
    rows = [
        Row("m", "embedding matrix", "none", "mean_cosine", 0.1),
        Row("m", "embedding matrix, ranks 1 to 100", "none", "cosine_with_mean", 0.1),
        Row("m", "embedding matrix, ranks 1 to 100", "none", "mean_norm", None),
        Row("m", "embedding matrix, ranks 1 to 100", "center", "mean_norm", 1.0),
    ]
    assert not frequency_band_figures(Result(rows))


def test_names_stay_data() -> None:
    rows = [replace(row, subject=HOSTILE) for row in rows_of(HOSTILE)]
    (figure,) = frequency_band_figures(Result(rows))
    check_chart(figure)
    assert "<b>" not in picture(figure)
