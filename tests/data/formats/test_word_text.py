from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import joined, labels

import isoscope
from isoscope.errors import DataError

VECTORS = np.random.default_rng(0).standard_normal((1_000, 5)).astype(np.float32)
WORDS = [f"wörd{k}" for k in range(1_000)]


def text(words: list[str] = WORDS, vectors: np.ndarray = VECTORS, end: str = "\n") -> str:
    lines = (
        f"{word} {' '.join(repr(float(v)) for v in row)}{end}"
        for word, row in zip(words, vectors, strict=True)
    )
    return "".join(lines)


@pytest.mark.parametrize("header", ["", "1000 5\n"])
@pytest.mark.parametrize("end", ["\n", " \n", "\r\n"])
def test_words_and_vectors_come_back(tmp_path: Path, header: str, end: str) -> None:
    (tmp_path / "w.txt").write_bytes((header + text(end=end)).encode())
    cloud = isoscope.open_cloud(tmp_path / "w.txt")
    assert cloud.rows == (1_000 if header else None)
    np.testing.assert_array_equal(joined(cloud), VECTORS)
    assert labels(cloud, "word") == WORDS


@pytest.mark.parametrize("chunk", [100, 4_096])
def test_short_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr("isoscope.data.formats.word_text.CHUNK", chunk)
    (tmp_path / "w.vec").write_text("1000 5\n" + text().rstrip("\n"), "utf-8")
    np.testing.assert_array_equal(joined(isoscope.open_cloud(tmp_path / "w.vec")), VECTORS)


def test_strange_words(tmp_path: Path) -> None:
    """Quotes, spaces, a word that looks like a number, and one that says nan."""
    words = ['"', ". . .", "3.5", "nan", "NULL", "a,b", "it's", "\u0085"]
    (tmp_path / "w.txt").write_text("x 1 2 3 4 5\n" + text(words, VECTORS[:8]), "utf-8")
    cloud = isoscope.open_cloud(tmp_path / "w.txt")
    np.testing.assert_array_equal(joined(cloud)[1:], VECTORS[:8])
    assert labels(cloud, "word") == ["x", *words]


def test_what_belongs_to_words_and_what_does_not(tmp_path: Path) -> None:
    """A carriage return ends no line, a first word may be empty, a signature is no letter."""
    (tmp_path / "w.txt").write_bytes(b" 1.0 2\nx 3 4\rb 5 6\n\xef\xbb\xbfc 7 8\n")
    cloud = isoscope.open_cloud(tmp_path / "w.txt")
    np.testing.assert_array_equal(joined(cloud), [[1, 2], [5, 6], [7, 8]])
    assert labels(cloud, "word") == ["", "x 3 4\rb", "\ufeffc"]
    (tmp_path / "w.txt").write_bytes(b"\xef\xbb\xbf2 2\nx 1 2\ny\tz 3 4\n")
    cloud = isoscope.open_cloud(tmp_path / "w.txt")
    assert cloud.rows == 2
    assert labels(cloud, "word") == ["x", "y\tz"]


def test_a_tab_in_the_first_word(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_bytes(b"a\tb 1 2\nc 3 4\n")
    cloud = isoscope.open_cloud(tmp_path / "w.txt")
    np.testing.assert_array_equal(joined(cloud), [[1, 2], [3, 4]])


def test_tabs(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text(text().replace(" ", "\t"), "utf-8")
    np.testing.assert_array_equal(joined(isoscope.open_cloud(tmp_path / "w.txt")), VECTORS)


def test_words_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_bytes(b"caf\xe9 1 2\nb 3 4\n")
    assert labels(isoscope.open_cloud(tmp_path / "w.txt"), "word") == ["caf\\xe9", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 3\n", "row 1 has 1 numbers, the first has 2"),
        ("a 1 2\nb 3 x\n", "row 1 .* not a number"),
        ("a 1 2\nb 3 1_0\n", "row 1 .* not a number: .*1_0"),
        ("2 3\na 1 2\nb 3 4\n", "promises vectors of 3 numbers"),
        ("2 3\n", "promises vectors of 3 numbers"),
        ("9" * 5_000 + " 2\na 1 2\nb 3 4\n", "promises 9.* vectors, 2 follow"),
        ("2 1000000000000\na 1 2\nb 3 4\n", "promises vectors of 1,000,000,000,000 numbers"),
        ("2 1000000000000\na 1\nb 3\n", "promises vectors of 1,000,000,000,000 numbers"),
        ("1000000000000 2\na 1 2\nb 3 4\n", "promises 1,000,000,000,000 vectors, 2 follow"),
        ("5 2\na 1 2\nb 3 4\n", "promises 5 vectors, 2 follow"),
        ("", "w.txt is empty"),
        ("\n\n", "first line"),
        ("hello\n", "first line"),
        ("hello world\nagain\n", "first line"),
    ],
)
def test_bad_files(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "w.txt").write_text(content)
    with pytest.raises(DataError, match=message):
        joined(isoscope.open_cloud(tmp_path / "w.txt"))


def test_a_nan_is_named_with_its_word(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("a 1 2\nb 3 nan\nc 1 1\n")
    with pytest.raises(DataError, match=r"row 1 \(word 'b'\) holds NaN"):
        isoscope.measure(tmp_path / "w.txt")


def test_a_truncated_gzip(tmp_path: Path) -> None:
    (tmp_path / "w.txt.gz").write_bytes(gzip.compress(text().encode())[:-200])
    with pytest.raises(DataError, match="cannot be read"):
        joined(isoscope.open_cloud(tmp_path / "w.txt.gz"))


def test_measured_like_the_array(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text(text(), "utf-8")
    one, other = isoscope.measure(tmp_path / "w.txt"), isoscope.measure(VECTORS)
    assert [row.value for row in one] == pytest.approx([row.value for row in other], nan_ok=True)


def test_very_wide_rows_are_not_columns_of_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which would take five kilobytes each."""
    from pyarrow import csv

    vectors = np.random.default_rng(1).standard_normal((2, 20_000)).astype(np.float32)
    vectors[1, 3] = np.inf
    (tmp_path / "w.txt").write_text(text(["a", "b c"], vectors))
    read = joined(isoscope.open_cloud(tmp_path / "w.txt"))
    monkeypatch.delattr(csv, "read_csv")
    np.testing.assert_array_equal(joined(isoscope.open_cloud(tmp_path / "w.txt")), vectors)
    np.testing.assert_array_equal(read, vectors)
