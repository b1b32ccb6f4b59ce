"""Every layout in which word pairs were released, with what is easy to get wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.errors import DataError, UsageError
from isoscope.tasks.datasets.word_similarity import (
    MEN,
    RARE_WORDS,
    SIMLEX,
    THREE_COLUMNS,
    WORDSIM,
    PairLayout,
    WordPair,
)

CAT = [WordPair("cat", "dog", 3.5), WordPair("cat", "car", 0.25)]
SIMLEX_HEADER = "word1\tword2\tPOS\tSimLex999\tc1\tc2\tq\tassoc\ts333\tsd"
SIMLEX_LINES = [
    "cat\tdog\tN\t3.5\t5\t5\t4\t0.3\t0\t1.1",
    "cat\tcar\tN\t0.25\t5\t5\t4\t0\t0\t0.9",
]


def read(layout: PairLayout, tmp_path: Path, content: str | bytes) -> list[WordPair]:
    path = tmp_path / "pairs"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return layout.read(path)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_simlex(tmp_path: Path, header: bool, end: str) -> None:
    lines = [SIMLEX_HEADER] * header + SIMLEX_LINES
    assert read(SIMLEX, tmp_path, end.join(lines) + end) == CAT
    assert read(SIMLEX, tmp_path, end.join(lines)) == CAT


def test_men_loses_its_parts_of_speech_and_nothing_else(tmp_path: Path) -> None:
    pairs = read(MEN, tmp_path, "sun-n shine-v 50.000000\nx-ray-n old-j 1\nby-n n 2\n")
    assert pairs == [
        WordPair("sun", "shine", 50),
        WordPair("x-ray", "old", 1),
        WordPair("by", "n", 2),
    ]


def test_wordsim_keeps_case_and_hyphens(tmp_path: Path) -> None:
    pairs = read(WORDSIM, tmp_path, "Arafat\tJackson\t2.50\n\nCD-n\tFBI\t10.00\n")
    assert pairs == [WordPair("Arafat", "Jackson", 2.5), WordPair("CD-n", "FBI", 10)]


@pytest.mark.parametrize("raters", [7, 8, 9, 10])
def test_rare_words_have_a_varying_number_of_raters(tmp_path: Path, raters: int) -> None:
    line = "\t".join(["undated", "undatable", "5.83", *["7"] * raters])
    assert read(RARE_WORDS, tmp_path, line + "\n") == [WordPair("undated", "undatable", 5.83)]


@pytest.mark.parametrize("mark", ["\t", ",", " ", " \t ", "  "])
@pytest.mark.parametrize("header", ["", "first{0}second{0}score\n"])
def test_three_columns_of_ones_own(tmp_path: Path, mark: str, header: str) -> None:
    text = header.format(mark) + f"cat{mark}dog{mark}3.5\n\n   \ncat{mark}car{mark}.25"
    assert read(THREE_COLUMNS, tmp_path, text) == CAT


def test_quotes_hold_a_field_together(tmp_path: Path) -> None:
    assert read(THREE_COLUMNS, tmp_path, '"New York, NY", city,4\n') == [
        WordPair("New York, NY", "city", 4)
    ]


def test_tabs_allow_words_with_blanks(tmp_path: Path) -> None:
    assert read(THREE_COLUMNS, tmp_path, "New York\tcity\t4\n") == [WordPair("New York", "city", 4)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "naïve\tcafé\t1\nà\x85b\tc\t2\n"  # U+0085 ends no line
    assert read(WORDSIM, tmp_path, text.encode(encoding)) == [
        WordPair("naïve", "café", 1),
        WordPair("à\x85b", "c", 2),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\t1\nc\td\tx\n", "line 2: column 3 should be a score, not 'x'"),
        ("a\tb\t1\n\nc\td\n", "line 3 has 2 columns with tabs.*expected 3"),
        ("a\tb\t1\nc\td\tnan\n", "line 2: column 3"),
        ("a\tb\tinf\n", "line 1: column 3"),
        ("h\th\th\nh\th\th\n", "line 2: column 3"),
        ("h\th\th\n", "no word pairs"),
        ("", "no word pairs"),
        ("a b c 1\n", "4 columns with blanks"),
        ("\tb\t1\n", "line 1 has"),
        ("a\tb\t1\0\n", "zero bytes"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(THREE_COLUMNS, tmp_path, text)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        MEN.read(tmp_path)
