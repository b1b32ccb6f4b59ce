"""``isoscope measure``: its output, its exit codes, and what only a process of its own shows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from command_line import Finished, Run, runner

import isoscope

COMMAND = [sys.executable, "-c", "from isoscope.cli.app import main; main()"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    np.save(tmp_path / "vectors.npy", shifted(0, 300, 8).astype(np.float32))
    return tmp_path / "vectors.npy"


def failed(finished: Finished, code: int, words: str) -> None:
    """Check that an error is one line on standard error and nothing else."""
    assert finished.code == code, finished.error
    assert finished.out == ""
    assert finished.error.count("\n") == 1
    assert finished.error.startswith("isoscope: ")
    assert words in finished.error


def test_the_table_a_person_reads(run: Run, vectors: Path) -> None:
    finished = run("measure", vectors, "--details")
    assert finished.code == 0, finished.error
    lines = finished.out.splitlines()
    header = [line.split("┃")[1:-1] for line in lines if line.startswith("┃")][:2]
    names = ["".join(cell.strip() for cell in cells) for cells in zip(*header, strict=True)]
    assert names == ["measure", "none", "center", "all-but-the-top", "whiten"]
    first = next(line for line in lines if line.startswith("│"))
    assert "mean_cosine" in first
    assert any("i1 *" in line for line in lines)
    assert sum(line.startswith("Verdict:") for line in lines) == 1
    assert "best" not in finished.out
    assert finished.error == ""


def test_json_is_the_result(run: Run, vectors: Path) -> None:
    finished = run("measure", vectors, "--json", "--corrections", "none,center")
    result = isoscope.Result.from_json(finished.out)
    expected = isoscope.measure(vectors, corrections=["none", "center"])
    assert result.to_rows() == expected.to_rows()
    assert "measure" in result.command
    assert "--json" in result.command


def test_some_measures_and_a_file(run: Run, vectors: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    finished = run("measure", vectors, "--measures", "inter_sim,i1", "--out", out)
    assert finished.code == 0
    assert {row.measure for row in isoscope.Result.load(out)} == {"mean_cosine", "i1"}
    run("measure", vectors, "--out", tmp_path / "r.md")
    assert "| measure |" in (tmp_path / "r.md").read_text()


def test_tables_alone_are_shown(run: Run, vectors: Path) -> None:
    finished = run(
        "measure", vectors, "--measures", "spectrum", "--corrections", "none", "--details"
    )
    assert "spectrum (none): 8 rows, here the first 5" in finished.out


def test_a_gate(run: Run, vectors: Path) -> None:
    passes = run("measure", vectors, "--fail-if", "mean_cosine>0.99")
    assert passes.code == 0
    trips = run("measure", vectors, "--json", "--fail-if", "mean_cosine>0.01")
    assert trips.code == 3
    assert "vectors: mean_cosine (none) is 0." in trips.error
    json.loads(trips.out)
    tail = run("measure", vectors, "--measures", "i1", "--fail-if", "cosine_quantiles/99%>0.1")
    assert tail.code == 3
    whole = run("measure", vectors, "--fail-if", "cosine_quantiles>0.1")
    assert "is not one number" in whole.error
    centred = run("measure", vectors, "--measures", "i1", "--fail-if", "mean_cosine@center>0.5")
    assert centred.code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["absent.npy"], 2, "there is no file absent.npy"),
        (["."], 2, "is a folder"),
        (["VECTORS", "--measures", "mean_cosin"], 2, "did you mean mean_cosine"),
        (["VECTORS", "--corrections", "centre"], 2, "did you mean center"),
        (["VECTORS", "--column", "x"], 2, "leave --column out"),
        (["VECTORS", "--out", "absent/r.json"], 2, "there is no folder absent"),
        (["VECTORS", "--out", "r.pdf"], 2, "must end in .json or .md"),
        (["VECTORS", "--fail-if", "mean_cosine"], 2, "write MEASURE"),
        (["VECTORS", "--fail-if", "mean_cosine>many"], 2, "write MEASURE"),
        (["VECTORS", "--fail-if", "cosine>1"], 2, "no measure is called 'cosine'"),
        (["VECTORS", "--fail-if", "spectrum>1"], 2, "is a table"),
        (["VECTORS", "--corrections", "none", "--fail-if", "i1@center>1"], 2, "not measured"),
        (["VECTORS", "--measures", ""], 2, "at least one measure"),
        (["package:word2vec"], 2, "no packaged cloud is called 'word2vec'"),
        (["VECTORS", "--workers", "0"], 2, "--workers"),
        (["VECTORS", "--precision", "half"], 2, "--precision"),
        (["VECTORS", "--nope"], 2, "unknown option '--nope'"),
        (["VECTORS", "VECTORS"], 2, "unexpected argument"),
        ([], 2, "SOURCE is missing"),
        ([""], 2, "name a file"),
    ],
)
def test_wrong_calls(run: Run, vectors: Path, arguments: list[str], code: int, words: str) -> None:
    filled = [str(vectors) if word == "VECTORS" else word for word in arguments]
    failed(run("measure", *filled), code, words)


def test_bad_data(run: Run, tmp_path: Path) -> None:
    array = shifted(0, 50, 4)
    array[13, 2] = np.nan
    np.save(tmp_path / "nan.npy", array)
    out = tmp_path / "r.json"
    failed(run("measure", tmp_path / "nan.npy", "--out", out), 1, "row 13 holds NaN")
    assert not out.exists()
    dropped = run("measure", tmp_path / "nan.npy", "--drop-invalid", "--details")
    assert dropped.code == 0
    assert "left out, not finite: 1 row" in dropped.out
    (tmp_path / "text.npy").write_text("hello")
    failed(run("measure", tmp_path / "text.npy"), 1, "not a whole .npy file")


def test_a_gate_on_something_undefined(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "zero.npy", np.zeros((5, 3)))
    finished = run("measure", tmp_path / "zero.npy", "--fail-if", "mean_cosine>0.5")
    assert finished.code == 1
    assert "cannot be judged" in finished.error


def test_debug_shows_the_traceback(run: Run, tmp_path: Path) -> None:
    finished = run("measure", tmp_path / "absent.npy", "--debug")
    assert finished.code == 2
    assert "Traceback" in finished.error


def test_a_closed_pipe_does_not_lose_the_gate(vectors: Path) -> None:
    for form in ([], ["--json"]):
        process = subprocess.Popen(
            [*COMMAND, "measure", str(vectors), "--fail-if", "mean_cosine<1", *form],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 3
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
        process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_behind_standard_output(vectors: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*COMMAND, "measure", str(vectors)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert process.returncode == 1
    assert process.stderr.count("\n") == 1
    assert "cannot be written" in process.stderr


def test_ctrl_c_ends_at_once_even_in_a_decomposition(tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", shifted(0, 100, 50).repeat(60, axis=1))
    ready = "from isoscope.cli.app import main; print('ready', flush=True); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", ready, "measure", str(tmp_path / "wide.npy")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # imports take a busy machine longer than any fixed time
    time.sleep(2)  # by now it decomposes a 3,000 × 3,000 matrix, for ten seconds and more
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (130, 0)  # a fast machine may have finished
    if process.returncode == 130:
        assert errors == "isoscope: interrupted\n"


def test_terminals_without_mathematical_letters() -> None:
    process = subprocess.run(
        [*COMMAND, "list", "measures"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONIOENCODING": "ascii"},
    )
    assert "mean_cosine" in process.stdout


def test_wide_tables_are_stacked_rather_than_cut(run: Run, vectors: Path) -> None:
    names = "none,center,all-but-the-top,all-but-the-top:n_components=3,whiten"
    finished = run("measure", vectors, "--corrections", names, "--details", COLUMNS="60")
    assert finished.out.count("participation_ratio") == 3
    assert "…" not in finished.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(run: Run, vectors: Path, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    failed(run("measure", vectors, "--out", folder / "r.json"), 2, "cannot be written")


def test_help_has_examples(run: Run) -> None:
    assert "isoscope measure package:glove" in run("measure", "--help").out
    assert run("--version").out.startswith("isoscope ")
    assert "Everyday" in run("--help").out
