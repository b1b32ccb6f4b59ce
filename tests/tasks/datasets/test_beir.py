"""BEIR's layout, with texts or with ids alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_files import put

from isoscope.errors import DataError, UsageError
from isoscope.tasks.datasets.beir import read_retrieval

CORPUS = [
    {"_id": "d1", "title": "Cats", "text": "They sit.", "metadata": {}},
    {"_id": "d2", "title": "", "text": "Dogs run.\u2028Far."},
    {"_id": "3", "text": "Birds."},
]
QUERIES = [{"_id": "q1", "text": "who sits?"}, {"_id": "q2", "text": "who reads?"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t3\t0\n"


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put(tmp_path / "corpus.jsonl", lines(CORPUS))
    put(tmp_path / "queries.jsonl", lines(QUERIES))
    put(tmp_path / "qrels" / "test.tsv", QRELS)
    return tmp_path


def test_texts_and_judgements(folder: Path) -> None:
    found = read_retrieval(folder)
    assert found.documents.ids == ("d1", "d2", "3")
    assert found.documents.texts == ("Cats They sit.", "Dogs run.\u2028Far.", "Birds.")
    assert found.queries.ids == ("q1", "q2")
    assert found.queries.texts == ("who sits?", "who reads?")
    assert found.judgements == {"q1": {"d1": 2, "3": 0}}


def test_another_split_and_no_header(folder: Path) -> None:
    put(folder / "qrels" / "dev.tsv", "q2\td2\t1\nq2\td2\t1\n")
    assert read_retrieval(folder, "dev").judgements == {"q2": {"d2": 1}}
    with pytest.raises(UsageError, match="train.tsv; there are dev, test; .*corpus.jsonl"):
        read_retrieval(folder, "train")


def test_ids_alone_for_vectors_that_are_there(folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()
    put(folder / "corpus.ids", "d2\n3\r\nd1\n")
    found = read_retrieval(folder)
    assert (found.documents.ids, found.documents.texts) == (("d2", "3", "d1"), None)
    assert found.judgements == {"q1": {"d1": 2, "3": 0}}


def test_numbers_are_ids(folder: Path) -> None:
    put(folder / "corpus.jsonl", lines([*CORPUS[:2], {"_id": 3, "text": "Birds."}]))
    assert read_retrieval(folder).documents.ids == ("d1", "d2", "3")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("qrels/test.tsv", QRELS + "q9\td1\t1\n", "test.tsv: line 4: there is no query 'q9'"),
        ("qrels/test.tsv", QRELS + "q1\td9\t1\n", "test.tsv: line 4: there is no document 'd9'"),
        ("qrels/test.tsv", QRELS + "q1\td2\tx\n", "line 4: the score .*whole number, not 'x'"),
        ("qrels/test.tsv", QRELS + "q1\td2\n", "line 4 has 2 columns .*query-id, corpus-id"),
        ("qrels/test.tsv", QRELS + "q1\td1\t1\n", "line 4: query 'q1' and document 'd1' .*2 on"),
        ("qrels/test.tsv", "q1\td1\t0\n", "marks no document as relevant"),
        ("corpus.jsonl", lines([*CORPUS, CORPUS[0]]), "line 4: the id 'd1' is that of line 1 too"),
        ("corpus.jsonl", lines([{"_id": "d1"}]), "line 1 needs a text under 'text'"),
        ("corpus.jsonl", lines([{"_id": "d1", "title": 3, "text": ""}]), "text under 'title'"),
        ("queries.jsonl", lines([{"id": "q1", "text": "x"}]), "line 1 needs a text under '_id'"),
        ("queries.jsonl", lines([{"_id": "", "text": "x"}]), "line 1 has an empty id"),
        ("queries.jsonl", lines([*QUERIES]) + "{", "queries.jsonl: line 3 is not valid JSON"),
        ("queries.jsonl", "", "queries.jsonl is empty"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, name: str, content: str, message: str) -> None:
    put(folder / name, content)
    with pytest.raises(DataError, match=message):
        read_retrieval(folder)


def test_what_is_missing_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match="no folder .*nowhere; .*qrels/test.tsv"):
        read_retrieval(folder / "nowhere")
    (folder / "queries.jsonl").unlink()
    with pytest.raises(UsageError, match="neither queries.jsonl nor queries.ids in"):
        read_retrieval(folder)


def test_judgements_that_are_too_large(folder: Path) -> None:
    put(folder / "qrels" / "test.tsv", QRELS + f"q2\td1\t{10**400}\n")
    with pytest.raises(DataError, match="the score should be at most 1,000, not '1000") as caught:
        read_retrieval(folder)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5_000], ids=["deep", "long"])
def test_json_that_python_does_not_take(folder: Path, value: str) -> None:
    put(folder / "corpus.jsonl", '{"_id": "d1", "text": ' + value + "}\n")
    with pytest.raises(DataError, match="corpus.jsonl: line 1 is not valid JSON"):
        read_retrieval(folder)
