"""GLUE's files, and the samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_files import OTHER_SIZE, WITH_DATA, counted, load, put

from isoscope.errors import DataError, UsageError
from isoscope.tasks import find_task
from isoscope.tasks.registry import LabelledText

HEADERS = {
    "SST-2": "sentence\tlabel",
    "MRPC": "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
    "RTE": "index\tsentence1\tsentence2\tlabel",
    "WNLI": "index\tsentence1\tsentence2\tlabel",
    "QNLI": "index\tquestion\tsentence\tlabel",
}
ROWS = {
    "CoLA": ('gj04\t0\t*\tThe "cat sits.', ('The "cat sits.', None, "0")),
    "SST-2": ("a fine film \t1", ("a fine film", None, "1")),
    "MRPC": ('1\t12\t34\t" He said .\tShe said .', ('" He said .', "She said .", "1")),
    "RTE": ("7\tOne.\tTwo.\tnot_entailment", ("One.", "Two.", "not_entailment")),
    "WNLI": ("7\tOne.\tTwo.\t0", ("One.", "Two.", "0")),
    "QNLI": ("7\tOne?\tTwo.\tentailment", ("One?", "Two.", "entailment")),
}


def release(folder: Path, name: str, content: str | bytes, ending: str = "tsv") -> Path:
    for split in ("train", "dev"):
        put(folder / "glue" / name / f"{split}.{ending}", content)
    return folder


@OTHER_SIZE
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_columns_are_those_of_the_release(tmp_path: Path, name: str, start: str) -> None:
    row, expected = ROWS[name]
    header = f"{HEADERS[name]}\n" if name in HEADERS else ""
    release(tmp_path, name, f"{start}{header}{row}\n")
    found = load(name.lower(), tmp_path)
    assert found == [LabelledText(*expected, split) for split in ("train", "dev")]
    assert load(name.lower(), tmp_path / "glue", ["dev"]) == found[1:]
    assert load(name.lower(), tmp_path / "glue" / name, ["dev"]) == found[1:]


@OTHER_SIZE
@pytest.mark.parametrize("name", HEADERS)
def test_a_copy_without_its_header_loses_no_row(tmp_path: Path, name: str) -> None:
    release(tmp_path, name, f"{ROWS[name][0]}\n{ROWS[name][0]}\n")
    assert len(load(name.lower(), tmp_path)) == 4


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("7\tOne.\tTwo.", "RTE/train.tsv: line 3 has 3 columns .*sentence1, sentence2, label"),
        ("7\tOne.\tTwo.\tyes", "line 3: the label 'yes' is unknown; expected entailment or not_e"),
        ("7\tOne.\t\tentailment", "line 3 has an empty text"),
        (HEADERS["RTE"], "line 3: the label 'label' is unknown"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, row: str, message: str) -> None:
    release(tmp_path, "RTE", f"{HEADERS['RTE']}\n{ROWS['RTE'][0]}\n{row}\n")
    with pytest.raises(DataError, match=message):
        load("rte", tmp_path)


@OTHER_SIZE
def test_only_what_is_optional_may_be_absent(tmp_path: Path) -> None:
    for name in ("QNLI", "RTE"):
        release(tmp_path, name, f"{ROWS[name][0]}\n")
        (tmp_path / "glue" / name / "train.tsv").unlink()
    assert [one.split for one in load("qnli", tmp_path)] == ["dev"]
    with pytest.raises(UsageError, match="no QNLI/train.tsv in"):
        load("qnli", tmp_path, ["train"])
    with pytest.raises(UsageError, match="no RTE/train.tsv in .*nothing quoted"):
        load("rte", tmp_path)
    assert find_task("qnli").absent(tmp_path) == []
    assert find_task("rte").absent(tmp_path) == ["RTE/train.tsv"]


SAMPLE = {"text_a": "One?", "text_b": "Two?", "label": "1"}


@OTHER_SIZE
def test_samples_are_json(tmp_path: Path) -> None:
    release(tmp_path, "QQP-sample", json.dumps({"0": SAMPLE, "1": SAMPLE}), "json")
    found = load("qqp-sample", tmp_path)
    assert found[0] == LabelledText("One?", "Two?", "1", "train")
    assert len(found) == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "train.json is not valid JSON"),
        ("[1]", "should be a JSON object of numbered"),
        ('{"0": 1}', "example '0' should be a JSON object"),
        (json.dumps({"0": SAMPLE, "7": SAMPLE | {"label": "2"}}), "example '7': the label '2'"),
        (json.dumps({"0": SAMPLE | {"text_b": 3}}), "'0' needs a text under 'text_b'; .*int"),
        (json.dumps({"0": {"text_a": "x"}}), "'0' needs a text under 'text_b'; it has only text_a"),
        ("{}", "holds no pairs"),
    ],
)
def test_what_is_wrong_with_a_sample(tmp_path: Path, content: str, message: str) -> None:
    release(tmp_path, "QQP-sample", content, "json")
    with pytest.raises(DataError, match=message):
        load("qqp-sample", tmp_path)


@WITH_DATA
@pytest.mark.parametrize(
    ("name", "train", "dev"),
    [
        ("cola", 8551, 1043), ("sst-2", 67349, 872), ("mrpc", 3668, 408), ("rte", 2490, 277),
        ("wnli", 635, 71), ("mnli-sample", 8999, 1000), ("qqp-sample", 8999, 1000),
        ("qnli-sample", 8999, 1000),
    ],
)  # fmt: skip
def test_the_real_files(name: str, train: int, dev: int) -> None:
    assert counted(name, by=lambda one: one.split) == {"train": train, "dev": dev}


@WITH_DATA
def test_the_real_question_pairs() -> None:
    assert counted("qnli", ["dev"], lambda one: one.label) == {
        "not_entailment": 2761, "entailment": 2702,
    }  # fmt: skip
    assert counted("cola", ["dev"], lambda one: one.label) == {"0": 322, "1": 721}
