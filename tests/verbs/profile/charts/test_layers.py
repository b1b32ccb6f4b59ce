from __future__ import annotations

import re
from typing import Any

import pytest
from figures_for_tests import NASTY, check_drawing, check_figure, outside_data, values_of

from isoscope.results.charts.marks import MOST_SERIES
from isoscope.results.charts.vega import BEFORE
from isoscope.results.result import Result, Row
from isoscope.verbs.profile.charts.layers import CLIPPED, layer_figures


def rows_of(
    model: str,
    blocks: int,
    correction: str = "none",
    measure: str = "mean_cosine",
    **more: Any,
) -> list[Row]:
    """A row for the input and for each block: 0.1, 0.2, …"""
    layers = ["embedding", *(f"block {k}" for k in range(1, blocks + 1))]
    return [
        Row(model, layer, correction, measure, (k + 1) / 10, **more)
        for k, layer in enumerate(layers)
    ]


def test_marks_of_one_model_are_its_rows() -> None:
    rows = [
        *rows_of("bert", 3, low=0.05, high=0.5),
        *rows_of("bert", 3, "center"),
        Row("bert", "embedding matrix", "none", "mean_cosine", 0.9),
        Row("bert", "block 1, ordinary tokens", "none", "mean_cosine", 0.9),
        *rows_of("bert@step3", 2, extra={"step": 3}),
    ]
    (figure,) = layer_figures(Result(rows))
    points = values_of(figure)
    assert [(p["layer"], p["correction"], p["value"]) for p in points] == [
        (row.part, row.correction, row.value) for row in rows[:8]
    ]
    assert [p["depth"] for p in points[:4]] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert sum("low" in p for p in points) == 4
    assert figure.spec["encoding"]["x"]["field"] == "layer"
    assert "none: lowest 0.1 at embedding, highest 0.4 at block 3" in figure.alt
    assert figure.rows[0] == ["bert", "none", "embedding", "0.1", "0.05", "0.5"]
    assert figure.rows[4] == ["bert", "center", "embedding", "0.1", "", ""]
    check_figure(figure)


def test_bands_only_where_there_are_intervals() -> None:
    with_bands, without = (
        layer_figures(Result(rows))[0] for rows in (rows_of("m", 2, low=0, high=1), rows_of("m", 2))
    )
    marks = [[layer["mark"]["type"] for layer in f.spec["layer"]] for f in (with_bands, without)]
    assert marks == [["area", "rule", "line", "point"], ["line", "point"]]


def test_the_first_measure_of_each_kind_is_drawn() -> None:
    rows = [
        *rows_of("m", 2, measure="i1_scaled"), *rows_of("m", 2, measure="i1"),
        *rows_of("m", 2, measure="random_pair_cosine"), *rows_of("m", 2, measure="intra_sim"),
    ]  # fmt: skip
    names = [figure.name for figure in layer_figures(Result(rows))]
    assert names == ["layers-i1_scaled-m", "layers-random_pair_cosine-m", "layers-intra_sim-m"]


def test_i1_is_drawn_by_its_logarithm_even_where_it_is_too_small_for_a_number() -> None:
    rows = [
        Row("m", "layer 0", "none", "i1", 0.01, low=0.001, high=0.1),
        Row("m", "layer 1", "none", "i1", 0.0, log10=-400.0),
        Row("m", "last layer", "none", "i1", 0.0),
    ]
    (figure,) = layer_figures(Result(rows))
    assert [(p["layer"], p["value"]) for p in values_of(figure)] == [
        ("layer 0", pytest.approx(-2)), ("layer 1", -400),
    ]  # fmt: skip
    assert not any("low" in point for point in values_of(figure))
    assert "1 values are undefined and not drawn" in figure.alt
    check_figure(figure)


def test_a_space_without_any_number_takes_no_colour() -> None:
    rows = [
        Row("m", layer, "none", "mean_cosine", None) for layer in ("embedding", "block 1")
    ] + rows_of("m", 1, "center")  # fmt: skip
    (figure,) = layer_figures(Result(rows))
    (line,) = [one for one in figure.spec["layer"] if one["mark"]["type"] == "line"]
    colours = line["encoding"]["color"]["scale"]["range"]
    assert colours == [values_of(figure)[0]["colour"]]
    assert BEFORE not in colours


def test_several_models_share_an_axis_of_relative_depth() -> None:
    rows = [*rows_of("a", 2), *rows_of("b", 4)]
    (figure,) = layer_figures(Result(rows))
    assert figure.spec["encoding"]["x"]["field"] == "depth"
    last = [p for p in values_of(figure) if p["depth"] == 1]
    assert [(p["model"], p["layer"]) for p in last] == [("a", "block 2"), ("b", "block 4")]
    assert "a, none: lowest 0.1" in figure.alt
    check_figure(figure)


def test_a_band_ends_where_a_layer_has_no_interval() -> None:
    ends = {"embedding": (0.2, 0.4), "block 2": (0.2, 0.4), "block 3": (0.1, 0.5)}
    rows = [
        Row("m", row.part, "none", "mean_cosine", 0.3, low=low, high=high)
        for row in rows_of("m", 3)
        for low, high in [ends.get(row.part, (None, None))]
    ]
    (figure,) = layer_figures(Result(rows))
    (band,) = re.findall(r'mark-area.*?d="([^"]*)"', check_drawing(figure), re.DOTALL)
    assert band.count("M") == 2
    check_figure(figure)


def test_colours_of_models_do_not_depend_on_which_has_which_correction() -> None:
    (figure,) = layer_figures(Result([*rows_of("a", 2, "center"), *rows_of("b", 2)]))
    check_figure(figure)


def test_several_models_and_corrections_have_a_panel_for_each_correction() -> None:
    rows = [*rows_of("a", 2, "center"), *rows_of("a", 2), *rows_of("b", 2, "center")]
    (figure,) = layer_figures(Result(rows))
    assert figure.spec["facet"]["field"] == "correction"
    assert {p["correction"]: p["place"] for p in values_of(figure)} == {"none": 0, "center": 1}
    assert len(values_of(figure)) == len(rows)
    assert 2 * figure.spec["spec"]["width"] <= 480
    check_figure(figure)


def test_many_models_have_a_panel_each_and_more_are_left_out_in_words() -> None:
    eight = [row for k in range(8) for row in rows_of(f"m{k}", 2)]
    (figure,) = layer_figures(Result(eight))
    assert figure.spec["facet"]["field"] == "model"
    check_figure(figure)
    thirty = [row for k in range(30) for row in rows_of(f"m{k}", 2)]
    (figure,) = layer_figures(Result(thirty))
    assert len({p["model"] for p in values_of(figure)}) == 12
    assert "The first 12 of 30 models are drawn" in figure.alt


def test_many_corrections_are_left_out_in_words() -> None:
    rows = [row for k in range(9) for row in rows_of("m", 2, f"clip:k={k}")] + rows_of("m", 2)
    (figure,) = layer_figures(Result(rows))
    assert len({p["correction"] for p in values_of(figure)}) == MOST_SERIES
    assert values_of(figure)[0]["correction"] == "none"
    assert "The first 7 of 10 corrections are drawn" in figure.alt


def test_clipped_outliers_of_each_layer_are_one_line() -> None:
    rows = rows_of("m", 2)
    for layer, all_of_it, one in (("block 1", "1+2", "1"), ("block 2", "3+4", "1")):
        rows += [
            Row("m", layer, f"clip:dimensions={one}", "mean_cosine", 0.3),
            Row("m", layer, f"clip:dimensions={all_of_it}", "mean_cosine", 0.05),
            Row("m", layer, f"clip:dimensions={all_of_it}", "mean_cosine/change", -0.1),
        ]
    (figure,) = layer_figures(Result(rows))
    clipped = [p for p in values_of(figure) if p["correction"] != "none"]
    assert [(p["layer"], p["correction"], p["value"]) for p in clipped] == [
        ("block 1", CLIPPED, 0.05), ("block 2", CLIPPED, 0.05),
    ]  # fmt: skip


def test_encoder_and_decoder_are_two_lines() -> None:
    rows = [
        Row("t5", f"{side} {layer}", "none", "mean_cosine", 0.5)
        for side in ("encoder", "decoder")
        for layer in ("embedding", "block 1")
    ]
    (figure,) = layer_figures(Result(rows))
    assert [p["model"] for p in values_of(figure)] == ["t5 encoder"] * 2 + ["t5 decoder"] * 2


def test_nothing_where_layers_are_not_followed() -> None:
    assert layer_figures(Result([])) == []
    assert layer_figures(Result(rows_of("m", 0))) == []
    assert layer_figures(Result(rows_of("m", 3, measure="mean_norm"))) == []
    undefined = [Row("m", part, "none", "mean_cosine", None) for part in ("embedding", "block 1")]
    assert layer_figures(Result(undefined)) == []


def test_names_stay_data() -> None:
    rows = [*rows_of(NASTY, 2), *rows_of(NASTY, 2, NASTY), *rows_of("other", 2)]
    (figure,) = layer_figures(Result(rows))
    assert "alert" not in outside_data(figure.spec)
    assert "<script" not in check_drawing(figure)
    check_figure(figure)
