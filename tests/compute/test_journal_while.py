from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoscope.compute.journal import Journal, journal_while, refuse_unfinished, remove_unused
from isoscope.errors import DataError, UsageError

ASKED = {"correction": "center"}


def test_it_goes_when_all_went_well(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    with journal_while(folder, ASKED, resume=False) as journal:
        assert journal is not None
        journal.save("fit 0-0", {"x": np.ones(1)})
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.parametrize("error", [DataError("cut off"), KeyboardInterrupt()])
def test_it_stays_where_somebody_can_go_on(tmp_path: Path, error: BaseException) -> None:
    folder = tmp_path / "journal"

    def cut_off() -> None:
        with journal_while(folder, ASKED, resume=False) as journal:
            assert journal is not None
            journal.save("fit 0-0", {"x": np.ones(1)})
            raise error

    with pytest.raises(type(error)):
        cut_off()
    with (
        pytest.raises(UsageError, match="--resume continues it"),
        journal_while(folder, ASKED, resume=False),
    ):
        pass
    with journal_while(folder, ASKED, resume=True) as journal:
        assert journal is not None
        assert journal.steps == ("fit 0-0",)
    assert not folder.exists()


@pytest.mark.parametrize("error", [UsageError("no such dimension"), KeyboardInterrupt()])
def test_an_empty_one_goes_in_any_case(tmp_path: Path, error: BaseException) -> None:
    with (
        pytest.raises(type(error)),
        journal_while(tmp_path / "journal", ASKED, resume=False),
    ):
        raise error
    assert not list(tmp_path.iterdir())


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    with journal_while(None, ASKED, resume=False) as journal:
        assert journal is None
    assert not list(tmp_path.iterdir())


def test_a_short_run_that_fails_is_not_worth_keeping(tmp_path: Path) -> None:
    def cut_off(resume: bool, worth: float) -> None:
        with journal_while(tmp_path / "journal", ASKED, resume=resume, worth=worth) as journal:
            assert journal is not None
            journal.save("read 0-0", {"x": np.ones(1)})
            raise DataError("cut off")

    with pytest.raises(DataError):
        cut_off(resume=False, worth=60.0)
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError):
        cut_off(resume=False, worth=0.0)
    with pytest.raises(DataError):
        cut_off(resume=True, worth=60.0)  # what an earlier run kept is not this one's to delete
    assert (tmp_path / "journal").is_dir()


def test_a_thread_that_an_interrupt_left_behind_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    with journal_while(folder, ASKED, resume=False) as journal:
        assert journal is not None
    journal.save("read 0-0", {"x": np.ones(1)})
    assert not folder.exists()
    Journal.open(folder, ASKED).close()
    with Journal.open(folder, ASKED, resume=True) as journal:
        pass
    journal.save("read 0-0", {"x": np.ones(1)})
    journal.forget("read 0-0")
    assert {path.name for path in folder.iterdir()} == {"configuration.json", "lock"}


def test_an_interrupt_between_a_file_and_its_name_in_the_list(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    with journal_while(folder, ASKED, resume=False) as journal:
        assert journal is not None
        journal.save("read 0-0", {"x": np.ones(1)})
        del journal._finished["read 0-0"]
        (folder / ".isoscope-half").write_bytes(b"")
    assert not folder.exists()


def test_steps_without_a_configuration_do_not_block_the_next_run(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    with Journal.open(folder, ASKED) as journal:
        journal.save("read 0-0", {"x": np.ones(1)})
    (folder / "configuration.json").unlink()
    with journal_while(folder, ASKED, resume=False) as journal:
        assert journal is not None
        assert journal.steps == ()
    assert not folder.exists()
    folder.mkdir()
    (folder / "step 100.safetensors").write_bytes(b"weights of somebody")
    with pytest.raises(UsageError, match="contains other files"):
        Journal.open(folder, ASKED)


def test_a_second_run_is_not_told_to_delete_the_folder_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    with journal_while(folder, ASKED, resume=False):
        with pytest.raises(UsageError, match=f"in use by another run, process {os.getpid()}; wait"):
            refuse_unfinished(folder)
        with pytest.raises(UsageError, match="in use by another run"):
            Journal.open(folder, ASKED)
    Journal.open(folder, ASKED).close()
    with pytest.raises(UsageError, match="--resume continues it"):
        refuse_unfinished(folder)


class Interrupts:
    """Ctrl-C at the k-th call of any of some methods of ``Path``."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int, *names: str) -> None:
        self.left = at
        for name in names:
            patch.setattr(Path, name, self.interrupted(getattr(Path, name)))

    def interrupted(self, method: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return method(*args, **options)

        return call


@pytest.mark.parametrize("at", range(1, 8))
def test_an_interrupt_while_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    journal = Journal.open(tmp_path / "journal", ASKED)
    for step in ("read 0-0", "read 0-1"):
        journal.save(step, {"x": np.ones(1)})
    interrupts = Interrupts(monkeypatch, at, "unlink", "rmdir", "glob")
    with pytest.raises(KeyboardInterrupt):
        journal.remove()
    monkeypatch.undo()
    assert interrupts.left <= 0, "there are fewer such calls: test fewer"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("at", range(1, 9))
def test_an_interrupt_while_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    interrupts = Interrupts(monkeypatch, at, "mkdir", "exists", "open", "glob", "stat", "iterdir")
    with (
        pytest.raises(KeyboardInterrupt),
        journal_while(tmp_path / "journal", ASKED, resume=False),
    ):
        pass
    monkeypatch.undo()
    assert interrupts.left <= 0, "there are fewer such calls: test fewer"
    assert not list(tmp_path.iterdir())


def test_an_interrupt_while_it_goes_on_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "journal"
    with Journal.open(folder, ASKED) as journal:
        journal.save("read 0-0", {"x": np.ones(1)})
    for at in range(1, 8):
        Interrupts(monkeypatch, at, "mkdir", "exists", "open", "glob", "stat")
        with pytest.raises(KeyboardInterrupt):
            Journal.open(folder, ASKED, resume=True)
        monkeypatch.undo()
    with Journal.open(folder, ASKED, resume=True) as journal:
        assert journal.steps == ("read 0-0",)


def test_a_folder_that_no_run_uses_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    remove_unused(folder)  # which is not there
    for names in ((), ("lock",)):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
        remove_unused(folder)
        assert not folder.exists()
    with Journal.open(folder, ASKED):
        remove_unused(folder)
    remove_unused(folder)
    assert (folder / "configuration.json").is_file()
    (folder / "configuration.json").rename(folder / "of somebody")
    remove_unused(folder)
    assert (folder / "of somebody").is_file()
