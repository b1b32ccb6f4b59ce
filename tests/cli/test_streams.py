"""Streams that somebody closed, and terminals that say strange things about themselves."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from command_line import runner

import isoscope
from isoscope.cli.streams import PatientConsole, print_facts
from isoscope.errors import DataError

MAIN = "from isoscope.cli.app import main; main()"
STANDARD_INPUT = "from isoscope.data.texts import open_texts; open_texts('-')"


def in_shell(
    arguments: str, streams: str, code: str = MAIN, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = f"{shlex.join([sys.executable, '-c', code])} {arguments} {streams}"
    return subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", shifted(0, 100, 4))
    return tmp_path / "x.npy"


@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams(vectors: Path, tmp_path: Path, streams: str) -> None:
    out = tmp_path / "r.json"
    done = in_shell(f"measure {vectors} --measures mean_cosine --out {out}", streams)
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout == "") == (">&-" in streams.replace("2>&-", ""))
    assert len(isoscope.Result.load(out)) > 0


def test_standard_input_that_is_closed() -> None:
    done = in_shell("", "<&-", STANDARD_INPUT)
    assert "standard input is closed; pipe texts into the command, or name a file" in done.stderr


@pytest.mark.parametrize("columns", ["0", "1"])
def test_a_terminal_without_columns(vectors: Path, columns: str) -> None:
    done = in_shell(f"measure {vectors} --measures mean_cosine", "", COLUMNS=columns)
    usual = in_shell(f"measure {vectors} --measures mean_cosine", "", COLUMNS="80")
    assert done.stdout == usual.stdout != ""
    assert "measure" in in_shell("--help", "", COLUMNS=columns).stdout


def test_messages_name_options_without_keywords_of_python(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full((60, 4), np.nan))
    done = in_shell(f"measure {tmp_path / 'x.npy'}", "")
    assert "--drop-invalid leaves such rows out" in done.stderr
    assert "drop_invalid" not in done.stderr
    with pytest.raises(DataError, match=r"--drop-invalid \(drop_invalid=True\)"):
        isoscope.measure(tmp_path / "x.npy")


STEERING = "A\x1b]0;other\x07B\x9b31mC\u202eD\x85E"
"""A title for the terminal, a colour, and text that runs the other way."""


@pytest.fixture
def steering(tmp_path: Path) -> Path:
    """A result of which every name is such a text."""
    result = isoscope.measure(np.eye(80), "mean_cosine", ["none", "center"], intervals=False)
    rows = [
        replace(row, subject=STEERING, part=STEERING, protocol=STEERING, note=STEERING)
        for row in result.rows
    ]
    path = tmp_path / "r.json"
    replace(result, rows=rows).save(path)
    return path


@pytest.mark.parametrize("form", [(), *(("--format", f) for f in ("csv", "latex", "markdown"))])
def test_names_in_files_do_not_steer_the_terminal(
    steering: Path, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    done = runner(monkeypatch, capsys)("report", steering, *form)
    assert done.code == 0
    assert "]0;other" in done.out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.out)


def test_nor_do_results_that_python_shows(steering: Path) -> None:
    result = isoscope.Result.load(steering)
    for text in (repr(result), result.to_markdown(), result._repr_html_()):
        assert "]0;other" in text
        assert not re.search("[\x1b\x07\x80-\x9f\u202a-\u202e]", text)


def test_printed_json_is_the_same_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts({"name": STEERING})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"name": STEERING}
    assert not re.search("[\x1b\x07\x80-\x9f\u202a-\u202e]", printed)


def test_colours_are_still_printed() -> None:
    screen = PatientConsole(file=io.StringIO(), force_terminal=True, color_system="standard")
    screen.print("word \x1b[2J", style="bold", highlight=False)
    assert screen.file.getvalue() == "\x1b[1mword \ufffd[2J\x1b[0m\n"
