"""Run every command of the README and the tour as it is printed: python tools/docs_commands.py.

The shell and Python blocks of a page run one after the other in a temporary folder, with the
environment that runs this script. Lines that set an environment up (make, pip, activating one) are
left to the reader. Names of pages limit the run: ``python tools/docs_commands.py README.md``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/tour.md")
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.M | re.S)
SET_UP = ("make ", "pip ", ". ")


class Block(NamedTuple):
    """A block of a page: its language, its text, and the line on which it begins."""

    language: str
    text: str
    line: int


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page that can be run, without the lines that set things up."""
    found = []
    for one in BLOCK.finditer(page):
        lines = [line for line in one[2].splitlines() if not line.startswith(SET_UP)]
        if any(line.strip() for line in lines):
            number = page[: one.start()].count("\n") + 1
            found.append(Block(one[1], "\n".join(lines) + "\n", number))
    return found


def run(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a block in a folder; what it prints is kept."""
    # The commands of this environment come first, as after activating it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    call = [sys.executable, "-"] if block.language == "python" else ["bash", "-eu", "-s"]
    return subprocess.run(
        call, input=block.text, cwd=folder, text=True, capture_output=True, check=False,
        env={**os.environ, "PATH": path, "COLUMNS": "80"},
    )  # fmt: skip


def main() -> int:
    """Run the blocks of all pages, or of those that are named; returns how many failed."""
    failed = 0
    for name in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            for block in blocks_of((ROOT / name).read_text("utf-8")):
                done = run(block, Path(folder))
                print(f"{name}:{block.line}: {'failed' if done.returncode else 'ran'}", flush=True)
                if done.returncode:
                    failed += 1
                    print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
