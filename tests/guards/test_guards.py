"""What isoscope prints and writes is what it was: the quick part of ``tools/guards.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import guards
import pytest

TOOL = Path(guards.__file__)


def compare(*names: str) -> subprocess.CompletedProcess[str]:
    """Run guards in a process of their own, whose environment decides how libraries round."""
    return subprocess.run(
        [sys.executable, str(TOOL), *names], capture_output=True, text=True, check=False
    )


@pytest.mark.needs_package("torch", "torch")
def test_nothing_has_changed() -> None:
    pytest.importorskip("faiss")
    machine = compare("arithmetic")
    if machine.returncode:
        pytest.skip(f"stored with other libraries or on another machine: {machine.stdout[:200]}")
    done = compare("quick")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_digit_a_line_and_a_file_are_seen(tmp_path: Path) -> None:
    stored, found = tmp_path / "stored", tmp_path / "found"
    for folder, number in ((stored, "0.7566284015687470"), (found, "0.7566284015687471")):
        folder.mkdir()
        (folder / guards.RUN).write_text(f"mean_cosine {number}\nisoscope 0.1.0\n")
    (found / "result.json").write_text("{}")
    said = guards.compared("measure", stored, found)
    assert len(said) == 2
    assert "measure/run.txt:1: stored 'mean_cosine 0.7566284015687470', now" in said[0]
    assert said[1] == "measure/result.json: is new"
    (found / guards.RUN).write_text("mean_cosine 0.7566284015687470\nisoscope 0.2.0\n")
    (found / "result.json").unlink()
    assert guards.compared("measure", stored, found) == []
    (found / guards.RUN).write_text("mean_cosine 0.7566284015687470\n")
    assert "2 lines are stored, now there are 1" in guards.compared("measure", stored, found)[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"versions": {"numpy": "2.4.6"}', '"versions": {"numpy": "2.5.0"}'),
        ('"seconds": 0.25,', '"seconds": 1e-05,'),
        (
            '"measure": "sts-b/seconds",\n  "value": 0.5,',
            '"measure": "sts-b/seconds",\n  "value": 2.5,',
        ),
    ],
)
def test_what_differs_between_two_runs_does_not_count(one: str, other: str) -> None:
    assert guards.unlike(one.encode(), other.encode()) == []


def test_every_guard_is_stored() -> None:
    names = set(guards.all_guards())
    assert {path.name for path in guards.STORED.iterdir()} == names
    size = sum(path.stat().st_size for path in guards.STORED.rglob("*") if path.is_file())
    assert size < 6_000_000
