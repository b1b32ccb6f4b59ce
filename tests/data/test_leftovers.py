"""What killed runs leave behind is found, with what makes it go away."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from faults_for_tests import environment

from isoscope.cli.doctor import doctor_screen, findings
from isoscope.data import leftovers as module
from isoscope.data.leftovers import leftovers
from isoscope.data.output import write_atomically

KILLED = """
import sys
from pathlib import Path
from faults_for_tests import die
from isoscope.data.output import atomic_file

with atomic_file(Path(sys.argv[1])) as file:
    file.write(b"x" * 1000)
    file.flush()
    die()
"""


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A target whose writing was killed; its temporary file counts as old."""
    monkeypatch.setattr(module, "FRESH", -1.0)
    (tmp_path / "nested").mkdir()
    target = tmp_path / "nested" / "out.json"
    done = subprocess.run([sys.executable, "-c", KILLED, target], check=False, env=environment())
    assert done.returncode == -signal.SIGKILL
    return target


def below(folder: Path) -> list[module.Leftover]:
    return [one for one in leftovers([folder]) if one.path.startswith(str(folder))]


def test_what_kill_9_left_is_named_until_the_next_run_removes_it(
    killed: Path, tmp_path: Path
) -> None:
    (found,) = below(tmp_path)
    assert (found.bytes, found.in_use) == (1_000, False)
    assert found.remedy.startswith("the next run that writes the same file removes it")
    os.utime(found.path, (1, 1))
    write_atomically(killed, "whole")
    assert below(tmp_path) == []
    assert killed.read_text() == "whole"


def test_what_a_run_holds_is_no_leftover(killed: Path, tmp_path: Path) -> None:
    del killed
    (found,) = below(tmp_path)
    with Path(found.path).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (held,) = below(tmp_path)
    assert held.in_use
    assert held.remedy == "a run may still use it"


def test_folders_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: Path
) -> None:
    del killed
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "isoscope-abc").mkdir()
    (tmp_path / "isoscope-abc" / "work-0").write_bytes(bytes(50))
    (found,) = [one for one in leftovers([]) if one.path.endswith("isoscope-abc")]
    assert (found.bytes, found.remedy) == (50, f"rm -r {tmp_path}/isoscope-abc")


def test_doctor_names_those_of_a_given_folder_first(
    killed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):  # more than doctor names, in the folder of temporary files
        (tmp_path / f"isoscope-{number}").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    facts = findings([killed.parent])
    assert facts["leftovers"][0]["path"].startswith(str(killed.parent))
    told = [fact.text for fact in doctor_screen(facts).facts if fact.label == "Left over"]
    assert any(str(killed.parent) in text and "(0.0 MB)" in text for text in told)
    assert leftovers([tmp_path / "nowhere"]) == leftovers([])
