"""The command line inside the test's own process: several times faster than a new one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main

from isoscope.cli.app import app, main


class Finished(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    error: str


Run = Callable[..., Finished]

COMMAND = typer.main.get_command(app)
"""What typer makes of the signatures of all commands, which takes longer than most tests."""


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs ``isoscope`` with some arguments and environment variables."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("ISOSCOPE_DATA", raising=False)
    monkeypatch.setattr("isoscope.cli.app.app", COMMAND)

    def run(*arguments: str | Path, **variables: str) -> Finished:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.argv", ["isoscope", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, error = capsys.readouterr()
        return Finished(int(left.value.code or 0), out, error)

    return run
