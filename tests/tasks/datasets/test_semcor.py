"""SemCor's tokens and their parts of speech."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from benchmark_files import OTHER_SIZE, WITH_DATA, counted, load, put

from isoscope.errors import DataError, UsageError
from isoscope.tasks import find_task
from isoscope.tasks.registry import TaggedSentence

HEADER = "document\tsentence\tposition\tform\tlemma\tpos\tsense"
ROWS = [
    "brown1/a\t1\t0\tNew_York\tlocation\tNNP\tlocation%1:03:00::",
    "brown1/a\t1\t1\twas\tbe\tVB\tbe%2:42:03::",
    "brown1/a\t1\t2\t``\t\t\t",
    "brown1/a\t1\t3\tav.\t\t\t",
    "brown1/a\t2\t0\tTo\tto\tTO\t",
    "brown2/b\t2\t0\t&\t&\tNN|SYM\t",
    "brownv/c\t1\t0\tgo\tgo\tVB\tgo%2:38:00::",
]


def release(folder: Path, rows: list[str]) -> Path:
    put(folder / "semcor" / "semcor3.tsv.gz", gzip.compress(("\n".join(rows) + "\n").encode()))
    return folder


@OTHER_SIZE
@pytest.mark.parametrize("header", [True, False])
def test_sentences_with_coarse_classes(tmp_path: Path, header: bool) -> None:
    release(tmp_path, [HEADER] * header + ROWS)
    sentences = load("semcor-pos", tmp_path)
    assert sentences == [
        TaggedSentence("brown1/a", ("New_York", "was", "``", "av."), ("NOUN", "VERB", ".", None)),
        TaggedSentence("brown1/a", ("To",), ("PRT",)),
        TaggedSentence("brown2/b", ("&",), ("NOUN",)),
    ]
    assert [one.part for one in sentences] == ["brown1", "brown1", "brown2"]
    assert load("semcor-pos", tmp_path, ["brownv"]) == [
        TaggedSentence("brownv/c", ("go",), ("VERB",))
    ]
    with pytest.raises(UsageError, match="no part of semcor-pos is called 'brown3'"):
        load("semcor-pos", tmp_path, ["brown3"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("brown1/a\t1\t0\tword", "tsv.gz: line 3 has 4 columns .*form, lemma, pos"),
        ("brown1/a\t1\t0\tword\tword\tZZ\t", "line 3: the part of speech 'ZZ' is unknown"),
        ("brown1/a\t1\t0\t\tword\tNN\t", "line 3 has no word"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, row: str, message: str) -> None:
    release(tmp_path, [HEADER, ROWS[0], row])
    with pytest.raises(DataError, match=message):
        load("semcor-pos", tmp_path)


def test_a_file_that_is_not_whole(tmp_path: Path) -> None:
    path = release(tmp_path, [HEADER, *ROWS]) / "semcor" / "semcor3.tsv.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match="no complete gzip file"):
        load("semcor-pos", tmp_path)
    path.write_bytes(b"document\tsentence")
    with pytest.raises(DataError, match="no complete gzip file"):
        load("semcor-pos", tmp_path)


@WITH_DATA
def test_the_real_file() -> None:
    task = find_task("semcor-pos")
    parts = counted("semcor-pos", ["brown1", "brown2", "brownv"], lambda one: one.part)
    assert parts == {"brown1": 11182, "brown2": 8956, "brownv": 17038}
    assert sum(parts.values()) == task.size
    tags = counted("semcor-pos", by=lambda one: one.tags.count(None) > 0)
    assert tags[True] < 10
