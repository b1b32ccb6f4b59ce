"""Checks a change within a minute: linters, types, the tests that concern it, and a fixed core.

Run by ``make quick``. What has changed is what differs from ``origin/main`` (or from the last
commit, where there is no such branch), including files that are not committed. A test file concerns
a changed module if it mirrors it or names it in an import or in a patch; tests marked as slow or as
needing a service wait for ``make test``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SECONDS = 50
"""After which no further test starts."""
QUICK = "not slow and not ray and not postgres and not browser and not fuzz"
CORE = (
    "tests/test_package.py",
    "tests/test_errors.py",
    "tests/verbs/measure/test_cli.py",
    "tests/corrections/estimators/test_whiten.py",
    "tests/measures/test_against_oracle.py",
    "tests/results/test_result.py",
)
"""At most 200 tests of what everything else rests on, whatever has changed."""


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints; none where it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files() -> list[str]:
    """Return the files that differ from the main branch, as paths from the root."""
    (base,) = git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    return sorted(
        {*git("diff", "--name-only", base), *git("ls-files", "--others", "--exclude-standard")}
    )


def named_in(path: Path) -> set[str]:
    """Return the modules that a test file names, in imports or in patches.

    ``from isoscope.measures import space`` may name a module or something in the package, so it
    counts as both. A longer name also stands for the shorter ones within it.
    """
    text = path.read_text("utf-8")
    names = set(re.findall(r"\bisoscope(?:\.\w+)+", text))
    for package, things in re.findall(r"^from ([\w.]+) import (\([^)]*\)|[^\n]+)", text, re.M):
        names |= {package, *(f"{package}.{thing}" for thing in re.findall(r"\w+", things))}
    names |= set(re.findall(r"^import ([\w.]+)", text, re.M))
    return {
        ".".join(parts[:length])
        for parts in (name.split(".") for name in names)
        for length in range(1, len(parts) + 1)
    }


def module_of(file: str) -> str:
    """Return the name under which a source file is imported; empty if it is none."""
    path = Path(file)
    if path.suffix != ".py" or path.parts[0] not in ("src", "tests", "tools"):
        return ""
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def concerned(changed: Iterable[str], tests: Iterable[Path]) -> list[str]:
    """Return the test files that concern some changed files, as paths from the root."""
    files = set(changed)
    modules = {module_of(file) for file in files} - {"", "isoscope", "conftest"}
    chosen = []
    for path in tests:
        file = path.relative_to(ROOT).as_posix()
        mirrored = module_of(file).replace("test_", "", 1)
        if file in files or f"isoscope.{mirrored}" in modules or modules & named_in(path):
            chosen.append(file)
    return chosen


def main() -> int:
    """Run everything, and return the exit code."""
    began = time.time()
    # The type checker takes one core while the tests start on the other.
    checks = {
        "ruff check": [f"{BIN}/ruff", "check", "--quiet", "."],
        "ruff format": [f"{BIN}/ruff", "format", "--quiet", "--check", "."],
        "mypy": [f"{BIN}/mypy", "--no-error-summary"],
    }
    running = {
        name: subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for name, command in checks.items()
    }
    changed = changed_files()
    files = concerned(changed, sorted((ROOT / "tests").rglob("test_*.py")))
    print(f"{len(changed)} files changed, {len(files)} test files concern them", flush=True)
    paths = dict.fromkeys([*files, *CORE])
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "loadgroup",
         "--no-loadscope-reorder", "-m", QUICK, *(p for p in paths if (ROOT / p).exists())],
        cwd=ROOT, check=False,
        env={**os.environ, "ISOSCOPE_TEST_DEADLINE": str(began + SECONDS)},
    )  # fmt: skip
    failed = ["pytest"] if tests.returncode not in (0, 5) else []  # 5: all were left out
    for name, process in running.items():
        output, _ = process.communicate()
        if process.returncode:
            failed.append(name)
            print(f"{name}:\n{output}")
    outcome = f"failed: {', '.join(failed)}" if failed else "all passed"
    print(f"{outcome} in {time.time() - began:.0f} s; make test runs everything")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
