"""Wrong calls: one line that says what is wrong, where, and what would be right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(80, 6)).astype(np.float32)
    np.save("v.npy", rows)
    np.save("zero.npy", 0 * rows)
    np.save("empty.npy", rows[:0])
    Path("nothing.npy").touch()
    Path("nothing.txt").touch()
    Path("text.txt").write_text("This is a text about cats.\nAnd this is another one.\n")
    return runner(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("measure v.npy --sample 0", "--sample must be at least 2, got 0"),
        ("measure v.npy --sample=1.5", "--sample takes a whole number, got 1.5"),
        ("threshold v.npy --confidence x", "--confidence takes a number, got x"),
        ("explore v.npy --port 99999", "--port must be at most 65535, got 99999"),
        ("measure v.npy --precision duble",
         "--precision must be data or double, got 'duble'; did you mean double?"),
        ("completion fisch", "SHELL must be bash, zsh or fish, got 'fisch'; did you mean fish?"),
        ("measure v.npy --sample",
         "--sample needs a value; for examples, see isoscope measure --help"),
        ("measure", "SOURCE is missing; for examples, see isoscope measure --help"),
        ("diff v.npy", "B is missing; for examples, see isoscope diff --help"),
        ("correct fit v.npy --correction center",
         "--out is missing; for examples, see isoscope correct fit --help"),
        ("correct aply c.safetensors v.npy", "no command is called 'aply'; did you mean apply?"),
        ("list measure", "no command is called 'measure'; did you mean measures?"),
        ("list zebras", "no command is called 'zebras'; isoscope list --help lists all"),
        ("threshold v.npy --level 2", "unknown option '--level'; --help lists all"),
        ("measure v.npy --colum x", "unknown option '--colum'; did you mean --column?"),
        ("measure v.npy more.npy",
         "unexpected argument: more.npy; several files are given as one pattern in quotes, "
         "such as 'part-*.npy'"),
    ],
)  # fmt: skip
def test_what_the_parser_finds(run: Run, call: str, message: str) -> None:
    done = run(*call.split())
    assert (done.code, done.out) == (2, "")
    assert done.error == f"isoscope: {message}\n"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("measure nothing.npy", "nothing.npy is empty"),
        ("measure nothing.txt", "nothing.txt is empty"),
        ("measure empty.npy", "there are no vectors in it"),
        ("measure text.txt", "texts are for a model: isoscope profile MODEL --text text.txt"),
        ("threshold zero.npy", "fewer than two vectors differ from zero"),
    ],
)
def test_files_that_hold_nothing_of_use(run: Run, call: str, words: str) -> None:
    done = run(*call.split())
    assert (done.code, done.out) == (1, "")
    assert words in done.error
    assert done.error.startswith("isoscope: ")
    assert done.error.count("\n") == 1
