from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import fsspec
import pytest

from isoscope.data.leftovers import leftovers
from isoscope.data.location import Location
from isoscope.data.output import (
    Target,
    atomic_file,
    atomic_output,
    check_target,
    prefix_of,
    write_atomically,
)
from isoscope.errors import UsageError


def test_an_old_file_is_replaced_and_nothing_else_left(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    path.write_text("old")
    with atomic_output(Location(str(path))) as file:
        file.write(b"ne")
        assert path.read_text() == "old"
        file.write(b"w")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failed_run_keeps_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "v.npy"
    path.write_text("old")

    def fail() -> None:
        with atomic_output(Location(str(path))) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk() -> None:
    with (
        Path("/dev/full").open("wb", buffering=0) as full,
        pytest.raises(UsageError, match="v.npy cannot be written: No space left on device"),
    ):
        Target(full, "v.npy").write(b"new")


def test_an_address() -> None:
    memory = fsspec.filesystem("memory")
    memory.mkdir("/target")
    location = Location("memory://target/v.npy")
    with atomic_output(location) as file:
        file.write(b"old")
    assert memory.cat("/target/v.npy") == b"old"

    def fail() -> None:
        with atomic_output(location) as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert memory.cat("/target/v.npy") == b"old"
    assert [Path(name).name for name in memory.ls("/target", detail=False)] == ["v.npy"]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    check_target(Location(str(tmp_path / "v.npy")))
    (tmp_path / "d.npy").mkdir()
    for path, words in (
        (tmp_path / "d.npy", "is a folder"),
        (tmp_path / "absent" / "v.npy", "there is no folder"),
    ):
        with pytest.raises(UsageError, match=words):
            check_target(Location(str(path)))
    with pytest.raises(UsageError, match="nowhere"):
        check_target(Location("nowhere://bucket/v.npy"))


def test_leftovers_of_a_killed_run_go_with_the_next_that_writes_the_same_file(
    tmp_path: Path,
) -> None:
    target = tmp_path / "r.json"
    killed = tmp_path / f"{prefix_of(target)}abc"
    other = tmp_path / f"{prefix_of(tmp_path / 'other.json')}abc"
    fresh = tmp_path / f"{prefix_of(target)}def"
    for path in (killed, other, fresh):
        path.write_bytes(b"half")
    for path in (killed, other):
        os.utime(path, (0, 0))
    with atomic_file(target) as file:
        file.write(b"whole")
    assert set(tmp_path.iterdir()) == {target, other, fresh}


def test_what_another_run_still_writes_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "r.json"
    with atomic_file(target) as first:
        first.write(b"first")
        first.flush()
        os.utime(first.name, (0, 0))
        monkeypatch.setattr("isoscope.data.output._SWEPT", set())  # as in another process
        with atomic_file(target) as second:
            second.write(b"second")
    assert target.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [target]


def test_links_to_files_are_written_through(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    file, link, dangling = tmp_path / "data" / "r.json", tmp_path / "r.json", tmp_path / "new.json"
    file.write_text("old")
    link.symlink_to(file)
    dangling.symlink_to(tmp_path / "data" / "new.json")
    for path in (link, dangling):
        check_target(Location(str(path)))
        with atomic_output(Location(str(path))) as output:
            output.write(b"new")
        assert path.is_symlink()
        assert path.read_text() == "new"
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["new.json", "r.json"]


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "null").symlink_to("/dev/null")
    for name, words in (
        ("pipe", "is a named pipe; name a file"),
        ("loop", "is a loop of symbolic links; name a file"),
        ("null", "is a device; name a file"),
    ):
        path = tmp_path / name
        with pytest.raises(UsageError, match=words):
            check_target(Location(str(path)))
        with pytest.raises(UsageError, match=words), atomic_file(path):
            pass
    assert Path("/dev/null").is_char_device()
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "loop", "null"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_with_the_name_of_a_leftover_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / f"{prefix_of(tmp_path / 'x.json')}pipe"
    os.mkfifo(pipe)
    past = time.time() - 60
    os.utime(pipe, (past, past))
    write_atomically(tmp_path / "x.json", "new")
    assert (tmp_path / "x.json").read_text() == "new"
    assert [one.in_use for one in leftovers([tmp_path]) if one.path == str(pipe)] == [False]
