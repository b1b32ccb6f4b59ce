"""SentEval's files: encodings, separators inside of texts, rows without a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_files import OTHER_SIZE, WITH_DATA, counted, load, put

from isoscope.errors import DataError, UsageError
from isoscope.tasks.registry import LabelledText


@OTHER_SIZE
@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_a_label_and_a_text(tmp_path: Path, encoding: str) -> None:
    text = "0 plain , é\x85 and on \x85\n1 \n1 two  blanks .  \n"
    put(tmp_path / "senteval" / "rt-polarity.all", text.encode(encoding))
    assert load("mr", tmp_path) == [
        LabelledText("plain , é\x85 and on \x85", None, "0", "all"),
        LabelledText("", None, "1", "all"),
        LabelledText("two  blanks .", None, "1", "all"),
    ]


@OTHER_SIZE
def test_splits(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        put(tmp_path / f"stsa.fine.{split}", "4 good\n0 bad\n")
    assert [(one.label, one.split) for one in load("sst-5", tmp_path)] == [
        ("4", "train"), ("0", "train"), ("4", "dev"), ("0", "dev"), ("4", "test"), ("0", "test"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 a\n\n2 b\n", "subj.all: line 3: the label '2' is unknown; expected 0 or 1"),
        ("0 a\nword\n", "line 2: the label 'word' is unknown"),
        ("0\ta\n", "line 1: the label"),
        ("", "holds no texts"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path / "subj.all", text)
    with pytest.raises(DataError, match=message):
        load("subj", tmp_path)


def test_a_missing_file(tmp_path: Path) -> None:
    put(tmp_path / "TREC.train.all", "0 x\n")
    with pytest.raises(UsageError, match="no TREC.test.all in .*5 a number"):
        load("trec", tmp_path)


@WITH_DATA
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("mr", {"all": 10662}), ("cr", {"all": 3775}), ("subj", {"all": 10000}),
        ("mpqa", {"all": 10606}), ("trec", {"train": 5452, "test": 500}),
        ("sst-5", {"train": 8544, "dev": 1101, "test": 2210}),
    ],
)  # fmt: skip
def test_the_real_files(name: str, sizes: dict[str, int]) -> None:
    assert counted(name, by=lambda one: one.split) == sizes


@WITH_DATA
def test_the_real_texts() -> None:
    assert counted("mr", by=lambda one: one.label) == {"0": 5331, "1": 5331}
    assert counted("cr", by=lambda one: one.first == "")[True] == 4
    assert counted("sst-5", by=lambda one: "Ã" in one.first) == {False: 11855}
