"""Rows of runs for studies: how far they moved, and results put together."""

from __future__ import annotations

import pytest

from isoscope.results.result import Result, Row
from isoscope.verbs.study.training_runs import moved, suffix_of, task_of, together


def row(correction: str, value: float | None, note: str = "", part: str = "rte: head") -> Row:
    return Row("m", part, correction, "i1", value, n=3, note=note)


def test_moves_are_to_either_side_of_none() -> None:
    found = moved([row("none", 0.9), row("cosreg", 0.8), row("flow", 0.93)])
    assert [(one.correction, one.measure) for one in found] == [
        ("cosreg", "i1/moved"),
        ("flow", "i1/moved"),
    ]
    assert [one.value for one in found] == pytest.approx([0.1, 0.03])


def test_moves_of_what_is_undefined_are_undefined() -> None:
    (found,) = moved([row("none", 0.9), row("flow", None, "it stopped")])
    assert (found.value, found.note) == (None, "it stopped")
    (found,) = moved([row("none", None, "none stopped"), row("flow", 0.5)])
    assert (found.value, found.note) == (None, "none stopped")


def test_without_none_nothing_moved() -> None:
    assert moved([row("flow", 0.5), row("none", 0.4, part="cola: head")]) == []


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
