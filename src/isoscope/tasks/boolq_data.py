"""BoolQ: yes/no questions about a passage, as SuperGLUE has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.tasks.examples import LabelledText
from isoscope.tasks.registry import DataFile, register
from isoscope.tasks.text_file import as_label, check_texts, json_rows, json_text
from isoscope.tasks.text_tasks import TextClassification

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

LABELS = ("true", "false")


def read_boolq(path: Path, file: DataFile, labels: Collection[str]) -> list[LabelledText]:
    """Read a split: a JSON object a line, whose label is a truth value or its name."""
    examples = []
    for number, row in json_rows(path):
        where = f"{path}: line {number}"
        first, second = (json_text(row, key, where) for key in ("question", "passage"))
        check_texts((first, second), where)
        answer = row.get("label")
        written = (
            str(answer).lower() if isinstance(answer, bool) else json_text(row, "label", where)
        )
        label = as_label(written, labels, where)
        examples.append(LabelledText(first, second, label, file.part))
    return examples


register(
    TextClassification(
        "boolq", "classification",
        (
            DataFile("BoolQ/train.jsonl", 9_427, "train", optional=True),
            DataFile("BoolQ/val.jsonl", 3_270, "val"),
        ),
        "a JSON object a line with question, passage and label (true or false)",
        "questions", "CC BY-SA 3.0; not redistributed here",
        "Clark et al. (2019), BoolQ: Exploring the surprising difficulty of natural yes/no "
        "questions, NAACL; in SuperGLUE: Wang et al. (2019), NeurIPS",
        "a classifier of the frozen features of question and passage, fitted on train and scored "
        "on val; without train, cross-validated on val",
        ("accuracy",), read_boolq, LABELS, True,
    )
)  # fmt: skip
