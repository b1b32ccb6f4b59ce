from __future__ import annotations

from figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row
from isoscope.verbs.explain.charts.layers import PROBE, probe_figures

LAYERS = ["embedding", "block 1", "block 2"]


def accuracies(subject: str = "m") -> list[Row]:
    values = [(0.7, 0.6, 0.8), (0.9, 0.85, 0.95), (0.4, None, None)]
    return [
        Row(subject, layer, "none", "position_accuracy", value, low=low, high=high)
        for layer, (value, low, high) in zip(LAYERS, values, strict=True)
    ]


def test_marks_are_accuracies_and_the_baselines_of_each_layer() -> None:
    rows = accuracies()
    for layer in LAYERS:
        rows += [
            Row("m", layer, "none", "majority_baseline", 0.01),
            Row("m", layer, "none", "token_baseline", 0.02),
        ]
    (figure,) = probe_figures(Result(rows[::-1]))
    points = values_of(figure)
    assert len(points) == len(rows)
    probe = [p for p in points if p["what"] == PROBE]
    assert [(p["layer"], p["depth"], p["value"]) for p in probe] == [
        ("embedding", 0, 0.7), ("block 1", 1, 0.9), ("block 2", 2, 0.4),
    ]  # fmt: skip
    assert sum("low" in p for p in points) == 2
    assert "best 0.9 (95 % interval 0.85 to 0.95) at block 1, 0.4 at block 2" in figure.alt
    assert "commonest position at most 0.01" in figure.alt
    check_figure(figure)


def test_a_baseline_of_no_layer_is_for_all() -> None:
    rows = [
        *accuracies(), Row("m", "", "none", "majority_baseline", 0.1),
        Row("m", "", "none", "position_accuracy/high_layers", 0.2),
        Row("other", "", "none", "token_baseline", 0.3),
    ]  # fmt: skip
    (figure,) = probe_figures(Result(rows))
    flat = [p for p in values_of(figure) if p["what"] != PROBE]
    assert [(p["what"], p["layer"], p["value"]) for p in flat] == [
        ("commonest position", layer, 0.1) for layer in LAYERS
    ]
    check_figure(figure)


def test_a_baseline_of_other_parts_takes_no_colour() -> None:
    rows = [*accuracies(), Row("m", "elsewhere", "none", "majority_baseline", 0.1)]
    (figure,) = probe_figures(Result(rows))
    (line,) = [one for one in figure.spec["layer"] if one["mark"]["type"] == "line"]
    assert len(line["encoding"]["color"]["scale"]["range"]) == 1
    assert "Without vectors" not in figure.alt


def test_nothing_for_other_results() -> None:
    assert probe_figures(Result([])) == []
    assert probe_figures(Result(accuracies()[:1])) == []
    assert probe_figures(Result([Row("m", "", "none", "position_accuracy", 0.5)] * 2)) == []


def test_names_stay_data() -> None:
    (figure,) = probe_figures(Result(accuracies(NASTY)))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)
