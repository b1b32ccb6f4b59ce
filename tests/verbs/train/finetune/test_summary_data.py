"""Articles and summaries as tables."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from isoscope.errors import DataError, UsageError
from isoscope.verbs.train.finetune.parallel_data import summary_data

ROWS = [(f'Article {k}, with "quotes".\nAnd a second line.', f"Sum {k}.\nMore.") for k in range(11)]


def save_table(path: Path, columns: tuple[str, str], rows: list[tuple[str, str]]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["", *columns])
        writer.writerows([k, *row] for k, row in enumerate(rows))


def test_the_end_of_a_sample_is_scored(tmp_path: Path) -> None:
    save_table(tmp_path / "cnndm" / "cnn_dailymail.csv", ("text", "y"), ROWS)
    found = summary_data(tmp_path)
    assert list(found.train) == ROWS[:9]
    assert list(found.scored) == ROWS[9:]
    assert "last 2 pairs are scored" in found.notes[0]


def test_the_whole_set_has_parts_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "cnn_dailymail"
    for part, rows in (("train", ROWS[:6]), ("validation", ROWS[6:8]), ("test", ROWS[8:])):
        save_table(folder / f"{part}.csv", ("article", "highlights"), rows)
    for place in (tmp_path, folder):
        found = summary_data(place)
        assert list(found.train + found.dev + found.scored) == ROWS
        assert (len(found.dev), len(found.scored), found.notes) == (2, 3, ())
    (folder / "test.csv").unlink()
    with pytest.raises(UsageError, match=r"no cnn_dailymail/test\.csv"):
        summary_data(tmp_path)


def test_rows_without_a_summary_are_left_out(tmp_path: Path) -> None:
    save_table(tmp_path / "cnn_dailymail.csv", ("text", "y"), [*ROWS, ("an article", "")])
    found = summary_data(tmp_path)
    assert len(found.train) + len(found.scored) == 11
    assert "1 pair that has an empty side" in found.notes[0]


def test_other_columns(tmp_path: Path) -> None:
    save_table(tmp_path / "cnn_dailymail.csv", ("text", "summary"), ROWS)
    with pytest.raises(DataError, match="has the columns text, summary; it needs text and y"):
        summary_data(tmp_path)


def test_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "cnn_dailymail.csv").write_text("")
    with pytest.raises(DataError, match="it needs text and y"):
        summary_data(tmp_path)
    (tmp_path / "cnn_dailymail.csv").write_text("text,y\n")
    with pytest.raises(DataError, match="no row with both text and y"):
        summary_data(tmp_path)


def test_a_row_that_is_too_short(tmp_path: Path) -> None:
    (tmp_path / "cnn_dailymail.csv").write_text("text,y\na,b\nonly\n")
    with pytest.raises(DataError, match="line 3 has 1 fields, the header has 2"):
        summary_data(tmp_path)


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no cnn_dailymail\.csv"):
        summary_data(tmp_path)
