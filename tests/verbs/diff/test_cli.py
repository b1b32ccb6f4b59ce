"""``isoscope diff`` as a user has it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

import isoscope


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Last month's vectors, this month's, which moved, and last month's by another model."""
    random = np.random.default_rng(0)
    rows = random.standard_normal((600, 10)) + 1
    np.save(tmp_path / "old.npy", rows[:300].astype("f4"))
    np.save(tmp_path / "new.npy", (rows[300:] + 0.5).astype("f4"))
    np.save(tmp_path / "model.npy", (rows[:300] @ random.standard_normal((10, 7))).astype("f4"))
    return tmp_path


def test_other_rows(run: Run, folder: Path) -> None:
    process = run("diff", folder / "old.npy", folder / "new.npy", "--other-rows", "--details")
    assert process.code == 0, process.error
    words = " ".join(process.out.split())
    assert "Compared as clouds with different rows, as requested." in words
    assert "Significant differences: the means, by" in words
    assert "Choose a new threshold" in words
    assert "pairs of B above" in words
    assert "│ mean_shift" in words


def test_same_rows_as_json_and_in_a_file(run: Run, folder: Path) -> None:
    process = run(
        "diff", folder / "old.npy", folder / "model.npy", "--k", "5", "--json",
        "--out", folder / "diff.md",
    )  # fmt: skip
    assert process.code == 0, process.error
    found = json.loads(process.out)
    assert found["same_rows"] is True
    assert found["rows"][0]["measure"] == "neighbour_overlap@5"
    assert found["command"].startswith("isoscope diff ")
    assert "| neighbour_overlap@5 |" in (folder / "diff.md").read_text()


def test_a_correction_of_a(run: Run, folder: Path) -> None:
    path = folder / "center.safetensors"
    isoscope.make_correction("center").fit(np.load(folder / "old.npy")).save(path)
    process = run(
        "diff", folder / "old.npy", folder / "new.npy", "--other-rows", "--correction", path,
        "--threshold", "0.6",
    )  # fmt: skip
    assert process.code == 0, process.error
    assert "above 0.600 after A's center" in " ".join(process.out.split())


def test_a_wrong_call_is_one_line(run: Run, folder: Path) -> None:
    process = run("diff", folder / "old.npy", folder / "model.npy", "--other-rows")
    assert process.code == 1
    assert process.error.count("\n") == 1
    assert "10 dimensions" in process.error
    assert run("diff", folder / "old.npy", folder / "none.npy").code == 2
    assert run("diff", folder / "old.npy", folder / "new.npy", "--out", "x.txt").code == 2
