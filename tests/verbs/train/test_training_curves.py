from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from result_figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.charts.forms import step_axis
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.train.charts import training_figures

STEPS = (0, 100, 200)


def checkpoint(
    step: int, part: str, measure: str, value: float | None, correction: str = "none",
    model: str = "m", parts: str = "matrix",
) -> Row:  # fmt: skip
    extra = {"model": model, "revision": f"step{step}", "step": step, "parts": parts}
    return Row(f"{model}@step{step}", part, correction, measure, value, extra=extra)


def profiled(model: str = "m") -> list[Row]:
    return [
        row
        for k, step in enumerate(STEPS)
        for row in (
            checkpoint(step, "embedding matrix", "i1", 0.99, model=model),
            checkpoint(step, "embedding matrix", "i1_scaled", 0.9 - 0.1 * k, model=model),
            checkpoint(step, "embedding matrix", "i1_scaled", 0.95, "center", model=model),
            checkpoint(step, "positional embeddings", "i1_scaled", 0.3, model=model),
            checkpoint(step, "embedding matrix", "mean_cosine", 0.1 * k, model=model),
            checkpoint(step, "final norm", "bias_avgnorm", 0.2, model=model, parts="norm"),
        )
    ]


def test_telling_parts_and_measures_of_a_profile_over_training() -> None:
    scaled, cosine, bias = training_figures(Result(profiled()))
    marks = values_of(scaled)
    assert [(p["step"], p["series"], p["value"]) for p in marks] == [
        (step, series, value)
        for step, plain in zip(STEPS, (0.9, 0.8, 0.7), strict=True)
        for series, value in (
            ("embedding matrix", pytest.approx(plain)),
            ("embedding matrix, center", 0.95),
        )
    ]
    assert "embedding matrix: from 0.9 to 0.7 (lowest 0.7, highest 0.9)" in scaled.alt
    assert "steps 0 to 200" in scaled.alt
    assert len(values_of(cosine)) == len(values_of(bias)) == 3
    assert "final norm" in bias.title
    assert [layer["mark"] == "line" for layer in scaled.spec["layer"]] == [True, False]
    for figure in (scaled, cosine, bias):
        check_figure(figure)


def test_studies_have_steps_as_parts() -> None:
    rows = [
        Row("tiny", f"step{step}", "none", "i1", 1 - step / 1000, log10=-0.1,
            extra={"model": "x", "revision": f"step{step}", "step": step})
        for step in STEPS
    ]  # fmt: skip
    rows.append(Row("tiny", "", "none", "i1/early_drop", -0.1, extra={"unit": "checkpoints"}))
    (figure,) = training_figures(Result(rows, extra={"study": {"id": "P-F7"}}))
    assert [(p["step"], p["value"]) for p in values_of(figure)] == [
        (0, 1.0),
        (100, 0.9),
        (200, 0.8),
    ]
    assert {p["series"] for p in values_of(figure)} == {"as it is"}
    assert figure.title == "I1 over training: tiny"


def test_a_training_from_nothing_with_the_way_of_its_mean() -> None:
    rows = [
        Row("first", f"step{step}", "none", "perplexity", 4000.0 - step, extra={"step": step})
        for step in STEPS
    ]
    ways = [{"step": s, "cosine_with_enemy": 0.9, "common_share_of_step": None} for s in STEPS]
    table = Table("first", "unembedding matrix", "none", "mean_drift", ways)
    perplexity, drift = training_figures(Result(rows, [table]))
    assert perplexity.spec["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"
    assert len(values_of(drift)) == 3
    assert "3 undefined" in drift.alt
    check_figure(perplexity)
    check_figure(drift)


def cell(tie: str, positions: str, norm: str, step: int, measure: str, part: str) -> Row:
    name = f"{tie}, {positions}, {norm}"
    factors = {"tie": tie, "positions": positions, "norm": norm}
    extra: dict[str, Any] = {
        "step": step, "unit": "runs", "sd": 0.02, "factors": factors, "model": name,
    }  # fmt: skip
    value = 0.5 + 0.1 * (tie == "untied") + step / 1000
    return Row(f"{name}@step{step}", part, "none", measure, value, n=3, extra=extra)


def ablation(norms: tuple[str, ...]) -> Result:
    rows = [
        cell(tie, positions, norm, step, measure, part)
        for tie in ("tied", "untied")
        for positions in ("learned", "none")
        for norm in norms
        for step in STEPS
        for measure, part in (("mean_cosine", "last layer"), ("mean_cosine", "block 1"))
    ]
    rows.append(Row("main effects", "last layer", "untied", "mean_cosine", 0.1))
    factors: dict[str, list[str]] = {"tie": [], "positions": [], "norm": []}
    return Result(rows, extra={"kind": "ablation", "factors": factors})


def test_cells_are_lines_with_a_band_over_seeds() -> None:
    (figure,) = training_figures(ablation(("layernorm",)))
    marks = values_of(figure)
    assert len(marks) == 4 * 3
    first = marks[0]
    assert (first["series"], first["value"]) == ("tied, learned, layernorm", 0.5)
    assert (first["start"], first["end"]) == (0.48, 0.52)
    assert "facet" not in figure.spec
    assert figure.spec["layer"][0]["mark"]["type"] == "area"
    assert figure.title == (
        "Mean cosine of two vectors (last layer) over training: models by tie, positions, norm"
    )
    assert "Of 4 curves, it starts between 0.5 (tied, learned, layernorm) and 0.6" in figure.alt
    assert "Bands are one deviation over seeds" in figure.alt
    check_figure(figure)


def test_many_cells_have_a_panel_for_the_first_factor() -> None:
    (figure,) = training_figures(ablation(("layernorm", "rmsnorm")))
    marks = values_of(figure)
    assert len(marks) == 8 * 3
    assert {mark["panel"] for mark in marks} == {"tie: tied", "tie: untied"}
    assert len({mark["series"] for mark in marks}) == 4
    assert "resolve" not in figure.spec
    check_figure(figure)


def test_steps_by_powers_of_ten_stand_so() -> None:
    even = step_axis([{"step": step} for step in (0, 100, 200)])
    assert "scale" not in even
    wide = step_axis([{"step": step} for step in (0, 1, 2, 4, 512, 1000)])
    assert wide["scale"]["type"] == "symlog"
    assert wide["axis"]["values"] == [0, 1, 10, 100, 1000]


def test_undefined_numbers_are_told() -> None:
    rows = [replace(row, value=None) if row.extra["step"] == 100 else row for row in profiled()]
    figure = training_figures(Result(rows))[0]
    assert len(values_of(figure)) == 4
    assert "2 undefined" in figure.alt


def test_names_stay_data() -> None:
    figures = training_figures(Result(profiled(NASTY)))
    assert len(figures) == 3
    for figure in figures:
        assert "alert" not in outside_data(figure.spec)
        assert "alert" in figure.title
        check_figure(figure)


def test_nothing_for_other_results_or_one_step() -> None:
    assert training_figures(Result([Row("m", "", "none", "i1", 0.5)])) == []
    assert training_figures(Result([checkpoint(5, "embedding matrix", "i1", 0.5)])) == []
