"""Explanations as tables: parts with the same figures together, long tables cut."""

from __future__ import annotations

from isoscope.results.fields import KIND
from isoscope.results.kinds import kind_of
from isoscope.results.result import Result, Row
from isoscope.verbs.explain.text import (
    EXPLANATION,
    arranged,
    explanation_grids,
    figure,
    shortened,
)

ABOUT = {"topic": "position"}


def row(part: str, measure: str, value: float | None, correction: str = "none") -> Row:
    return Row("bert", part, correction, measure, value, extra=ABOUT, protocol=f"read {part}")


def test_parts_with_the_same_figures_share_a_table() -> None:
    rows = [
        row("words", "share", 0.5),
        *(row(f"block {k}", name, k / 8) for k in (1, 2) for name in ("accuracy", "baseline")),
        row("block 1", "accuracy", 0.25, "center"),
        row("block 2", "accuracy", 0.5, "center"),
    ]
    tables = arranged(rows)
    assert tables[0] == (["part", "share"], [["words", "0.5000"]])
    header, body = tables[1]
    assert header == ["part", "accuracy", "baseline", "accuracy (center)"]
    assert body == [
        ["block 1", "0.1250", "0.1250", "0.2500"],
        ["block 2", "0.2500", "0.2500", "0.5000"],
    ]


def test_a_part_with_many_figures_has_them_below_each_other() -> None:
    rows = [row("", f"measure_{k}", 0.5) for k in range(6)] + [row("block 1", "i1", 0.25)]
    tables = arranged(rows)
    assert tables[0][0] == ["part", "i1"]
    assert tables[1] == (
        ["figure", "value"], [[f"measure_{k}", "0.5000"] for k in range(6)]
    )  # fmt: skip


def test_whole_numbers_have_no_digits_behind_the_point() -> None:
    assert figure(row("", "rank", 12.0)) == "12"
    assert figure(row("", "count", 12_345.0)) == "12,345"
    assert figure(row("", "share", 0.5)) == "0.5000"
    assert figure(row("", "share", 0.0)) == "0"
    assert figure(row("", "share", None)) == "undefined"


def test_the_middle_of_a_long_table_is_left_out() -> None:
    lines = [[f"ids {k}", "0.1"] for k in range(15)]
    assert shortened(lines[:14]) == lines[:14]
    assert shortened(lines) == [*lines[:5], ["… 5 more", ""], *lines[-5:]]


def test_every_topic_ends_in_its_sentence() -> None:
    verdicts = [
        {"subject": "bert", "topic": name, "title": f"and {name}?", "sentence": f"{name} tells."}
        for name in ("position", "drift")
    ]
    rows = [row(f"norm {k}", "gain", 0.5) for k in range(6)]
    result = Result(
        rows, verdicts=verdicts, extra={KIND: "explanation", "remarks": ["senses is left out"]}
    )
    assert kind_of(result) == EXPLANATION
    assert kind_of(Result(rows)) != EXPLANATION
    first, second = explanation_grids(result)
    assert first.title == "bert, position: and position?"
    assert first.verdict == ["Verdict: position tells."]
    assert first.notes == [*(f"read norm {k}" for k in range(4)), "… 2 more, all with --json"]
    assert second.rows == []
    assert second.verdict == ["Verdict: drift tells."]
    assert second.notes[-1] == "senses is left out"
    text = result.to_markdown()
    assert text.index("position tells.") < text.index("drift tells.")


def test_checkpoints_of_a_training_have_a_line_each() -> None:
    rows = [
        Row("bert", "matrix", "none", "shift", step / 8, extra={**ABOUT, "revision": f"step{step}"})
        for step in (0, 4)
    ]
    ((_, body),) = arranged(rows)
    assert body == [["matrix, step0", "0"], ["matrix, step4", "0.5000"]]
