"""SICK, whose rows serve two tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_files import OTHER_SIZE, WITH_DATA, counted, load, put

from isoscope.errors import DataError, UsageError
from isoscope.tasks.registry import LabelledText, TextPair

HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
ROWS = ["1\tA dog runs\tA cat sits\t2.5\tNEUTRAL", '2\tNobody "sits\tA cat sits\t4\tCONTRADICTION']
NAMES = {"train": "SICK_train.txt", "trial": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}


def release(folder: Path, rows: list[str], end: str = "\n") -> Path:
    for name in NAMES.values():
        put(folder / "SICK" / name, end.join(rows) + end)
    return folder


@OTHER_SIZE
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("rows", [[HEADER, *ROWS], ROWS])
def test_two_tasks_of_the_same_rows(tmp_path: Path, end: str, rows: list[str]) -> None:
    release(tmp_path, rows, end)
    assert load("sick-r", tmp_path, ["test"]) == [
        TextPair("A dog runs", "A cat sits", 2.5, "test"),
        TextPair('Nobody "sits', "A cat sits", 4, "test"),
    ]
    assert [one.subset for one in load("sick-r", tmp_path)] == [
        "train", "train", "trial", "trial", "test", "test",
    ]  # fmt: skip
    labelled = load("sick-e", tmp_path)
    assert labelled[0] == LabelledText("A dog runs", "A cat sits", "NEUTRAL", "train")
    assert [one.split for one in labelled] == ["train"] * 2 + ["trial"] * 2 + ["test"] * 2


@pytest.mark.parametrize(
    ("task", "row", "message"),
    [
        ("sick-r", "3\ta\tb\t0.5\tNEUTRAL", "train.txt: line 2: the score .*1 to 5, not '0.5'"),
        ("sick-r", "3\ta\tb\t2", "line 2 has 4 columns .*sentence_A"),
        ("sick-r", "3\ta\t\t2\tNEUTRAL", "line 2 has an empty text"),
        ("sick-e", "3\ta\tb\t2\tneutral", "train.txt: line 2: the label 'neutral' is unknown"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, task: str, row: str, message: str) -> None:
    release(tmp_path, [HEADER, row])
    with pytest.raises(DataError, match=message):
        load(task, tmp_path)


def test_other_columns_are_another_release(tmp_path: Path) -> None:
    release(tmp_path, ["pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score"])
    with pytest.raises(DataError, match="line 1 should name the columns pair_ID, sentence_A"):
        load("sick-r", tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no SICK_train.txt in .*five columns"):
        load("sick-r", tmp_path)


@WITH_DATA
def test_the_real_files() -> None:
    sizes = {"train": 4500, "trial": 500, "test": 4927}
    assert counted("sick-e", by=lambda one: one.split) == sizes
    assert counted("sick-r", list(sizes), lambda one: one.subset) == sizes
    assert counted("sick-e", ["test"], lambda one: one.label) == {
        "NEUTRAL": 2793, "ENTAILMENT": 1414, "CONTRADICTION": 720,
    }  # fmt: skip
