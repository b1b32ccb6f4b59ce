"""``isoscope report`` as a user has it."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

import isoscope


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def results(tmp_path: Path) -> list[Path]:
    paths = []
    for seed, name in enumerate(("one", "two")):
        rng = np.random.default_rng(seed)
        np.save(tmp_path / f"{name}.npy", rng.normal(seed, 1, (60, 5)))
        paths.append(tmp_path / f"{name}.json")
        isoscope.measure(tmp_path / f"{name}.npy").save(paths[-1])
    return paths


def test_a_table_on_the_screen(run: Run, results: list[Path]) -> None:
    process = run("report", *results, "--format", "markdown", "--columns", "mean_cosine,i1_scaled")
    assert (process.code, process.error) == (0, "")
    lines = process.out.split("\n")
    assert lines[0] == "| model | mean_cosine | i1_scaled |"
    assert lines[2].startswith("| one | ")
    assert lines[3].startswith("| two | 0.")


def test_csv_in_a_file(run: Run, results: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    process = run(
        "report", *results, "--format", "csv", "--rows", "model", "--columns", "i1*",
        "--correction", "none,center", "--out", out,
    )  # fmt: skip
    assert (process.code, process.out, process.error) == (0, "", "")
    with out.open(newline="") as file:
        found = list(csv.DictReader(file))
    for line, path in zip(found, results, strict=True):
        result = isoscope.Result.load(path)
        assert float(line["i1"]) == result.value("i1")
        assert float(line["i1_scaled@center log10"]) == result.row("i1_scaled", "center").log10


def test_latex_with_references(run: Run, results: list[Path]) -> None:
    process = run("report", *results, "--format", "latex", "--references", "--digits", "2")
    assert process.code == 0
    assert r"\begin{tabular}{l" in process.out
    assert "% @inproceedings{mu2018," in process.out


def test_wrong_calls_are_one_line(run: Run, results: list[Path], tmp_path: Path) -> None:
    good = results[0]
    (tmp_path / "rows.jsonl").write_text("{}\n")
    contents = {
        "empty.json": "",
        "list.json": "[]",
        "cut.json": good.read_text()[:500],
        "deep.json": "[" * 200_000,
        "later.json": '{"schema_version": 99, "rows": []}',
        "none.json": '{"schema_version": 1, "rows": []}',
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    damaged = json.loads(good.read_text())
    damaged["rows"][3]["value"] = "a lot"
    (tmp_path / "damaged.json").write_text(json.dumps(damaged))
    (tmp_path / "latin.json").write_bytes(b"\xff")
    calls: list[tuple[list[str | Path], int, str]] = [
        ([tmp_path / "rows.jsonl"], 2, "rows.jsonl: a result is a .json file"),
        ([tmp_path / "gone.json"], 2, "there is no result "),
        ([tmp_path / "empty.json"], 1, "empty.json: this is not an isoscope result"),
        ([tmp_path / "list.json"], 1, "list.json: this is not an isoscope result"),
        ([tmp_path / "cut.json"], 1, "cut.json: this is not an isoscope result"),
        ([tmp_path / "deep.json"], 1, "deep.json: this is not an isoscope result"),
        ([tmp_path / "later.json"], 1, "later.json: this result has schema version 99"),
        ([tmp_path / "none.json"], 1, "these results hold no numbers"),
        ([tmp_path / "damaged.json"], 1, "damaged.json: row 4 of the result is damaged"),
        ([tmp_path / "latin.json"], 2, "latin.json cannot be read as a result"),
        ([good, "--columns", "i9"], 2, "no measure in these results is called 'i9'; did you mean"),
        ([good, "--rows", "colour"], 2, "no kind of row is called 'colour'"),
        ([good, "--out", tmp_path], 2, "is a folder; name a file"),
        ([good, "--format", "html"], 2, "html"),
    ]
    for arguments, code, message in calls:
        process = run("report", *arguments)
        assert process.code == code, process.error
        assert message in process.error
        assert process.error.count("\n") == 1
        assert process.out == ""


@pytest.mark.parametrize("cells", [60, 80, 200])
def test_a_screen_for_people(
    run: Run, results: list[Path], monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(cells))
    alone = run("report", results[0])
    assert (alone.code, alone.error) == (0, "")
    lines = alone.out.splitlines()
    assert lines[0] == "1 result · one"
    assert max(map(len, lines)) <= max(cells, max(len(str(path)) for path in results) + 10)
    assert len(lines) <= 40
    assert any(line.split()[:2] == ["effective", "rank"] for line in lines)
    both = run("report", *results)
    assert both.out.startswith("2 results · one, two\n")
    assert "--html report.html" in " ".join(both.out.split()).replace("\\ ", "")
    assert "--format markdown" in both.out
    chosen = run("report", *results, "--columns", "i1*")
    assert "I1 at unit scale" in " ".join(chosen.out.split())


def test_numbers_that_differ_in_protocol_are_told_apart(
    run: Run, results: list[Path], tmp_path: Path
) -> None:
    first = isoscope.Result.load(results[0])
    again = tmp_path / "again.json"
    replace(first, rows=[replace(first.rows[0], value=0.5, protocol="another")]).save(again)
    process = run("report", results[0], again)
    assert process.code == 2
    assert "tell them apart with --rows model,part,protocol" in process.error
