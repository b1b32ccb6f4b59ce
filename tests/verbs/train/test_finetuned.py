"""Runs of fine-tuning as tables: stars, constant predictions, intervals, evenness, time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isoscope.results.kinds import kind_of
from isoscope.results.result import Result
from isoscope.verbs.train.finetune.outcomes import compared_rows
from isoscope.verbs.train.finetune.run import Outcome
from isoscope.verbs.train.text import fine_tuning_grids

EVEN = {"i1": 0.91, "i2": 0.0004, "mean_norm": 0.5, "i1_scaled": 0.4}


def run(task: str, calibration: str, seed: int, **scores: float | None) -> Outcome:
    constant = None in scores.values() or scores.get("matthews") == 0
    slow = 2.0 if calibration == "flow" else 1.0
    return Outcome(
        task,
        calibration,
        seed,
        {name.replace("_", "-"): value for name, value in scores.items()},
        {"head": EVEN, "hidden": {**EVEN, "i1": None}},
        (10 * slow + seed, 12 * slow + seed),
        constant=constant,
    )


def outcomes() -> list[Outcome]:
    runs = []
    for seed in range(3):
        wiggle = seed / 1000
        runs += [
            run("cola", "none", seed, matthews=0.5 + wiggle, accuracy=0.8),
            run("cola", "flow", seed, matthews=0.6 + wiggle, accuracy=0.8),
            run("cola", "spectrum-pol", seed, matthews=0.0, accuracy=0.7),
            run("sts-b", "none", seed, pearson=0.8 + wiggle, spearman=0.8),
            run("sts-b", "flow", seed, pearson=0.8 - wiggle, spearman=0.7),
            run("sts-b", "spectrum-pol", seed, pearson=None, spearman=None),
            run("mnli", "none", seed, accuracy_matched=0.7, accuracy_mismatched=0.71),
        ]
    return runs


PROTOCOLS = dict.fromkeys(("cola", "sts-b", "mnli", "translate:de-en", "summarize"), "3 epochs")
SETTINGS = {
    "cola": {"epochs": 3, "calibrations": {"none": {}, "flow": {"weight": "0.1"}}},
    "sts-b": {"epochs": 3, "calibrations": {"none": {}, "flow": {"weight": "0.1"}}},
    "mnli": {"epochs": 3, "calibrations": {"none": {}, "flow": {"weight": "1"}}},
}


def result(runs: list[Outcome] | None = None) -> Result:
    rows = compared_rows("m", outcomes() if runs is None else runs, PROTOCOLS)
    extra = {"kind": "fine-tuning", "settings": SETTINGS, "remarks": ["Searched."]}
    return Result(rows, extra=extra)


def test_scores_are_printed_as_papers_do() -> None:
    scores = fine_tuning_grids(result())[0]
    assert scores.title == "m: fine-tuned, mean ± deviation of 3 runs, × 100"
    assert scores.header == [
        "calibration", "cola matthews", "sts-b pearson", "mnli accuracy-matched",
        "mnli accuracy-mismatched",
    ]  # fmt: skip
    assert scores.rows == [
        ["none", "50.10 ± 0.10", "80.10 ± 0.10", "70.00 ± 0.00", "71.00 ± 0.00"],
        ["flow", "60.10 ± 0.10 *", "79.90 ± 0.10", "", ""],
        ["spectrum-pol", "0.00 ± 0.00 c", "NaN c", "", ""],
    ]
    text = "\n".join(scores.notes)
    for words in ("*: significantly better than none (p < 0.05", "c: every prediction is the same",
                  "NaN: a correlation", "cola, sts-b, mnli: 3 epochs",
                  "cola with spectrum-pol: constant predictions in 3 of 3 runs"):  # fmt: skip
        assert words in text


def test_differences_have_their_interval() -> None:
    grid = fine_tuning_grids(result())[1]
    assert grid.header == ["calibration", "cola matthews", "sts-b pearson"]
    assert grid.rows[0] == ["flow", "+10.00 (9.77 to 10.23)", "-0.20 (-0.43 to 0.03)"]
    assert grid.rows[1][2] == "NaN"
    assert grid.notes == ["spectrum-pol: undefined: spectrum-pol has no score in any run"]


def test_evenness_has_a_grid_for_every_matrix() -> None:
    head, hidden = fine_tuning_grids(result())[2:4]
    assert head.title == "m: evenness after training: the head, labels × dimensions"
    assert hidden.title == "m: evenness after training: last hidden states of tokens"
    assert head.header[1:] == ["I1", "I2", "mean norm", "I1 at norm 1"]
    assert head.rows[0] == [
        "cola, none", "0.9100 ± 0.0000", "4.0e-04 ± 0.0e+00", "0.5000 ± 0.0000", "0.4000 ± 0.0000",
    ]  # fmt: skip
    assert hidden.rows[0][1] == "undefined"
    assert len(head.rows) == 7
    assert (len(head.notes), len(hidden.notes)) == (1, 0)


def test_time_and_its_ratio() -> None:
    time = fine_tuning_grids(result())[-1]
    assert time.rows[0][1] == "12.0 ± 1.0"
    assert time.rows[1][1] == "23.0 ± 1.0 (1.92 ×)"


def test_the_verdict_names_what_is_better_and_worse() -> None:
    last = fine_tuning_grids(result())[-1]
    assert last.verdict == [
        "Verdict: significantly better than none: flow on cola; significantly worse: spectrum-pol "
        "on cola; the same prediction for everything in every run: spectrum-pol on cola and sts-b.",
        "Searched.",
    ]
    assert last.notes == [
        "options of flow: weight 0.1 (cola, sts-b)",
        "options of flow: weight 1 (mnli)",
    ]


def test_without_a_star_the_verdict_says_so() -> None:
    runs = [one for one in outcomes() if (one.task, one.calibration) != ("cola", "flow")]
    said = fine_tuning_grids(result(runs))[-1].verdict[0]
    assert said.startswith("Verdict: no calibration is significantly better than none on any task;")


def test_one_run_of_each_is_no_test() -> None:
    grids = fine_tuning_grids(result([one for one in outcomes() if one.seed == 0]))
    assert grids[0].rows[1][1] == "60.00"
    assert grids[1].rows[0][1] == "+10.00"
    assert "one run of each says nothing about chance" in grids[-1].verdict[0]


def test_bleu_is_no_share() -> None:
    runs = [
        Outcome("translate:de-en", name, seed, {"bleu": 26.0 + seed})
        for name in ("none", "cosreg")
        for seed in range(2)
    ]
    grids = fine_tuning_grids(result(runs))
    assert grids[0].title == "m: fine-tuned, mean ± deviation of 2 runs"
    assert grids[0].rows[0] == ["none", "26.50 ± 0.71"]


def test_rouges_stand_side_by_side() -> None:
    runs = [Outcome("summarize", "none", 0, {"rouge1": 0.3, "rouge2": 0.1, "rougeL": 0.2})]
    (grid,) = fine_tuning_grids(result(runs))
    assert grid.rows == [["none", "30.00", "10.00", "20.00"]]
    assert grid.verdict == ["Searched."]


@pytest.mark.parametrize("shown", ["to_markdown", "_repr_html_", "__repr__"])
def test_it_is_what_people_see(shown: str) -> None:
    found = result()
    assert kind_of(found) == "fine-tuning"
    text = getattr(found, shown)()
    assert "60.10 ± 0.10" in text
    assert "Verdict: significantly better" in text
    again = Result.from_json(found.to_json())
    assert getattr(again, shown)() == text


def test_nothing_to_show() -> None:
    assert fine_tuning_grids(replace(result(), rows=[])) == []
