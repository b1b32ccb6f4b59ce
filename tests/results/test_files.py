from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.errors import UsageError
from isoscope.results.files import check_writable, write_atomically


def test_an_old_file_is_replaced_and_nothing_else_left(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "r.txt", "must end in .json or .md"),
        (tmp_path / "absent" / "r.json", "no folder"),
        (tmp_path / "r.json", None),
    ):
        if message is None:
            check_writable(path)
        else:
            with pytest.raises(UsageError, match=message):
                check_writable(path)
    (tmp_path / "d.json").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_writable(tmp_path / "d.json")
