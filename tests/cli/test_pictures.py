"""``--html`` and ``--figures`` as a user has them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    np.save(tmp_path / "vectors.npy", np.random.default_rng(0).normal(0.3, 0.2, (200, 6)))
    return tmp_path / "vectors.npy"


def test_a_page_and_pictures_beside_the_table(run: Run, vectors: Path, tmp_path: Path) -> None:
    html, figures = tmp_path / "page.html", tmp_path / "figures"
    finished = run("measure", vectors, "--html", html, "--figures", figures)
    assert finished.code == 0, finished.error
    assert "mean cosine" in finished.out
    assert html.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert {path.suffix for path in figures.iterdir()} == {".png", ".svg", ".pdf"}


def test_a_page_of_saved_results(run: Run, vectors: Path, tmp_path: Path) -> None:
    saved = tmp_path / "result.json"
    run("measure", vectors, "--out", saved)
    finished = run("report", saved, saved, "--html", tmp_path / "page.html")
    assert (finished.code, finished.out) == (0, f"written: {tmp_path / 'page.html'}\n")
    assert "vectors" in (tmp_path / "page.html").read_text("utf-8")
    both = run("report", saved, "--html", tmp_path / "page.html", "--out", tmp_path / "t.md")
    assert both.code == 0
    assert (tmp_path / "t.md").read_text("utf-8").startswith("|")


def test_a_study_as_a_page(run: Run, vectors: Path, tmp_path: Path) -> None:
    finished = run("study", "run", "B-F6", vectors, "--html", tmp_path / "page.html")
    assert finished.code == 0, finished.error
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "centring lowers the mean norm." in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--html", "page.txt"], "the name of a page must end in .html"),
        (["--html", "nowhere/page.html"], "--html nowhere/page.html: there is no folder nowhere"),
        (["--figures", "vectors.npy"], "is a file; name a folder"),
    ],
)
def test_errors_come_before_the_work(
    run: Run, vectors: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(vectors.parent)
    finished = run("measure", "vectors.npy", *arguments)
    assert finished.code == 2
    assert finished.out == ""
    assert words in finished.error
    assert finished.error.count("\n") == 1


def test_what_to_install(run: Run, vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "vl_convert" else find(name)
    )
    finished = run("measure", vectors, "--html", "page.html")
    assert finished.code == 2
    assert "pip install 'isoscope[report]'" in finished.error


def test_several_studies_have_no_one_page(run: Run, vectors: Path, tmp_path: Path) -> None:
    finished = run("study", "run", "B-F6", "B-T1", vectors, "--html", tmp_path / "p.html")
    assert "isoscope report draws several" in finished.error
