"""No command writes over what it reads, or two of its outputs into one file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from clouds_for_tests import shifted
from command_line import Run, runner

import isoscope
from isoscope.errors import UsageError


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Commands in a folder with vectors, a correction, a result and labelled pairs."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", shifted(0, 200, 4))
    safetensors.numpy.save_file({"v": shifted(1, 200, 4)}, "x.safetensors")
    isoscope.fit_correction("x.npy", "whiten", "w.safetensors")
    isoscope.measure("x.npy", "mean_cosine", "none").save("r.json")
    Path("link.json").symlink_to("r.json")
    Path("p.json").write_text('{"row1": 0, "row2": 1, "score": 1}\n')
    return runner(monkeypatch, capsys)


@pytest.mark.parametrize(
    "call",
    [
        "report r.json --out r.json",
        "report r.json --out link.json",
        "correct fit x.safetensors --correction whiten --out x.safetensors",
        "correct apply w.safetensors x.safetensors --out w.safetensors",
        "correct refresh w.safetensors x.safetensors --out x.safetensors",
        "threshold x.npy --pairs p.json --out p.json",
        "threshold x.npy --pairs p.json --map p.json",
    ],
)
def test_what_is_read_is_not_written_over(run: Run, call: str) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    done = run(*call.split())
    assert done.code == 2
    assert done.error.endswith(" is a file that is read; name another\n")
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_two_outputs_are_two_files(run: Run) -> None:
    done = run("threshold", "x.npy", "--out", "new.json", "--map", "./new.json")
    assert (done.code, done.error) == (
        2, "isoscope: --out and --map name the same file, new.json; name two\n"
    )  # fmt: skip


def test_a_correction_is_refreshed_in_its_place(run: Run) -> None:
    call = ("correct", "refresh", "w.safetensors", "x.safetensors", "--out", "w.safetensors")
    assert run(*call).code == 0


def test_the_same_from_python(run: Run) -> None:
    del run
    for call in (
        lambda: isoscope.report([Path("r.json")], out="link.json"),
        lambda: isoscope.apply_correction("w.safetensors", "x.safetensors", "w.safetensors"),
        lambda: isoscope.fit_correction("x.safetensors", "whiten", "x.safetensors"),
    ):
        with pytest.raises(UsageError, match="is a file that is read; name another"):
            call()
