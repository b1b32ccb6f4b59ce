"""Run the commands of a page again and put what they print in the place of what they printed.

    python tools/rerun.py docs/guide-search.md --folder STORE --until "## The vectors of a model"
    python tools/rerun.py docs/results/diff.md --folder CLOUDS

A page shows output in two ways. A block of ``sh`` is followed by a block without a language, or by
as many as it has commands: each holds what a command prints. A comment ``<!-- output of COMMAND
-->`` begins a part that ends with ``<!-- end of output -->``: it holds what the command writes with
``--out FILE.md``. A block of ``python`` is run too, and a block without a language behind it holds
what it prints. Blocks of ``sh`` without output are left alone. Prose is not changed: read it again.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

WIDTH = 80
"""Characters of a line of output."""

RUN = re.compile(r"^```(sh|python)\n(.*?)^```\n((?:\n```\n.*?^```\n)*)", re.M | re.S)
OUTPUT = re.compile(r"\n```\n.*?^```\n", re.M | re.S)
WRITTEN = re.compile(r"(<!-- output of (.+?) -->\n)(.*?)(<!-- end of output -->)", re.S)

Runner = Callable[[str, str], str]
"""Takes a language (``sh``, ``python`` or ``md``) and code; returns what it prints or writes."""


def commands_of(code: str) -> list[str]:
    """Split a block of shell code into its commands, which may go over several lines."""
    joined = code.replace("\\\n", " ")
    return [" ".join(shlex.quote(one) for one in shlex.split(line)) for line in joined.splitlines()]


def rerun(page: str, run: Runner) -> str:
    """Return a page with the output of its commands of today."""

    def blocks(found: re.Match[str]) -> str:
        language, code, outputs = found[1], found[2], found[3]
        shown = len(OUTPUT.findall(outputs))
        if language == "sh" and not shown:
            return found[0]
        parts = commands_of(code) if language == "sh" else [code]
        said = [run(language, part) for part in parts]
        if language == "python" and not shown:
            return found[0]
        if shown == 1:
            said = ["".join(said)]
        elif shown != len(said):
            raise SystemExit(f"{len(said)} commands, but {shown} blocks of output behind:\n{code}")
        made = "".join(f"\n```\n{text.rstrip()}\n```\n" for text in said)
        return f"```{language}\n{code}```\n{made}"

    def written(found: re.Match[str]) -> str:
        return f"{found[1]}\n{run('md', found[2]).strip()}\n\n{found[4]}"

    return WRITTEN.sub(written, RUN.sub(blocks, page))


def runner(folder: Path) -> Runner:
    """Return what runs code in a folder; a command that fails ends all."""
    # The isoscope that this Python imports, whichever is on the path.
    isoscope = [sys.executable, "-c", "from isoscope.cli.app import main; main()"]
    settings = {**os.environ, "COLUMNS": str(WIDTH)}

    def run(language: str, code: str) -> str:
        print(f"{language}: {code.strip().splitlines()[0]}", file=sys.stderr, flush=True)
        if language == "python":
            return output_of([sys.executable, "-c", code], folder, settings)
        program, *arguments = shlex.split(code)
        if program != "isoscope":
            raise SystemExit(f"only isoscope is run, not {program}: {code}")
        if language == "sh":
            return output_of([*isoscope, *arguments], folder, settings)
        with tempfile.TemporaryDirectory() as made:
            out = Path(made) / "output.md"
            output_of([*isoscope, *arguments, "--out", str(out)], folder, settings)
            return out.read_text("utf-8")

    return run


def output_of(command: list[str], folder: Path, settings: dict[str, str]) -> str:
    """Run a command, and return what it prints."""
    done = subprocess.run(
        command, cwd=folder, env=settings, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{shlex.join(command[-8:])} ended with {done.returncode}")
    return done.stdout


def main() -> None:
    """Run the commands of a page, or of some of its sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("page", type=Path)
    parser.add_argument("--folder", type=Path, default=Path(), help="where commands are run")
    parser.add_argument("--begin", default="", help="the heading to begin at")
    parser.add_argument("--until", default="", help="the heading to stop at")
    asked = parser.parse_args()
    page = asked.page.read_text("utf-8")
    first = page.index(f"\n{asked.begin}\n") if asked.begin else 0
    last = page.index(f"\n{asked.until}\n") if asked.until else len(page)
    made = rerun(page[first:last], runner(asked.folder.resolve()))
    asked.page.write_text(page[:first] + made + page[last:], "utf-8")


if __name__ == "__main__":
    main()
