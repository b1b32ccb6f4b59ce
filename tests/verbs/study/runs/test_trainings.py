"""Rows of runs for studies: how far they moved, and results put together."""

from __future__ import annotations

import pytest

from isoscope.results.result import Result, Row
from isoscope.verbs.study.runs.trainings import (
    differences,
    suffix_of,
    task_of,
    together,
    with_time_error,
)
from isoscope.verbs.train.names import SECONDS


def row(
    correction: str,
    value: float | None,
    note: str = "",
    part: str = "rte: head",
    runs: tuple[float, ...] = (),
) -> Row:
    return Row("m", part, correction, "i1", value, n=3, note=note, extra={"runs": list(runs)})


def test_differences_to_none_have_an_interval() -> None:
    rows = [
        row("none", 0.9, runs=(0.89, 0.9, 0.91)),
        row("cosreg", 0.8, runs=(0.79, 0.8, 0.81)),
        row("flow", 0.93, runs=(0.93,)),
    ]
    found = differences(rows)
    assert [(one.correction, one.measure) for one in found] == [
        ("cosreg", "i1/difference"),
        ("flow", "i1/difference"),
    ]
    assert [one.value for one in found] == pytest.approx([-0.1, 0.03])
    # s = 0.01, four degrees of freedom: 2.776 · 0.01 · √(2/3)
    assert found[0].high - found[0].value == pytest.approx(2.776 * 0.01 * (2 / 3) ** 0.5, rel=1e-3)
    assert found[1].low is not None  # the deviation is that of the runs without it


def test_differences_of_what_is_undefined_are_undefined() -> None:
    (found,) = differences([row("none", 0.9), row("flow", None, "it stopped")])
    assert (found.value, found.note) == (None, "it stopped")
    (found,) = differences([row("none", None, "none stopped"), row("flow", 0.5)])
    assert (found.value, found.note) == (None, "none stopped")


def test_without_none_there_is_no_difference() -> None:
    assert differences([row("flow", 0.5), row("none", 0.4, part="cola: head")]) == []


def test_ratios_of_times_have_an_interval() -> None:
    def time(correction: str, *runs: float) -> Row:
        mean = sum(runs) / len(runs)
        return Row("m", "rte", correction, SECONDS, mean, n=3, extra={"runs": list(runs)})

    ratio = Row("m", "rte", "flow", f"{SECONDS}/ratio", 10.0, n=3)
    rows = [time("none", 1.0, 1.1, 0.9), time("flow", 10.0, 11.0, 9.0), ratio]
    found = with_time_error(rows)[-1]
    assert found.value == 10.0
    assert 7 < found.low < 10 < found.high < 14
    alone = with_time_error([time("none", 1.0), time("flow", 10.0), ratio])[-1]
    assert alone.low is None


def test_tasks_of_rows() -> None:
    assert task_of(row("none", 1.0, part="translate:de-en: vocabulary")) == "translate:de-en"
    assert task_of(row("none", 1.0, part="translate:de-en")) == "translate:de-en"


@pytest.mark.parametrize(("limit", "suffix"), [(50_000, "-50k"), (None, ""), (4_000, "")])
def test_a_model_of_the_smaller_set_has_another_name(limit: int | None, suffix: str) -> None:
    result = Result([], extra={"settings": {"summarize": {"limit": limit}}})
    assert suffix_of(result, (50_000, "-50k")) == suffix
    assert suffix_of(result, None) == ""


def test_settings_and_remarks_of_all_results_stay() -> None:
    def one(subject: str, task: str) -> Result:
        extra = {"settings": {task: {"epochs": 1}}, "remarks": [f"{subject} on {task}"]}
        return Result([Row(subject, task, "none", f"{task}/accuracy", 0.5)], extra=extra)

    whole = together([one("a", "rte"), one("a", "cola"), one("b", "rte")])
    assert {name: list(tasks) for name, tasks in whole.extra["settings"].items()} == {
        "a": ["rte", "cola"],
        "b": ["rte"],
    }
    assert whole.extra["remarks"] == ["a on rte", "a on cola", "b on rte"]
    assert len(whole) == 3
