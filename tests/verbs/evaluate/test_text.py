"""Scores of several layers, as people see them."""

from __future__ import annotations

from isoscope.results.fields import BEST, CHOSEN_ON, KIND, PART_OF_TASK, SCORES
from isoscope.results.result import Result, Row


def row(layer: str, correction: str, value: float | None, **extra: object) -> Row:
    return Row(
        "model", layer, correction, "sts-b/cosine/spearman", value, protocol="how",
        note="" if value is not None else "undefined: all scores are the same",
        extra={"unit": "pairs", **extra},
    )  # fmt: skip


ROWS = [
    row("block 1", "none", 0.5),
    row("block 1", "center", None),
    row("block 2", "none", 0.25, **{BEST: True, CHOSEN_ON: "what is scored"}),
    row("block 2", "center", 0.125, **{PART_OF_TASK: "news"}),
]


def test_layers_stand_below_each_other_and_the_best_one_is_marked() -> None:
    text = Result(ROWS, extra={KIND: SCORES}).to_markdown()
    assert "| layer | none | center |" in text
    assert "| block 1 | 0.5000 | undefined |" in text
    assert "| block 2 | best 0.2500 |" in text
    assert "best: the best of all layers, chosen on what is scored" in text
    assert "sts-b (center): undefined: all scores are the same" in text
    assert text.count("(how)") == 1
    assert "0.1250" not in text
    assert "scores of subsets" in text


def test_one_layer_has_everything() -> None:
    text = Result(ROWS[2:], extra={KIND: SCORES}).to_markdown()
    assert "| sts-b/cosine/spearman | 0.2500 | 0.1250 |" in text
