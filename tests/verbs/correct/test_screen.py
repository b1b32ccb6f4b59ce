"""What a terminal shows of corrections that were fitted, applied and refreshed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner
from screens_for_tests import too_wide

import isoscope
from isoscope.data.rewrite import Written
from isoscope.verbs.correct.files import Applied
from isoscope.verbs.correct.screen import apply_screen, target_for

VECTORS = (np.random.default_rng(2).normal(size=(500, 12)) + 1.5).astype(np.float32)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    np.save("v.npy", VECTORS)
    return runner(monkeypatch, capsys)


def pairs_mean(rows: np.ndarray) -> float:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return float((units @ units.T)[np.triu_indices(len(units), 1)].mean())


def test_what_is_printed_is_what_the_correction_does(run: Run) -> None:
    done = run("correct", "fit", "v.npy", "--correction", "center", "--out", "c.safetensors")
    assert done.code == 0, done.error
    after = isoscope.load_correction("c.safetensors").transform(VECTORS.astype(np.float64))
    cells = {line[:30].strip(): line[30:].split() for line in done.out.splitlines()}
    before_cosine, after_cosine = map(float, cells["mean cosine of random pairs"])
    assert before_cosine == pytest.approx(pairs_mean(VECTORS.astype(np.float64)), abs=6e-5)
    assert after_cosine == pytest.approx(pairs_mean(after), abs=6e-5)
    norms = [float(np.linalg.norm(rows, axis=1).mean()) for rows in (VECTORS, after)]
    assert list(map(float, cells["mean norm"])) == pytest.approx(norms, abs=6e-5)


def test_the_next_command_can_be_pasted(run: Run) -> None:
    done = run("correct", "fit", "v.npy", "--correction", "center", "--out", "my file.safetensors")
    (line,) = [line for line in done.out.splitlines() if line.startswith("  Next ")]
    assert line.split("isoscope ")[1] == (
        "correct apply 'my file.safetensors' v.npy --out corrected.npy"
    )
    applied = run("correct", "apply", "my file.safetensors", "v.npy", "--out", "corrected.npy")
    assert "500 vectors corrected in 1 file." in applied.out
    (line,) = [line for line in applied.out.splitlines() if line.startswith("  Next ")]
    assert "isoscope measure corrected.npy" in line
    assert run("measure", "corrected.npy").code == 0


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("corrected.npy", "9 vectors corrected in 1 file."),
        ("postgresql://host/db?table=t&column=v", "9 vectors corrected in 1 table."),
    ],
)
def test_a_table_is_no_file(out: str, said: str) -> None:
    screen = apply_screen(Applied([Written("source", out, 9, 2, True)]), "c.safetensors")
    assert screen.answer == [said]


def test_lines_end_without_a_blank(run: Run) -> None:
    done = run("correct", "fit", "v.npy", "--correction", "clip", "--out", "c.safetensors")
    (line,) = [line for line in done.out.splitlines() if "Dimensions set to zero" in line]
    assert line == line.rstrip()


def test_names_of_corrected_vectors() -> None:
    assert target_for("v.parquet", None) == "corrected.parquet"
    assert target_for("index.faiss", None) == "corrected.npy"
    assert target_for("data/*.npy", None) == "corrected"
    assert target_for("package:glove", None) == "corrected.npy"
    assert target_for("postgresql://host/db?table=t&column=v", None) == "OUT"
    assert target_for("new.npy", 100) == "OUT"


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_many_files_and_long_names_fit(run: Run, columns: str) -> None:
    for k in range(30):
        np.save(f"向量{'x' * 50}-{k:02}.npy", VECTORS[:20])
    fit = run("correct", "fit", "向量*.npy", "--correction", "whiten", "--out", "c.safetensors",
              COLUMNS=columns)  # fmt: skip
    applied = run("correct", "apply", "c.safetensors", "向量*.npy", "--out", "new", COLUMNS=columns)
    for done in (fit, applied):
        assert done.code == 0, done.error
        lines = done.out.splitlines()
        assert too_wide(lines, int(columns)) == []
        assert len(lines) <= 40 or columns == "40"
    assert "19 more files" in applied.out
    plain = run("correct", "fit", "v.npy", "--correction", "center", "--out", "c.safetensors",
                "--ascii")  # fmt: skip
    assert plain.out.isascii()
