"""``isoscope measure`` and ``advise`` with queries beside documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

RANDOM = np.random.default_rng(15)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "documents.npy", RANDOM.normal(size=(200, 6)) + 1)
    np.save(tmp_path / "queries.npy", RANDOM.normal(size=(90, 6)) - 1)
    return tmp_path


@pytest.mark.parametrize("command", ["measure", "advise"])
def test_two_clouds_are_told_apart(run: Run, folder: Path, command: str) -> None:
    process = run(command, folder / "documents.npy", "--queries", folder / "queries.npy")
    assert process.code == 0, process.error
    words = " ".join(process.out.split())
    assert words.count("Queries have a centre of their own") == 1
    assert "two queries" in words
    details = run(
        command, folder / "documents.npy", "--queries", folder / "queries.npy", "--details"
    )
    assert "query_query_cosine" in details.out
    # The screen of an advice has the first rows; headings of all tables are broken over lines.
    assert "(own" in (words if command == "measure" else details.out)


def test_neighbours_of_queries(run: Run, folder: Path) -> None:
    process = run(
        "measure", folder / "documents.npy", "--queries", folder / "queries.npy", "--neighbours",
        "--corrections", "none,center", "--centres", "own", "--json",
    )  # fmt: skip
    assert process.code == 0, process.error
    rows = json.loads(process.out)["rows"]
    kept = [row["correction"] for row in rows if row["measure"] == "neighbours/kept"]
    assert kept == ["none", "center (own centres)"]


def test_centres_are_about_queries(run: Run, folder: Path) -> None:
    process = run("measure", folder / "documents.npy", "--centres", "own")
    assert process.code == 2
    assert "--centres is about queries and documents; name --queries" in process.error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reduce", "2", "--queries", "queries.npy"), "leave --queries out of this call"),
        (("--k", "5"), "--k and --neighbour-sample are those of --neighbours or --reduce"),
    ],
)
def test_options_that_would_be_ignored(run: Run, folder: Path, options, message: str) -> None:
    process = run("measure", folder / "documents.npy", *options)
    assert process.code == 2
    assert message in process.error


def test_names_are_no_pictures(run: Run, folder: Path) -> None:
    (folder / "documents.npy").rename(folder / "x:fire:[red].npy")
    process = run("measure", folder / "x:fire:[red].npy", "--measures", "mean_cosine")
    assert process.code == 0, process.error
    assert "x:fire:[red]" in process.out
