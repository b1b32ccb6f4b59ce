"""Temporary files that runs left behind when they were killed, and what becomes of them.

A run that is ended by a signal it can hear removes its own. ``kill -9`` cannot be heard: what is
left goes with the next run that writes the same target, and is listed here until then.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from isoscope.data.output import FRESH, PREFIX, hold

# How the names of temporary folders begin, of which the parts above are for files.
FOLDER_PREFIX = "isoscope-"

# Folders below a given one that are looked into: caches and results lie at most so deep.
DEPTH = 3


@dataclass(frozen=True)
class Leftover:
    """A file or folder that a killed run left behind."""

    path: str
    bytes: int
    in_use: bool
    """Whether a run still holds it."""
    remedy: str
    """How it goes away."""


def leftovers(folders: Iterable[Path]) -> list[Leftover]:
    """Find what killed runs left in some folders, then in the folder of temporary files."""
    found = {path: kind for folder in folders for path, kind in named(folder, PREFIX, DEPTH)}
    found |= dict(named(Path(tempfile.gettempdir()), FOLDER_PREFIX, 0))
    return [described(path, kind) for path, kind in found.items()]


def named(folder: Path, prefix: str, depth: int) -> Iterator[tuple[Path, bool]]:
    """Yield what has a name with this prefix, and whether it is a folder."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # gone, or not ours to read
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name.startswith(prefix):
            yield Path(entry.path), is_folder
        elif is_folder and depth:
            yield from named(Path(entry.path), prefix, depth - 1)


def described(path: Path, is_folder: bool) -> Leftover:
    """Say how large a leftover is, whether it is in use, and how it goes away."""
    files = [path] if not is_folder else [one for one in path.rglob("*") if one.is_file()]
    size = changed = 0.0
    for file in files:
        try:
            about = file.lstat()
        except OSError:
            continue
        size, changed = size + about.st_size, max(changed, about.st_mtime)
    busy = time.time() - changed < FRESH or (not is_folder and is_held(path))
    if busy:
        remedy = "a run may still use it"
    elif is_folder:
        remedy = f"rm -r {path}"
    else:
        remedy = f"the next run that writes the same file removes it; or rm {path}"
    return Leftover(str(path), int(size), busy, remedy)


def is_held(path: Path) -> bool:
    """Whether a run holds a lock on a file."""
    if not path.is_file():  # to open a pipe would wait for whoever writes into it
        return False
    try:
        with path.open("rb") as file:
            return not hold(file.fileno())
    except OSError:
        return False
