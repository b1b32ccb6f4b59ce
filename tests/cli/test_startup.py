"""What a command imports: whatever it does without, nobody waits for."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], [], ["measur"]])
def test_a_call_without_data_imports_no_numerical_library(arguments: list[str]) -> None:
    assert not imported(*arguments) & {"numpy", "scipy", "sklearn", "pyarrow", "importlib.metadata"}


def test_measuring_a_file_imports_numpy_alone(tmp_path: Path) -> None:
    path = tmp_path / "cloud.npy"
    np.save(path, np.random.default_rng(0).standard_normal((200, 8), dtype=np.float32) + 1)
    found = imported("measure", str(path))
    assert "numpy" in found
    assert not found & {"scipy", "sklearn", "pyarrow", "pandas", "torch", "fsspec"}


def test_the_version_is_that_of_the_installed_package() -> None:
    assert __version__ == importlib.metadata.version("isoscope")
