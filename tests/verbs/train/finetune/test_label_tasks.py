"""GLUE's tasks as examples to learn from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_files import put
from class_sets_for_tests import write_rte
from sts_for_tests import write_sts_sets

from isoscope.errors import DataError, UsageError
from isoscope.verbs.train.finetune.label_tasks import LABEL_TASKS, find_label_task, load_label_data

pytestmark = pytest.mark.filterwarnings("ignore:.*in the release")

HEADER = [
    "index",
    "promptID",
    "pairID",
    "genre",
    "sentence1_binary_parse",
    "sentence2_binary_parse",
    "sentence1_parse",
    "sentence2_parse",
    "sentence1",
    "sentence2",
]
LABELS = ("entailment", "neutral", "contradiction")


def test_every_task_of_glue_is_there() -> None:
    names = ["sst-2", "mrpc", "cola", "rte", "wnli", "sts-b", "qnli", "mnli", "qqp"]
    assert list(LABEL_TASKS) == names
    with pytest.raises(UsageError, match="task of fine-tuning"):
        find_label_task("rteee")


def test_classes_and_scores(tmp_path: Path) -> None:
    classes = load_label_data("rte", write_rte(tmp_path))
    assert (len(classes.train), len(classes.scored[""])) == (40, 24)
    assert classes.labels == ("entailment", "not_entailment")
    assert {classes.target(example) for example in classes.train} == {0, 1}
    scores = load_label_data("sts-b", write_sts_sets(tmp_path))
    assert scores.labels == ()
    assert isinstance(scores.target(scores.train[0]), float)


def mnli_row(k: int, labels: list[str]) -> str:
    return "\t".join(
        [str(k), "p", "q", "g", "(", "(", "(", "(", f"first {k}", f"second {k}", *labels]
    )


def test_mnli_has_two_parts_that_are_scored(tmp_path: Path) -> None:
    lines = ["\t".join([*HEADER, "label1", "gold_label"])]
    lines += [mnli_row(k, [LABELS[k % 3]] * 2) for k in range(6)]
    put(tmp_path / "MNLI" / "train.tsv", "\n".join(lines) + "\n")
    for part in ("matched", "mismatched"):
        lines = ["\t".join([*HEADER, *(f"label{k}" for k in range(1, 6)), "gold_label"])]
        lines += [mnli_row(k, ["neutral"] * 5 + [LABELS[k % 3]]) for k in range(4)]
        put(tmp_path / "MNLI" / f"dev_{part}.tsv", "\n".join(lines) + "\n")
    found = load_label_data("mnli", tmp_path)
    assert list(found.scored) == ["-matched", "-mismatched"]
    example = found.scored["-matched"][2]
    assert (example.first, example.second) == ("first 2", "second 2")
    assert [found.target(one) for one in found.scored["-matched"]] == [0, 1, 2, 0]
    assert found.note == ""


def test_a_sample_stands_in_for_a_large_set_and_says_so(tmp_path: Path) -> None:
    rows = {str(k): {"text_a": f"q {k}", "text_b": "r", "label": str(k % 2)} for k in range(4)}
    for part in ("train", "dev"):
        put(tmp_path / "QQP-sample" / f"{part}.json", json.dumps(rows))
    found = load_label_data("qqp", tmp_path)
    assert found.note == "a sample of qqp, not the whole set"
    put(tmp_path / "QQP" / "train.tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        "1\t2\t3\tone\ttwo\t0\n")  # fmt: skip
    put(tmp_path / "QQP" / "dev.tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
        "1\t2\t3\tone\ttwo\t1\n")  # fmt: skip
    whole = load_label_data("qqp", tmp_path)
    assert whole.note == ""
    assert (whole.train[0].second, whole.target(whole.scored[""][0])) == ("two", 1)


def test_a_folder_without_a_part_is_refused_in_one_line(tmp_path: Path) -> None:
    write_rte(tmp_path)
    (tmp_path / "glue" / "RTE" / "dev.tsv").unlink()
    with pytest.raises(UsageError, match=r"there is no RTE/dev.tsv in"):
        load_label_data("rte", tmp_path)
    put(tmp_path / "glue" / "RTE" / "dev.tsv", "index\tsentence1\tsentence2\tlabel\n")
    with pytest.raises(DataError, match="holds no pairs"):
        load_label_data("rte", tmp_path)
