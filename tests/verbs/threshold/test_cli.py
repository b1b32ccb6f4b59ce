"""``isoscope threshold`` as a user has it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

from isoscope.verbs.threshold.score_map import load_maps

RANDOM = np.random.default_rng(13)
TOPICS = RANDOM.normal(size=(120, 6))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents and queries with an offset, and pairs of the two."""
    np.save(tmp_path / "documents.npy", TOPICS + 0.5 * RANDOM.normal(size=TOPICS.shape) + 1)
    np.save(tmp_path / "queries.npy", TOPICS + 0.5 * RANDOM.normal(size=TOPICS.shape) + 2)
    lines = [f"{k},{(k + 11 * (k % 2)) % 120},{4 - 4 * (k % 2)}" for k in range(120)]
    (tmp_path / "pairs.csv").write_text("\n".join(["row1,row2,score", *lines]) + "\n")
    return tmp_path


def test_what_a_score_means_without_labels(run: Run, folder: Path) -> None:
    process = run("threshold", folder / "documents.npy", "--at", "0.5,0.9", "--details")
    assert process.code == 0, process.error
    words = " ".join(process.out.split())
    assert "is the 99th percentile of random pairs" in words
    assert "distance" in words
    assert "cosine by correction" in words


def test_labels_queries_maps_and_json(run: Run, folder: Path) -> None:
    process = run(
        "threshold", folder / "documents.npy", "--queries", folder / "queries.npy",
        "--pairs", folder / "pairs.csv", "--positive", ">=4", "--precision", "0.7",
        "--corrections", "none,center", "--map", folder / "map.json", "--json",
        "--base-rate", "1/50",
        "--out", folder / "result.md",
    )  # fmt: skip
    assert process.code == 0, process.error
    rows = json.loads(process.out)["rows"]
    spaces = {row["correction"] for row in rows}
    assert spaces == {"none", "center", "center (own centres)"}
    assert {f"pairs:pairs/precision-0.7/{name}" for name in ("threshold", "precision")} <= {
        row["measure"] for row in rows
    }
    rates = [row for row in rows if row["measure"].endswith("precision-0.7/precision-in-search")]
    assert [row["base_rate_of_matches"] for row in rates] == [0.02, 0.02, 0.02]
    maps = load_maps(folder / "map.json")
    assert {kind for kind, _ in maps} == {"percentile", "probability"}
    assert maps["percentile", "none"](1.0) == 100
    shown = (folder / "result.md").read_text()
    assert "threshold for a precision of 0.7 at a base rate of 1 in 50 (given)" in shown


def test_the_same_twice(run: Run, folder: Path) -> None:
    call = ("threshold", folder / "documents.npy", "--sample", "50", "--json")
    assert run(*call).out == run(*call).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at", "high"), "--at takes comma-separated cosines, not 'high'"),
        (("--at", "2"), "a cosine must lie between -1 and 1"),
        (("--centres", "own"), "--centres is about queries and documents"),
        (("--positive", ">=4"), "--positive is about labelled pairs; name them with --pairs"),
        (("--base-rate", "0.1"), "--base-rate is about labelled pairs; name them with --pairs"),
        (("--base-rate", "2"), "between 0 and 1, such as 0.001 or 1/1000, not '2'"),
        (("--map", "map.txt"), "map.txt: a map of scores is written to a .json file"),
        (("--ids", "name"), "--ids is about labelled pairs; name them with --pairs"),
        (("--folds", "3"), "--folds is about labelled pairs"),
        (("--layer", "block 3"), "--layer is about texts that a model reads"),
        (("--pooling", "cls"), "--pooling is about texts that a model reads"),
        (("--pairs", "missing.csv"), "there is no file missing.csv"),
    ],
)
def test_wrong_calls_are_one_line(run: Run, folder: Path, options, message: str) -> None:
    process = run("threshold", folder / "documents.npy", *options)
    assert process.code == 2
    assert message in process.error
    assert process.error.count("\n") == 1


def test_scores_need_a_condition(run: Run, folder: Path) -> None:
    process = run(
        "threshold", folder / "documents.npy", "--queries", folder / "queries.npy",
        "--pairs", folder / "pairs.csv",
    )  # fmt: skip
    assert process.code == 2
    assert "scores from 0 to 4; say which are a match with --positive" in process.error


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0,1,1", "3,500,0"], "line 3: there is no row 500; the source has 120, from 0"),
        (["0,1,1", "3,a,0"], "line 3: a row should be a number from 0, not 'a'"),
        (["0,1,1", "3,4,0"], "pairs:few has 2 pairs; a threshold needs at least 20"),
    ],
)
def test_bad_pairs_are_one_line(run: Run, folder: Path, lines: list[str], message: str) -> None:
    (folder / "few.csv").write_text("\n".join(["row1,row2,score", *lines]) + "\n")
    process = run("threshold", folder / "documents.npy", "--pairs", folder / "few.csv")
    assert process.code == 1
    assert message in process.error
    assert process.error.count("\n") == 1


def test_advice_with_queries_writes_both_corrections(run: Run, folder: Path) -> None:
    process = run(
        "advise", folder / "documents.npy", "--queries", folder / "queries.npy", "--pairs",
        folder / "pairs.csv", "--corrections", "center", "--centres", "own", "--worthwhile", "0",
        "--out", folder / "correction.safetensors", "--json",
    )  # fmt: skip
    assert process.code == 0, process.error
    told = json.loads(process.out)["recommendation"]
    written = (folder / "correction.queries.safetensors").exists()
    assert written == ("written_for_queries" in told) == (told["correction"] is not None)
