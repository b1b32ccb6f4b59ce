"""BoolQ's questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_files import OTHER_SIZE, WITH_DATA, counted, load, put

from isoscope.errors import DataError, UsageError
from isoscope.tasks.registry import LabelledText

ROW = {"question": "is it so", "passage": "So -- it\u2028is .", "idx": 0, "label": "true"}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@OTHER_SIZE
def test_labels_are_truth_values_or_their_names(tmp_path: Path) -> None:
    rows = [ROW, ROW | {"label": "false"}, ROW | {"label": True}, ROW | {"label": False}]
    put(tmp_path / "BoolQ" / "val.jsonl", lines(*rows))
    found = load("boolq", tmp_path)
    assert found[0] == LabelledText("is it so", "So -- it\u2028is .", "true", "val")
    assert [one.label for one in found] == ["true", "false", "true", "false"]
    put(tmp_path / "BoolQ" / "train.jsonl", lines(ROW))
    assert [one.split for one in load("boolq", tmp_path)] == ["train"] + ["val"] * 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "val.jsonl: line 2 is not valid JSON"),
        ("[]", "line 2 should be a JSON object"),
        (json.dumps(ROW | {"label": "maybe"}), "line 2: the label 'maybe' is unknown"),
        (json.dumps(ROW | {"label": 1}), "line 2 needs a text under 'label'"),
        (json.dumps({"question": "x"}), "line 2 needs a text under 'passage'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, line: str, message: str) -> None:
    put(tmp_path / "BoolQ" / "val.jsonl", lines(ROW) + line + "\n")
    with pytest.raises(DataError, match=message):
        load("boolq", tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no BoolQ/val.jsonl in .*on each line a JSON object"):
        load("boolq", tmp_path)


@WITH_DATA
def test_the_real_file() -> None:
    assert counted("boolq", ["val"], lambda one: one.label) == {"true": 2033, "false": 1237}
