"""The help of every command: short, in panels, with examples."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, runner

from isoscope.cli.app import COMMANDS, loaded
from isoscope.cli.completion import words_by_command
from isoscope.cli.help import PANELS
from isoscope.results.screen.cells import width


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


def paths(name: str, command: Any) -> list[tuple[str, ...]]:
    """Return a command and all commands below it."""
    below = getattr(command, "commands", {})
    found = [tuple(name.split())]
    for sub, one in below.items():
        found += paths(f"{name} {sub}", one)
    return found


EVERY = [path for name in COMMANDS for path in paths(name, loaded(name))]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_help_fits(run: Run, path: tuple[str, ...]) -> None:
    done = run(*path, "--help")
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].startswith(f"Usage: isoscope {' '.join(path)}")
    assert len(lines) <= 90
    assert max(map(width, lines)) <= 80
    headings = [line for line in lines if line in PANELS]
    assert headings == [panel for panel in PANELS if panel in headings]


def test_the_whole_help_fits_a_screen(run: Run) -> None:
    lines = run("--help").out.splitlines()
    assert len(lines) < 40
    assert max(map(width, lines)) <= 80
    for name in COMMANDS:
        assert any(line.split()[:1] == [name] for line in lines)


def test_defaults_and_examples_are_shown(run: Run) -> None:
    text = run("measure", "--help").out
    assert "[default: none,center,all-but-the-top,whiten]" in " ".join(text.split())
    assert text.rstrip().splitlines()[-2:] == [
        "  isoscope measure package:glove",
        "  isoscope measure package:glove --corrections none,center --json",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("measur", "x.npy"), "no command is called 'measur'; did you mean measure?"),
        (("measure", "x.npy", "--mesures", "i1"), "unknown option '--mesures'; did you mean --mea"),
        (("measure", "x.npy", "--zzz"), "unknown option '--zzz'; --help lists all"),
        (("measure", "x.npy", "--measures", "mean_cosin"), "did you mean mean_cosine or"),
        (("measure", "x.npy", "--corrections", "whitten"), "did you mean whiten?"),
        (("study", "show", "B-T9"), "did you mean B-T"),
    ],
)
def test_what_was_meant(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert message in done.error


def test_completion_knows_every_option(run: Run) -> None:
    words = words_by_command()
    assert set(COMMANDS) <= set(words[""])
    assert {"--correction", "--out", "--help"} <= set(words["correct fit"])
    for shell in ("bash", "zsh", "fish"):
        done = run("completion", shell)
        assert done.code == 0, done.error
        assert "measure" in done.out
        assert "details" in done.out
    assert run("completion", "tcsh").code == 2


# What is typed, and what each shell offers: commands, options, files, and names of measures, tasks
# and shells.
OFFERED = pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("isoscope thr", ["threshold"]),
        ("isoscope measure --fa", ["--fail-if"]),
        ("isoscope correct ref", ["refresh"]),
        ("isoscope correct apply --ke", ["--keep-norms"]),
        ("isoscope measure vec", ["vectors.npy"]),
        ("isoscope measure x.npy --measures mean_c", ["mean_cosine"]),
        ("isoscope measure x.npy --measures i2,iso", ["i2,iso_score"]),
        ("isoscope evaluate x.npy --tasks sick-r,simlex", ["sick-r,simlex-999"]),
        ("isoscope list measures hub", ["hubness"]),
        ("isoscope completion z", ["zsh"]),
    ],
)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@OFFERED
def test_bash_completes(run: Run, tmp_path: Path, typed: str, offered: list[str]) -> None:
    script = tmp_path / "completion.sh"
    script.write_text(run("completion", "bash").out)
    (tmp_path / "vectors.npy").touch()
    press_tab = (
        'source completion.sh; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _isoscope; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", press_tab, "bash", *typed.split()],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@OFFERED
def test_fish_completes(run: Run, tmp_path: Path, typed: str, offered: list[str]) -> None:
    (tmp_path / "isoscope.fish").write_text(run("completion", "fish").out)
    (tmp_path / "vectors.npy").touch()
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source isoscope.fish; complete -C '{typed}'"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == offered


# Types into an interactive zsh, presses the tab key, and waits until the word is complete.
ZSH = """
zmodload zsh/zpty
zpty z 'zsh -f -i'
zpty -w z 'PS1=; autoload -U compinit; compinit -u -D; source completion.sh; print -r RE""ADY'
zpty -r z shown '*READY*'
zpty -n -w z "$1"$'\\t'
zpty -r z shown "*$2*"
print -r -- found
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@OFFERED
def test_zsh_completes(run: Run, tmp_path: Path, typed: str, offered: list[str]) -> None:
    (tmp_path / "completion.sh").write_text(run("completion", "zsh").out)
    (tmp_path / "vectors.npy").touch()
    (word,) = offered
    done = subprocess.run(
        ["zsh", "-f", "-c", ZSH, "zsh", typed, f"{typed.rpartition(' ')[0]} {word}"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "found\n"
