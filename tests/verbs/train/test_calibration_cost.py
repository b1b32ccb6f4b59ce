from __future__ import annotations

import pytest
from result_figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row
from isoscope.verbs.train.charts import calibration_figures

NAMES = ("none", "cosreg", "flow")


def run(
    part: str, calibration: str, measure: str, value: float | None, subject: str = "m",
    low: float | None = None, high: float | None = None, **extra: object,
) -> Row:  # fmt: skip
    about = {"unit": "runs", **extra}
    return Row(subject, part, calibration, measure, value, low=low, high=high, n=3, extra=about)


def tuned(task: str = "mrpc", metric: str = "f1", subject: str = "m") -> list[Row]:
    rows = []
    for k, name in enumerate(NAMES):
        own = {"sd": 0.02, "constant": 0}
        rows += [
            run(task, name, f"{task}/{metric}", 0.8 + k / 100, subject, main_score=True, **own),
            run(task, name, f"{task}/other", 0.3, subject, **own),
            run(task, name, "seconds_per_epoch", 10.0 + k, subject, sd=1.0),
            run(f"{task}: head", name, "i1", 0.99, subject, sd=0.05),
            run(f"{task}: hidden", name, "i1", 0.01, subject, sd=0.05),
            run(f"{task}: head", name, "i2", 0.1, subject, sd=0.05),
        ]
        if k:
            rows += [
                run(task, name, f"{task}/{metric}/difference", k / 100, subject, -0.01, 0.04,
                    star=name == "flow", worse=False),
                run(task, name, f"{task}/other/difference", 0.0, subject, star=False, worse=False),
                run(task, name, "seconds_per_epoch/ratio", 1 + k, subject),
            ]  # fmt: skip
    return rows


def test_scores_gains_time_and_evenness() -> None:
    figures = calibration_figures(Result(tuned()))
    scores, gains, time, _ = figures
    assert [(p["series"], p["value"]) for p in values_of(scores)] == [
        ("none", 80), ("cosreg", 81), ("flow", 82),
    ]  # fmt: skip
    assert (values_of(scores)[0]["low"], values_of(scores)[0]["high"]) == (78, 82)
    assert "mrpc f1, score × 100: 80 with none, highest 82 (flow)" in scores.alt
    assert [(p["value"], p["low"], p["high"]) for p in values_of(gains)] == [(1, -1, 4), (2, -1, 4)]
    assert "significantly better: flow on mrpc f1 2 (-1 to 4); significantly worse: nothing" in (
        gains.alt
    )
    assert gains.spec["layer"][0]["encoding"]["x"]["datum"] == 0
    assert [row[-1] for row in gains.rows] == ["", "significantly better"]
    assert [(p["series"], p["value"]) for p in values_of(time)] == [("cosreg", 2), ("flow", 3)]
    assert time.spec["layer"][0]["encoding"]["x"]["datum"] == 1
    assert "Most: flow on mrpc, 3 times; least: cosreg on mrpc, 2 times" in time.alt
    assert [row[-1] for row in time.rows] == ["11 s", "12 s"]
    for figure in figures:
        check_figure(figure)


def test_i1_stays_between_0_and_1() -> None:
    even = calibration_figures(Result(tuned()))[-1]
    marks = values_of(even)
    assert len(marks) == 6
    assert [mark["panel"] for mark in marks[:2]] == [
        "the head, labels × dimensions", "last hidden states of tokens",
    ]  # fmt: skip
    assert marks[0]["high"] == 1.0
    assert marks[1]["low"] == 0.0
    points = even.spec["spec"]["layer"][-1]["encoding"]["x"]
    assert points["scale"] == {"domain": [0, 1]}


def test_bleu_stands_as_it_is() -> None:
    scores, gains, *_ = calibration_figures(Result(tuned("translate:de-en", "bleu")))
    assert values_of(scores)[0]["value"] == 0.8
    assert "bleu" in gains.title


def test_bleu_and_shares_have_panels_of_their_own() -> None:
    scores = calibration_figures(Result([*tuned(), *tuned("translate:de-en", "bleu")]))[0]
    assert [mark["panel"] for mark in values_of(scores)] == ["score × 100"] * 3 + [
        "score: bleu"
    ] * 3
    assert scores.spec["columns"] == 2


def test_undefined_scores_are_told_and_left_out() -> None:
    rows = [run("cola", "none", "cola/matthews", None, constant=3, main_score=True, sd=None)]
    assert calibration_figures(Result(rows)) == []
    rows.append(run("rte", "none", "rte/accuracy", 0.5, constant=0, main_score=True, sd=None))
    (figure,) = calibration_figures(Result(rows))
    assert len(values_of(figure)) == 1
    assert values_of(figure)[0]["low"] is None
    assert "1 undefined" in figure.alt
    check_figure(figure)


def test_names_stay_data() -> None:
    for figure in calibration_figures(Result(tuned(NASTY.replace("/", ""), subject=NASTY))):
        assert "alert" not in outside_data(figure.spec)
        check_figure(figure)


@pytest.mark.parametrize(
    "row",
    [
        Row("m", "", "none", "men/cosine/pearson", 0.5, extra={"unit": "pairs"}),
        Row("main effects", "embedding matrix", "untied", "i1", 0.5, extra={"unit": "runs"}),
        Row("a@step0", "x: head", "none", "i1", 0.5, extra={"unit": "runs", "step": 0}),
    ],
)
def test_nothing_for_other_results(row: Row) -> None:
    assert calibration_figures(Result([row])) == []
