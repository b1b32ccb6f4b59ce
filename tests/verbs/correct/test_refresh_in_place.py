"""A refresh replaces what it starts from: a run that is killed after that must not count twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.compute.journal import Journal
from isoscope.corrections.closed_form import ClosedForm
from isoscope.errors import UsageError

VECTORS = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)


class Killed(BaseException):
    """Stands for the end of the process."""


def prepare(folder: Path) -> Path:
    """Fit a correction, and write vectors that are to be taken into it."""
    folder.mkdir()
    np.save(folder / "old.npy", VECTORS)
    np.save(folder / "new.npy", VECTORS * 2 + 1)
    path = folder / "whiten.safetensors"
    isoscope.fit_correction(str(folder / "old.npy"), "whiten", path)
    return path


def killed_while(monkeypatch: pytest.MonkeyPatch, path: Path, gone: int) -> None:
    """Refresh in place, and end after the file was replaced and so many files were removed."""
    unlink = Path.unlink
    left = [gone]

    def remove(self: Journal) -> None:
        def counted(one: Path, missing_ok: bool = False) -> None:
            if not left[0]:
                raise Killed
            left[0] -= 1
            unlink(one, missing_ok=missing_ok)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", counted)
            original(self)

    original = Journal.remove
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "remove", remove)
        with pytest.raises(Killed):
            isoscope.refresh_correction(path, str(path.parent / "new.npy"), shard_rows=20)


@pytest.mark.parametrize("gone", range(3))
def test_killed_after_the_file_was_replaced(
    gone: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = prepare(tmp_path / "undisturbed")
    expected = isoscope.refresh_correction(path, str(path.parent / "new.npy"), shard_rows=20)
    content = path.read_bytes()
    path = prepare(tmp_path / "killed")
    new = str(path.parent / "new.npy")
    killed_while(monkeypatch, path, gone)
    journal = Path(f"{path}.journal")
    assert path.read_bytes() == content
    with pytest.raises(UsageError, match="--resume continues it"):
        isoscope.refresh_correction(path, new, shard_rows=20)
    resumed = isoscope.refresh_correction(path, new, shard_rows=20, resume=True)
    assert path.read_bytes() == content
    assert not journal.exists()
    assert resumed.correction.fingerprint == expected.correction.fingerprint
    assert {**resumed.facts, "file": ""} == {**expected.facts, "file": ""}


def test_killed_before_the_file_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = prepare(tmp_path / "undisturbed")
    isoscope.refresh_correction(path, str(path.parent / "new.npy"), shard_rows=20)
    content = path.read_bytes()
    path = prepare(tmp_path / "killed")
    new, before = str(path.parent / "new.npy"), path.read_bytes()

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(ClosedForm, "save", kill)
        with pytest.raises(Killed):
            isoscope.refresh_correction(path, new, shard_rows=20)
    assert path.read_bytes() == before
    isoscope.refresh_correction(path, new, shard_rows=20, resume=True)
    assert path.read_bytes() == content


def test_the_journal_of_other_vectors_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = prepare(tmp_path / "killed")
    killed_while(monkeypatch, path, 0)
    other = path.parent / "other.npy"
    np.save(other, VECTORS * 3)
    with pytest.raises(UsageError, match="cannot be resumed"):
        isoscope.refresh_correction(path, str(other), shard_rows=20, resume=True)
    # Somebody put the file of before back: the vectors are taken into it once more.
    shutil.copy(prepare(tmp_path / "again"), path)
    isoscope.refresh_correction(path, str(path.parent / "new.npy"), shard_rows=20, resume=True)
