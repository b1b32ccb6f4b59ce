"""What a command imports: whatever it does without, nobody waits for."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np

from isoscope.cli.app import COMMANDS
from isoscope.version import __version__

RUN = """
import contextlib, io, sys
from isoscope.cli.app import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    with contextlib.suppress(SystemExit):
        main()
print(*{name.partition(".")[0] for name in sys.modules})
print(*sys.modules)
"""


def imported(*arguments: str) -> set[str]:
    """Return the names of all modules that a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


# What takes longer to import than typer and rich, which the command line is made of.
SLOW = {"numpy", "scipy", "sklearn", "pyarrow", "pydantic", "importlib.metadata"}

WITHOUT_DATA = [
    "", "--version", "--help", "measur", "list", "list measur", "list measures",
    "list measures --details", "list measures --json", "list corrections", "list tasks",
    "list tasks --json", "study list", "study list B", "measure --help",
    "measure --nosuch a.npy", "measure nosuch.npy",
    "measure nosuch.npy --k 5 --fail-if mean_cosine>0.6", "measure a.npy --measures nosuch",
    "measure a.npy --sample five", "measure a.npy --sample 1", "measure a.npy --precision half",
    "measure a.npy --corrections nosuch", "diff nosuch.npy nosuch.npy", "threshold nosuch.npy",
    "explore nosuch.npy", "correct fit nosuch.npy --correction center --out c.safetensors",
]  # fmt: skip


# In one process, which has loaded nothing of this when the first of the calls begins.
CALLS = """
import contextlib, io, sys
from isoscope.cli.app import main
slow = set(sys.argv.pop().split())
for call in sys.argv.pop().splitlines():
    sys.argv[1:] = call.split()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        with contextlib.suppress(SystemExit):
            main()
    assert not slow & {*sys.modules}, f"{call!r} imports {slow & {*sys.modules}}"
"""


def test_calls_without_data_import_no_numerical_library() -> None:
    calls = [*WITHOUT_DATA, *(f"{command} --nosuch" for command in COMMANDS)]
    done = subprocess.run(
        [sys.executable, "-c", CALLS, "\n".join(calls), " ".join(SLOW)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.stderr


def test_measuring_a_file_imports_numpy_alone(tmp_path: Path) -> None:
    path = tmp_path / "cloud.npy"
    np.save(path, np.random.default_rng(0).standard_normal((200, 8), dtype=np.float32) + 1)
    found = imported("measure", str(path))
    assert "numpy" in found
    assert not found & {"scipy", "sklearn", "pyarrow", "pandas", "torch", "fsspec"}


def test_the_version_is_that_of_the_installed_package() -> None:
    assert __version__ == importlib.metadata.version("isoscope")


def test_python_runs_the_package_as_the_command() -> None:
    call = [sys.executable, "-m", "isoscope", "--version"]
    done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split()[:2] == ["isoscope", __version__]
