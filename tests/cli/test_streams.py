"""Streams that somebody closed, and terminals that say strange things about themselves."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
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
