from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.data.output import atomic_file, write_atomically
from isoscope.errors import UsageError


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


def test_bytes_are_written_as_they_are_and_text_in_utf_8(tmp_path: Path) -> None:
    write_atomically(tmp_path / "b", b"\x00\r\n\xff")
    write_atomically(tmp_path / "t", "λ\n")
    assert (tmp_path / "b").read_bytes() == b"\x00\r\n\xff"
    assert (tmp_path / "t").read_bytes() == b"\xce\xbb\n"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_run_that_stops_in_the_middle(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")

    def stop() -> None:
        with atomic_file(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        stop()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
