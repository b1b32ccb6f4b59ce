"""Finding benchmark files in a folder that the user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.errors import UsageError
from isoscope.tasks.registry import data_folder, find_file


def test_the_argument_comes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.setenv("ISOSCOPE_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    assert data_folder(tmp_path / "a") == tmp_path / "a"
    monkeypatch.delenv("ISOSCOPE_DATA")
    assert data_folder(None) is None


def test_a_folder_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="--data .*nowhere: there is no such folder"):
        data_folder(tmp_path / "nowhere")
    monkeypatch.setenv("ISOSCOPE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="ISOSCOPE_DATA .*nowhere"):
        data_folder(None)


def test_a_file_is_found_in_the_folder_or_one_level_down(tmp_path: Path) -> None:
    deep = tmp_path / "release"
    deep.mkdir()
    (deep / "rw.txt").write_text("")
    assert find_file(tmp_path, "rw.txt", "") == deep / "rw.txt"
    (tmp_path / "rw.txt").write_text("")
    assert find_file(tmp_path, "rw.txt", "") == tmp_path / "rw.txt"


def test_a_file_with_a_folder_of_its_own(tmp_path: Path) -> None:
    own = tmp_path / "glue" / "CoLA"
    own.mkdir(parents=True)
    (own / "dev.tsv").write_text("")
    for folder in (tmp_path, tmp_path / "glue", own):
        assert find_file(folder, "CoLA/dev.tsv", "").samefile(own / "dev.tsv")
    (tmp_path / "SST-2").mkdir()
    with pytest.raises(UsageError, match="no CoLA/dev.tsv in .*SST-2"):
        find_file(tmp_path / "SST-2", "CoLA/dev.tsv", "")


def test_what_is_missing_or_twice_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no rw.txt in .*; three columns"):
        find_file(tmp_path, "rw.txt", "three columns")
    with pytest.raises(UsageError, match="three columns; name the folder .*--data"):
        find_file(None, "rw.txt", "three columns")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rw.txt").write_text("")
    with pytest.raises(UsageError, match="more than once"):
        find_file(tmp_path, "rw.txt", "")
