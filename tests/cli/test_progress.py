"""Which progress is shown, and where."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from clock_for_tests import Clock
from clouds_for_tests import shifted
from command_line import Run, runner
from rich.console import Console
from typer.testing import CliRunner

from isoscope.cli import options
from isoscope.cli.progress import MODES, Mode, chosen_mode, progress_bar
from isoscope.errors import UsageError

COMMAND = [sys.executable, "-c", "from isoscope.cli.app import main; main()"]


@pytest.fixture(autouse=True)
def _usual_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISOSCOPE_PROGRESS", raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    np.save(tmp_path / "vectors.npy", shifted(0, 300, 8).astype(np.float32))
    return tmp_path / "vectors.npy"


def shown(*, terminal: bool, **how: Any) -> str | None:
    """Return what a run of two seconds leaves, or None where it has no callback."""
    clock, stream = Clock(), io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100, get_time=clock)
    with progress_bar(console, "steps", **how) as progress:
        if progress is None:
            return None
        progress("train", 1, 10)
        clock.now += 2
        progress("train", 5, 10)
    return stream.getvalue()


def kind(said: str | None) -> str:
    if said is None:
        return "none"
    return "lines" if said.startswith("{") else "bar" if "5 of 10 steps" in said else said


@pytest.mark.parametrize(
    ("mode", "on_terminal", "elsewhere"),
    [
        (None, "bar", "none"),
        ("auto", "bar", "none"),
        ("bar", "bar", "bar"),
        ("lines", "lines", "lines"),
        ("none", "none", "none"),
    ],
)
def test_what_a_mode_shows(
    monkeypatch: pytest.MonkeyPatch, mode: Mode | None, on_terminal: str, elsewhere: str
) -> None:
    assert kind(shown(terminal=True, mode=mode)) == on_terminal
    assert kind(shown(terminal=False, mode=mode)) == elsewhere
    if mode is not None:
        monkeypatch.setenv("ISOSCOPE_PROGRESS", mode)
        assert kind(shown(terminal=True)) == on_terminal
        assert kind(shown(terminal=False)) == elsewhere


def test_the_bar_has_a_rate_and_the_time_left() -> None:
    assert "2 steps/s 0:00:02 left" in (shown(terminal=True) or "")


def test_lines_have_them_too() -> None:
    last = json.loads((shown(terminal=False, mode="lines") or "").splitlines()[-1])
    assert (last["rate"], last["seconds_left"], last["elapsed"]) == (2.0, 2.5, 2.0)


def test_an_option_counts_more_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOSCOPE_PROGRESS", "lines")
    assert kind(shown(terminal=True, mode="auto")) == "bar"
    assert kind(shown(terminal=True, mode="none")) == "none"
    monkeypatch.setenv("ISOSCOPE_PROGRESS", "loud")
    assert kind(shown(terminal=True, mode="auto")) == "bar"


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOSCOPE_PROGRESS", "")
    assert chosen_mode(None, quiet=False) == "auto"


def test_quiet_shows_nothing_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for said in (*MODES, "loud"):
        monkeypatch.setenv("ISOSCOPE_PROGRESS", said)
        assert shown(terminal=True, quiet=True) is None
    assert shown(terminal=True, quiet=True, mode="auto") is None
    assert shown(terminal=True, quiet=True, mode="none") is None


@pytest.mark.parametrize("mode", ["bar", "lines"])
def test_quiet_and_progress_contradict_each_other(mode: Mode) -> None:
    with pytest.raises(UsageError, match=f"--quiet shows no progress, --progress {mode} does"):
        shown(terminal=True, quiet=True, mode=mode)


def test_standard_error_is_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(mode="lines") as progress:
        assert progress is not None
        progress("first read", 1, 2)
    said = capsys.readouterr()
    assert said.out == ""
    assert json.loads(said.err)["unit"] == "rows"


def test_a_run_that_fails_says_how_far_it_came() -> None:
    stream = io.StringIO()

    def fail() -> None:
        with progress_bar(Console(file=stream), mode="lines") as progress:
            assert progress is not None
            progress("first read", 1, 9)
            progress("first read", 4, 9)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [json.loads(line)["done"] for line in stream.getvalue().splitlines()] == [1, 4]


def test_lines_of_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], vectors: Path
) -> None:
    run: Run = runner(monkeypatch, capsys)
    finished = run("measure", vectors, "--json", ISOSCOPE_PROGRESS="lines")
    assert finished.code == 0
    assert json.loads(finished.out)["rows"]
    said = [json.loads(line) for line in finished.error.splitlines()]
    assert [line["progress"] for line in said if line["done"] == 300] == [
        "first read",
        "second read",
    ]
    assert {(line["total"], line["unit"]) for line in said} == {(300, "rows")}
    assert run("measure", vectors, ISOSCOPE_PROGRESS="none").error == ""


def test_a_wrong_word_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], vectors: Path
) -> None:
    finished = runner(monkeypatch, capsys)("measure", vectors, ISOSCOPE_PROGRESS="loud")
    assert (finished.code, finished.out) == (2, "")
    assert finished.error == (
        "isoscope: ISOSCOPE_PROGRESS is 'loud'; write auto, bar, lines or none\n"
    )


@pytest.mark.parametrize("mode", ["bar", "lines"])
def test_nobody_listens_to_standard_error(vectors: Path, mode: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    patience = (
        "from isoscope.cli import progress as progress_drawing; progress_drawing.PATIENCE = 0; "
    )
    finished = subprocess.run(
        [
            *(*COMMAND[:2], patience + COMMAND[2]),
            *("measure", str(vectors), "--json", "--fail-if", "mean_cosine<1"),
        ],
        stdout=subprocess.PIPE,
        stderr=writing,
        check=False,
        env={**os.environ, "ISOSCOPE_PROGRESS": mode},
    )
    os.close(writing)
    assert finished.returncode == 3  # the gate, which says so on standard error as well
    assert json.loads(finished.stdout)["rows"]


def test_the_options_of_commands() -> None:
    app = typer.Typer()

    def work(watch: options.Watch) -> None:
        print(watch.quiet, watch.progress)

    app.command()(options.command(work))

    def output(*arguments: str) -> str:
        return CliRunner().invoke(app, arguments).output

    assert output() == "False None\n"
    assert output("-q", "--progress", "none") == "True none\n"
    assert output("--quiet", "--progress", "lines") == "True lines\n"
    assert CliRunner().invoke(app, ["--progress", "loud"]).exit_code == 2
