from __future__ import annotations

from figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row
from isoscope.verbs.profile.charts.outliers import norm_figures, short_names

NORMS = ["embedding", "block 1, attention.norm", "block 1, output.norm", "final norm"]


def rows_of(subject: str, *, bias: bool = True, norms: list[str] = NORMS) -> list[Row]:
    rows = []
    for k, norm in enumerate(norms):
        sizes = {"gain_avgnorm": 1.0 + k, "bias_avgnorm": 0.5 - 0.1 * k if bias else None,
                 "bias_over_gain": 7.0}  # fmt: skip
        rows += [
            Row(subject, norm, "none", measure, value, extra={"parts": "norm"})
            for measure, value in sizes.items()
        ]
    return rows


def test_marks_are_gains_and_biases_in_order_of_depth() -> None:
    (figure,) = norm_figures(Result(rows_of("m")))
    marks = values_of(figure)
    assert [m["of"] for m in marks] == ["gain"] * 4 + ["bias"] * 4
    assert [m["value"] for m in marks[:4]] == [1, 2, 3, 4]
    assert [m["norm"] for m in marks[:4]] == NORMS
    assert [m["depth"] for m in marks] == [0, 1, 2, 3] * 2
    assert "gain from 1 (embedding) to 4 (final norm), 4 in the last norm" in figure.alt
    assert "bias from 0.2 (final norm) to 0.5 (embedding), 0.2 in the last norm" in figure.alt
    check_figure(figure)


def test_norms_without_a_bias_are_said() -> None:
    (figure,) = norm_figures(Result(rows_of("m", bias=False)))
    assert {m["of"] for m in values_of(figure)} == {"gain"}
    assert "4 gains or biases are not there" in figure.alt
    check_figure(figure)


def test_norms_of_a_layer_are_numbered_on_the_axis() -> None:
    assert list(short_names(NORMS).values()) == [
        "embedding", "block 1, norm 1", "block 1, norm 2", "final norm",
    ]  # fmt: skip


def test_a_figure_for_each_model() -> None:
    figures = norm_figures(Result([*rows_of("a"), *rows_of("b")]))
    assert [figure.name for figure in figures] == ["norm-weights-a", "norm-weights-b"]


def test_nothing_for_one_norm_for_other_parts_and_for_checkpoints() -> None:
    assert norm_figures(Result([])) == []
    assert norm_figures(Result(rows_of("m", norms=NORMS[:1]))) == []
    other = [Row("m", part, "none", "gain_avgnorm", 1.0) for part in NORMS]
    assert norm_figures(Result(other)) == []
    steps = [
        Row("m", part, "none", "gain_avgnorm", 1.0, extra={"parts": "norm", "step": 1})
        for part in NORMS
    ]
    assert norm_figures(Result(steps)) == []


def test_names_stay_data() -> None:
    (figure,) = norm_figures(Result(rows_of(NASTY, norms=[NASTY, "b"])))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)
