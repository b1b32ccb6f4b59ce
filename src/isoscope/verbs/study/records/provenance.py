"""Where a record comes from: version, commit, date, machine, time, memory, digests of inputs."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from isoscope.data.formats.packages import installed_folder
from isoscope.data.formats.registry import PREFIX
from isoscope.errors import IsoscopeError
from isoscope.verbs.study.registry import MODULES
from isoscope.version import __version__

# Field of a result that says how each of its parts was made.
MADE = "made"

# Digits of a digest that are kept: enough to tell any two files apart.
DIGITS = 16

GIB = 2**30


@contextmanager
def clocked() -> Iterator[dict[str, float]]:
    """Fill the mapping with what a ``with`` block took: seconds, processor seconds, memory (GiB).

    Processor seconds are those of all threads, and of processes that have ended.
    """
    spent: dict[str, float] = {}
    forget_peak()
    started, worked = time.perf_counter(), processor_seconds()
    try:
        yield spent
    finally:
        spent["seconds"] = round(time.perf_counter() - started, 1)
        spent["processor"] = round(processor_seconds() - worked, 1)
        peak = peak_memory()
        if peak is not None:
            spent["memory"] = round(peak / GIB, 2)


def processor_seconds() -> float:
    """Return how long processors have worked for this process and its finished children."""
    return sum(os.times()[:4])


def forget_peak() -> None:
    """Let Linux measure the peak memory of this process from now on; elsewhere nothing happens."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes; None where the system does not say."""
    return _kib_of("/proc/self/status", "VmHWM:")


def available_memory() -> int | None:
    """Return the memory that is free for new work in bytes; None where the system does not say."""
    return _kib_of("/proc/meminfo", "MemAvailable:")


def _kib_of(file: str, field: str) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in Path(file).read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return None


def provenance(spent: dict[str, float], **more: Any) -> dict[str, Any]:
    """Return with which version, when and on what machine a study was run, and what it took."""
    commit = commit_of(Path(__file__).parent)
    return {
        "isoscope": __version__,
        **({} if commit is None else {"commit": commit}),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        "python": platform.python_version(),
        **spent,
        **{name: value for name, value in more.items() if value not in (None, "", {})},
    }


def machine() -> str:
    """Describe this machine in a few words."""
    cores = os.cpu_count() or 1
    try:
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB)
    except (ValueError, OSError, AttributeError):
        memory = 0
    about = f"{cores} core{'s' if cores > 1 else ''}"
    return f"{about}, {memory} GiB, {platform.machine()}" if memory else about


@cache
def commit_of(folder: Path) -> str | None:
    """Return the commit of the checkout that the package runs from; None where it is installed.

    A ``+`` behind it says that files differ from the commit.
    """

    def git(*arguments: str) -> str:
        call = ["git", "-C", str(folder), *arguments]
        return subprocess.run(call, capture_output=True, text=True, check=True, timeout=20).stdout

    try:
        # An installed copy inside an unrelated checkout (a virtual environment) is not tracked.
        git("ls-files", "--error-unmatch", str(Path(__file__).resolve()))
        changed = git("status", "--porcelain", "--untracked-files=no", ".").strip()
        return git("rev-parse", "--short=12", "HEAD").strip() + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def digest_of(source: Any) -> str | None:
    """Return a digest of the files of a model, of vectors or of a folder of data.

    A file has the SHA-256 of its content; a folder that of the names and digests of its files. None
    for what is not on this machine, such as a model of the hub, or is no file.
    """
    path = place_of(source)
    if path is None:
        return None
    if path.is_file():
        return _file_digest(path, _changed(path))[:DIGITS]
    whole = hashlib.sha256()
    for file in files_of(path):
        name = file.relative_to(path).as_posix()
        whole.update(f"{name} {_file_digest(file, _changed(file))}\n".encode())
    return whole.hexdigest()[:DIGITS]


def place_of(source: Any) -> Path | None:
    """Return where the files of a source are; None where they are not on this machine."""
    if not isinstance(source, str | Path):
        return None
    text = str(source)
    try:
        if text.startswith(PREFIX):
            name = text.removeprefix(PREFIX)
            return installed_folder(MODULES.get(name, name), name).resolve()
        path = Path(text).expanduser()
        return path.resolve() if path.exists() else None
    except (OSError, ValueError, IsoscopeError):  # a name that is too long for a file is none
        return None


def files_of(source: Any) -> list[Path]:
    """Return the files of a source, without what Python compiles from a package."""
    path = place_of(source)
    if path is None or path.is_file():
        return [] if path is None else [path]
    found = (file for file in sorted(path.rglob("*")) if "__pycache__" not in file.parts)
    return [file for file in found if file.is_file()]


def _changed(file: Path) -> tuple[int, int]:
    about = file.stat()
    return about.st_size, about.st_mtime_ns


@cache
def _file_digest(file: Path, changed: tuple[int, int]) -> str:
    del changed  # it makes a file that was written again another entry of the cache
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
