"""Pairs in files of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmark_files import put

from isoscope.errors import DataError, UsageError
from isoscope.tasks.datasets.own_pairs import OwnPairs, read_own_pairs
from isoscope.tasks.registry import TextPair

EXPECTED = [TextPair('a "cat', "a, dog", 3.5, "mine"), TextPair("one", "two", -1, "mine")]
TSV = 'a "cat\ta, dog\t3.5\none\ttwo\t-1\n'
CSV = '"a ""cat","a, dog",3.5\none,two,-1\n'


def objects(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


JSONL = objects(
    {"id": 1, "sentence1": 'a "cat', "sentence2": "a, dog", "score": 3.5},
    {"score": -1, "sentence2": "two", "sentence1": "one", "more": None},
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.tsv", TSV),
        ("mine.txt", "\n" + TSV.replace("\n", "\r\n\r\n")),
        ("mine.csv", TSV),
        ("mine.tsv", "Sentence1\tsentence2\tscore\n" + TSV),
        ("mine.tsv", "links\trechts\twert\n" + TSV),
        ("mine.tsv", "\ufeff" + TSV),
        ("mine.csv", CSV),
        ("mine.csv", 'score,text2,no,text1\n3.5,"a, dog",1,"a ""cat"\n-1,two,2,one\n'),
        ("mine.jsonl", JSONL),
    ],
)
def test_two_texts_and_a_score(tmp_path: Path, name: str, content: str) -> None:
    pairs = read_own_pairs(put(tmp_path / name, content))
    assert (pairs.kind, pairs.yes_no) == ("texts", False)
    assert pairs.text_pairs() == EXPECTED
    assert len(pairs) == 2


def test_columns_by_name_and_number(tmp_path: Path) -> None:
    rows = "n\tq\td\tgut\n7\tone\ttwo\t0.5\n"
    path = put(tmp_path / "mine.tsv", rows)
    named = read_own_pairs(path, first="q", second="d", score="gut")
    assert named.text_pairs() == [TextPair("one", "two", 0.5, "mine")]
    assert read_own_pairs(path, first="2", second="3", score="4") == named
    with pytest.raises(UsageError, match="no column of .* is called 'e'.*known: d, gut, n, q"):
        read_own_pairs(path, first="q", second="e", score="gut")
    with pytest.raises(UsageError, match="not clear which holds the first of a pair.*n, q, d, gut"):
        read_own_pairs(path)
    headless = put(tmp_path / "mine2.tsv", f"7\t{'x' * 50}\ttwo\t0.5\n")
    assert len(read_own_pairs(headless, first="2", second="3", score="4")) == 1
    with pytest.raises(UsageError, match="x{30}…"):
        read_own_pairs(headless)


@pytest.mark.parametrize(
    ("yes", "no"),
    [("1", "0"), ("true", "false"), ("True", "False"), ("yes", "no"), ("T", "F"), ("Y", "n")],
)
@pytest.mark.parametrize("header", ["", "text_a\ttext_b\tlabel\n"])
def test_labels(tmp_path: Path, yes: str, no: str, header: str) -> None:
    path = put(tmp_path / "mine.tsv", f"{header}a\tb\t{no}\nc\td\t{yes}\n")
    pairs = read_own_pairs(path)
    assert pairs.yes_no
    assert pairs.scores == (0, 1)


def test_truth_values_of_json_are_labels(tmp_path: Path) -> None:
    rows = [{"first": "a", "second": "b", "same": value} for value in (True, False)]
    pairs = read_own_pairs(put(tmp_path / "mine.jsonl", objects(*rows)))
    assert (pairs.yes_no, pairs.scores) == (True, (1, 0))


def test_noughts_and_ones_among_other_numbers_are_scores(tmp_path: Path) -> None:
    pairs = read_own_pairs(put(tmp_path / "mine.tsv", "a\tb\t1\nc\td\t0\ne\tf\t0.5\n"))
    assert (pairs.yes_no, pairs.scores) == (False, (1, 0, 0.5))


def rows_of(tmp_path: Path) -> OwnPairs:
    return read_own_pairs(put(tmp_path / "mine.tsv", "row1\trow2\tscore\n3\t0\t1\n1\t3\t2\n"))


def test_rows_by_number_and_by_name(tmp_path: Path) -> None:
    pairs = rows_of(tmp_path)
    assert pairs.kind == "rows"
    first, second = pairs.row_numbers(4)
    np.testing.assert_array_equal(first, [3, 1])
    np.testing.assert_array_equal(second, [0, 3])
    first, second = pairs.row_numbers(4, ["1", "0", "3", "2"])
    np.testing.assert_array_equal(first, [2, 0])
    np.testing.assert_array_equal(second, [1, 2])
    plain = read_own_pairs(put(tmp_path / "plain.tsv", "3\t0\t1\n1\t3\t2\n"), "rows")
    assert plain.first == pairs.first


def test_rows_that_do_not_exist_are_named(tmp_path: Path) -> None:
    pairs = rows_of(tmp_path)
    with pytest.raises(DataError, match="mine.tsv: line 2: there is no row 3; the source has 3"):
        pairs.row_numbers(3)
    with pytest.raises(DataError, match="line 3: no row of the source is called '1'"):
        pairs.row_numbers(3, ["3", "0", "x"])
    with pytest.raises(DataError, match="line 2: several rows of the source are called '0'"):
        pairs.row_numbers(4, ["3", "0", "0", "1"])
    words = read_own_pairs(put(tmp_path / "w.tsv", "cat\t0\t1\n"), "rows")
    with pytest.raises(DataError, match="line 1: a row should be a number from 0, not 'cat'"):
        words.row_numbers(5)
    with pytest.raises(UsageError, match="holds pairs of rows, not pairs of texts"):
        pairs.text_pairs()


@pytest.mark.parametrize("content", ["1\n2.5\n", "score\n1\n2.5\n"])
def test_scores_beside_two_files_of_vectors(tmp_path: Path, content: str) -> None:
    pairs = read_own_pairs(put(tmp_path / "mine.txt", content))
    assert (pairs.kind, pairs.scores, pairs.first) == ("scores", (1, 2.5), ())
    pairs.check_rows(2, 2)
    with pytest.raises(DataError, match="has 2 scores, but the files of vectors have 2 and 3 rows"):
        pairs.check_rows(2, 3)


def test_scores_can_be_asked_of_a_larger_table(tmp_path: Path) -> None:
    pairs = read_own_pairs(put(tmp_path / "mine.tsv", TSV), "scores", score="3")
    assert (pairs.kind, pairs.scores, pairs.first) == ("scores", (3.5, -1), ())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mine.tsv", "a\tb\t1\nc\td\n", "mine.tsv: line 2 has 2 columns with tabs .*line 1 has 3"),
        ("mine.tsv", "a\tb\t1\n\nc\td\tx\n", "line 3: the score should be a number, not 'x'"),
        ("mine.tsv", "a\tb\tyes\nc\td\t2\n", "line 2: the score should be .*yes or no, not '2'"),
        ("mine.tsv", "a\tb\t1\nc\td\tnan\n", "line 2: the score should be a number, not 'nan'"),
        ("mine.tsv", "a\tb\t1\nc\td\t\n", "line 2: the score should be a number, not ''"),
        ("mine.tsv", "a\tb\t1\n\td\t1\n", "line 2 has an empty text"),
        ("mine.tsv", "text1\ttext2\tscore\n", "holds no pairs"),
        ("mine.tsv", "\n \n", "is empty"),
        ("mine.csv", 'a,b,1\n"c\nd",e,x\n', "line 2: the score"),
        ("mine.csv", 'a,b,1\n"c,d,1\n', "line 2: unexpected end"),
        ("mine.csv", "a,b,1\nc,d,1,2\n", "line 2 has 4 columns with commas"),
        ("mine.jsonl", JSONL + "{\n", "line 3 is not valid JSON"),
        ("mine.jsonl", JSONL + '{"score": 1}\n', "line 3 has an empty text"),
        ("mine.jsonl", JSONL + '{"sentence1": "a", "sentence2": "b"}\n', "line 3: the score"),
        ("mine.jsonl", "", "is empty"),
        ("mine.tsv", b"a\tb\0\t1\n", "zero bytes"),
    ],
)
def test_what_is_wrong_is_named_by_line(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_own_pairs(put(tmp_path / name, content))


def test_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file .*mine.tsv"):
        read_own_pairs(tmp_path / "mine.tsv")
    path = put(tmp_path / "mine.tsv", TSV)
    with pytest.raises(UsageError, match="no kind of pairs is called 'words'"):
        read_own_pairs(path, "words")  # type: ignore[arg-type]


def test_numbers_of_thousands_of_digits(tmp_path: Path) -> None:
    digits = "9" * 5_000
    rows = read_own_pairs(put(tmp_path / "mine.tsv", f"row1\trow2\tscore\n0\t{digits}\t1\n"))
    with pytest.raises(DataError, match="line 2: a row should be a number from 0") as caught:
        rows.row_numbers(5)
    assert len(str(caught.value)) < 300
    with pytest.raises(UsageError, match="no column of"):
        read_own_pairs(put(tmp_path / "two.tsv", "a\tb\t1\n"), score=digits)
    with pytest.raises(DataError, match="the score should be a number") as caught:
        read_own_pairs(put(tmp_path / "three.tsv", f"a\tb\t1.5\nc\td\t{digits}\n"))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("depth", [900, 100_000])
def test_deep_json(tmp_path: Path, depth: int) -> None:
    line = '{"text1": "a", "text2": "b", "score": ' + "[" * depth + "]" * depth + "}\n"
    with pytest.raises(DataError, match="line 1") as caught:
        read_own_pairs(put(tmp_path / "mine.jsonl", line))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("name", "between"), [("pairs.csv", ","), ("pairs.tsv", "\t")])
def test_numbers_without_a_header_may_be_meant_as_rows(
    tmp_path: Path, name: str, between: str
) -> None:
    rows = "".join(f"{between.join((str(k), str(k + 1), '1'))}\n" for k in range(3))
    pairs = read_own_pairs(put(tmp_path / name, rows))
    assert pairs.kind == "texts"
    first_line = "row1,row2,score" if between == "," else "row1<TAB>row2<TAB>score"
    for check in (pairs.check_header, lambda: pairs.must_be("rows")):
        with pytest.raises(UsageError, match=f"has no header.* make its first line {first_line}"):
            check()


def test_texts_and_named_columns_are_taken_at_their_word(tmp_path: Path) -> None:
    texts = read_own_pairs(put(tmp_path / "texts.tsv", "a cat\t7\t1\nthe sun\t8\t0\n"))
    named = read_own_pairs(put(tmp_path / "named.tsv", "text1\ttext2\tscore\n1\t2\t1\n"))
    for pairs in (texts, named):
        pairs.check_header()
        with pytest.raises(UsageError, match="holds pairs of texts, not pairs of rows"):
            pairs.must_be("rows")
