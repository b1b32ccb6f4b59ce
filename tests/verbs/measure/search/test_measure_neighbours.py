"""``isoscope measure --neighbours`` and ``--reduce``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from command_line import Run, runner

import isoscope
from isoscope.verbs.measure.search.recall import neighbours
from isoscope.verbs.measure.search.reduction import reduce

pytest.importorskip("faiss")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    np.save(tmp_path / "vectors.npy", shifted(0, 300, 8).astype(np.float32))
    return tmp_path / "vectors.npy"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    rows = random.integers(0, 300, (60, 2))
    lines = [f"{a},{b},{random.random():.3f}" for a, b in rows]
    (tmp_path / "pairs.csv").write_text("row1,row2,score\n" + "\n".join(lines) + "\n")
    return tmp_path / "pairs.csv"


def test_what_a_person_reads(run: Run, vectors: Path) -> None:
    done = run("measure", vectors, "--neighbours", "--corrections", "none,center", "--details")
    assert done.code == 0, done.error
    assert "vectors: what a search would notice" in done.out
    assert "recall of binary codes" in done.out
    assert "Verdict:" in done.out
    assert "No labels were used" in done.out
    assert done.error == ""
    without = run("measure", vectors, "--corrections", "none,center", "--details")
    assert "search" not in without.out


def test_json_and_a_file(run: Run, vectors: Path, pairs: Path, tmp_path: Path) -> None:
    done = run(
        "measure", vectors, "--neighbours", "--reduce", "2,4", "--pairs", pairs, "--k", "5",
        "--neighbour-sample", "200", "--seed", "3", "--corrections", "center", "--json",
        "--out", tmp_path / "r.md",
    )  # fmt: skip
    assert done.code == 0, done.error
    result = isoscope.Result.from_json(done.out)
    expected = neighbours(vectors, ["center"], sample=200, k=5, seed=3)
    shorter = reduce(vectors, [2, 4], pairs=pairs, sample=200, k=5, seed=3)
    measured = isoscope.measure(vectors, corrections="center", seed=3)
    assert result.to_rows() == measured.to_rows() + expected.to_rows() + shorter.to_rows()
    assert result.extra["neighbours"]["remarks"] == expected.extra["neighbours"]["remarks"]
    assert "--neighbours" in result.command
    written = (tmp_path / "r.md").read_text()
    assert "| neighbours kept |" in written
    assert "| pca 4, binary | 1 |" in written


def test_a_sample_of_rows_is_what_all_of_it_is_about(run: Run, vectors: Path) -> None:
    done = run(
        "measure", vectors, "--neighbours", "--sample", "90", "--json", "--corrections", "none"
    )
    result = isoscope.Result.from_json(done.out)
    assert result.row("neighbours/kept").n == 90
    assert result.row("mean_cosine").n == 90


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--neighbours", "--neighbour-sample", "10"], 2, "too small for 10 neighbours"),
        (["--neighbours", "--k", "0"], 2, "--k"),
        (["--neighbours", "--k", "151", "--neighbour-sample", "302"], 1, "300 rows with a dir"),
        (["--reduce", "4,16"], 2, "vectors has 8 dimensions and cannot be reduced to 16"),
        (["--reduce", "few"], 2, "such as 64,128,256, got 'few'"),
        (["--reduce", "0"], 2, "whole numbers of at least 1"),
        (["--pairs", "PAIRS"], 2, "--pairs is for --reduce"),
        (["--reduce", "4", "--pairs", "absent.tsv"], 2, "absent.tsv"),
        (["--reduce", "4", "--pairs", "PAIRS", "--sample", "50"], 2, "leave --sample out"),
    ],
)
def test_wrong_calls(
    run: Run, vectors: Path, pairs: Path, arguments: list[str], code: int, words: str
) -> None:
    filled = [str(pairs) if word == "PAIRS" else word for word in arguments]
    done = run("measure", vectors, *filled)
    assert done.code == code, done.error
    assert done.out == ""
    assert done.error.count("\n") == 1
    assert words in done.error


def test_several_clouds_are_refused_before_they_are_read(run: Run, tmp_path: Path) -> None:
    for layer in (1, 2):
        np.save(tmp_path / f"layer_{layer}.npy", shifted(layer, 40, 4))
    done = run("measure", tmp_path / "layer_{layer}.npy", "--neighbours")
    assert done.code == 2
    assert "search in one cloud" in done.error


def test_without_faiss(run: Run, vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    done = run("measure", vectors, "--neighbours")
    assert done.code == 2
    assert done.error.count("\n") == 1
    assert "pip install 'isoscope[search]'" in done.error
    assert run("measure", vectors).code == 0
