"""Rows out of runs: means, differences, evenness, seconds, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from isoscope.results.result import Result, Row
from isoscope.verbs.train.finetune.outcomes import compared_rows
from isoscope.verbs.train.finetune.run import Outcome

SCORES = {
    "none": (0.60, 0.62, 0.61),
    "cosreg": (0.70, 0.69, 0.71),
    "spectrum-pol": (0.5, 0.52, 0.5),
}


def outcome(calibration: str, seed: int, accuracy: float | None, **more) -> Outcome:
    facts = {
        "evenness": {"head": {"i1": 0.9 + seed / 100, "i2": 0.1}},
        "seconds": (10.0 + seed, 12.0 + seed),
    }
    return Outcome("rte", calibration, seed, {"accuracy": accuracy, "f1": 0.5}, **{**facts, **more})


def runs() -> list[Outcome]:
    return [
        outcome(calibration, seed, values[seed])
        for seed in (2, 0, 1)
        for calibration, values in SCORES.items()
    ]


def rows_of(outcomes: list[Outcome]) -> Result:
    return Result(compared_rows("m", outcomes, {"rte": "how"}))


def test_a_score_is_the_mean_of_its_runs_in_the_order_of_their_seeds() -> None:
    row = rows_of(runs()).row("rte/accuracy", "cosreg")
    assert row.value == pytest.approx(0.70)
    assert row.extra["runs"] == [0.70, 0.69, 0.71]
    assert row.extra["seeds"] == [0, 1, 2]
    assert row.extra["sd"] == pytest.approx(np.std(SCORES["cosreg"], ddof=1))
    assert (row.part, row.n, row.protocol, row.note) == ("rte", 3, "how", "")
    assert row.extra["main_score"] is True


def test_only_the_first_score_of_a_task_decides() -> None:
    found = rows_of(runs())
    assert "main_score" not in found.row("rte/f1", "none").extra
    assert found.row("rte/accuracy", "none").extra["main_score"]


@pytest.mark.parametrize(("calibration", "star", "worse"), [
    ("cosreg", True, False), ("spectrum-pol", False, True),
])  # fmt: skip
def test_differences_are_those_of_students_test(calibration: str, star: bool, worse: bool) -> None:
    row = rows_of(runs()).row("rte/accuracy/difference", calibration)
    test = ttest_ind(SCORES[calibration], SCORES["none"], equal_var=True)
    interval = test.confidence_interval(0.95)
    assert row.extra["p"] == pytest.approx(test.pvalue)
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
    assert (row.extra["star"], row.extra["worse"]) == (star, worse)


def test_without_uncalibrated_runs_there_is_nothing_to_compare_with() -> None:
    found = rows_of([run for run in runs() if run.calibration != "none"])
    assert not [row for row in found if "/difference" in row.measure or "/ratio" in row.measure]


def test_runs_without_calibration_are_not_compared_with_themselves() -> None:
    assert not [
        row for row in rows_of(runs())
        if row.correction == "none" and ("/difference" in row.measure or "/ratio" in row.measure)
    ]  # fmt: skip


def test_evenness_is_a_part_of_its_own_for_every_matrix() -> None:
    row = rows_of(runs()).row("i1", "cosreg", "rte: head")
    assert row.value == pytest.approx(0.91)
    assert row.extra["sd"] == pytest.approx(0.01)
    assert row.extra["runs"] == pytest.approx([0.90, 0.91, 0.92])


def test_seconds_are_means_over_epochs_then_runs() -> None:
    slow = [outcome("cosreg", seed, 0.5, seconds=(24.0,)) for seed in range(3)]
    found = rows_of([run for run in runs() if run.calibration == "none"] + slow)
    assert found.value("seconds_per_epoch", "none") == pytest.approx(12.0)
    assert found.value("seconds_per_epoch/ratio", "cosreg") == pytest.approx(2.0)


def correlations(*values: float | None, calibration: str = "flow") -> list[Outcome]:
    return [
        Outcome(
            "sts-b",
            calibration,
            seed,
            {"pearson": value},
            constant=value is None,
            notes=("undefined: every prediction is the same",) if value is None else (),
        )
        for seed, value in enumerate(values)
    ]


def of(rows: list[Row], measure: str, calibration: str) -> Row:
    (row,) = [r for r in rows if (r.measure, r.correction) == (measure, calibration)]
    return row


def test_an_undefined_correlation_is_null_and_says_why() -> None:
    runs = correlations(None, None) + correlations(0.8, 0.82, calibration="none")
    rows = compared_rows("m", runs, lambda task: f"{task} as usual")
    row = of(rows, "sts-b/pearson", "flow")
    assert row.value is None
    assert row.extra["sd"] is None
    assert row.extra["constant"] == 2
    assert row.note == (
        "constant predictions in 2 of 2 runs; undefined: every prediction is the same"
    )
    change = of(rows, "sts-b/pearson/difference", "flow")
    assert change.value is None
    assert change.extra["star"] is False
    assert change.extra["worse"] is False
    assert change.note == "undefined: flow has no score in any run"


def test_a_mean_leaves_undefined_runs_out_and_counts_them() -> None:
    row = of(
        compared_rows("m", correlations(0.7, None, 0.8), {"sts-b": ""}), "sts-b/pearson", "flow"
    )
    assert row.value == pytest.approx(0.75)
    assert row.n == 3
    assert row.extra["runs"] == [0.7, None, 0.8]
    assert "undefined in 1 of 3 runs" in row.note


def test_a_run_that_stopped_says_at_which_step() -> None:
    said = ("loss is nan at step 17: training stopped; none was kept before", "a sample")
    stopped = outcome("cosreg", 1, None, stopped_at=17, evenness={}, seconds=(), notes=said)
    row = rows_of([outcome("cosreg", 0, 0.5, notes=("a sample",)), stopped]).row(
        "rte/accuracy", "cosreg"
    )
    assert row.note == "seed 1 stopped at step 17, whose numbers were not finite; a sample"


def test_what_some_runs_say_is_counted() -> None:
    runs = [
        outcome("cosreg", seed, 0.5, constant=seed > 0, notes=("every prediction is 1",) * seed)
        for seed in (0, 1)
    ]
    assert rows_of(runs).row("rte/accuracy", "cosreg").note == (
        "constant predictions in 1 of 2 runs; every prediction is 1 (1 of 2 runs)"
    )


def test_one_run_of_each_has_a_difference_without_a_test() -> None:
    row = rows_of([outcome("none", 0, 0.5), outcome("flow", 0, 0.6)]).row(
        "rte/accuracy/difference", "flow"
    )
    assert row.value == pytest.approx(0.1)
    assert row.low is None
    assert row.extra["p"] is None
    assert row.extra["star"] is False
    assert "no test" in row.note
