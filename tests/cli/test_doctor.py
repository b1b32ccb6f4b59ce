"""``isoscope doctor``."""

from __future__ import annotations

import json
import tempfile
import tomllib
from pathlib import Path

import pytest
from command_line import Run, runner

from isoscope.cli import doctor
from isoscope.results.screen.cells import width

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def test_what_is_installed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.txt").write_bytes(b"x" * 2_000_000)
    monkeypatch.setattr(doctor, "installed", lambda name: name != "faiss")
    done = run("doctor", ISOSCOPE_DATA=str(tmp_path), COLUMNS="80")
    assert done.code == 0, done.error
    lines = done.out.splitlines()
    assert lines[2].startswith("  Not installed: search.")
    assert any(line.split()[:3] == ["search", "missing:", "faiss"] for line in lines)
    assert any("2.0 MB" in line for line in lines)
    assert "pip install 'isoscope[search]'" in done.out
    assert len(lines) <= 40
    assert max(map(width, lines)) <= 80


def test_many_leftovers_leave_room(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for k in range(12):
        (tmp_path / f"isoscope-{k:08}").mkdir()
    done = run("doctor", COLUMNS="80")
    lines = done.out.splitlines()
    assert sum("Left over" in line for line in lines) == 4
    assert "9 more (0.0 MB): isoscope doctor --json" in done.out
    assert len(json.loads(run("doctor", "--json").out)["leftovers"]) >= 12
    assert len(lines) <= 40


def test_for_programs(run: Run) -> None:
    facts = json.loads(run("doctor", "--json").out)
    assert facts["cores"] >= 1
    assert set(facts["packaged_vectors"]) == {"package:glove", "package:minilm"}


def test_every_extra_is_known() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(doctor.EXTRAS) == set(project["optional-dependencies"]) - {"all"}


def test_vectors_that_do_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> None:
        raise OSError("the file is gone")

    monkeypatch.setattr("isoscope.open_cloud", broken, raising=False)
    assert set(doctor.packaged_vectors().values()) == {"the file is gone"}
