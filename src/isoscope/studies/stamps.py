"""What tells whether a source is still the one that it was: paths, sizes, times, digests."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

MOST_FILES = 5_000
"""Files of a folder that are looked at."""


def stamp(value: Any) -> Any:
    """Return something that JSON holds, and that changes with what a value stands for.

    Files are known by path, size and time of change, folders by those of their files, arrays by
    their numbers. Another object is like no other: what was found of it is never taken again.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [stamp(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): stamp(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"shape": list(value.shape), "type": str(value.dtype), "sha256": digest}
    if isinstance(value, str | Path):
        return of_path(str(value))
    return f"{type(value).__name__} {uuid.uuid4()}"


def of_path(text: str) -> Any:
    """Return the stamp of a file or folder; text that names neither stands for itself."""
    try:
        path = Path(text).expanduser()
        if path.is_file():
            return {"file": str(path.resolve()), "is": of_file(path)}
        if path.is_dir():
            files = islice((file for file in sorted(path.rglob("*")) if file.is_file()), MOST_FILES)
            listed = [[str(file.relative_to(path)), *of_file(file)] for file in files]
            digest = hashlib.sha256(repr(listed).encode()).hexdigest()
            return {"folder": str(path.resolve()), "is": digest}
    except (OSError, ValueError):  # a name that is too long for a file is none
        pass
    return text


def of_file(path: Path) -> list[int]:
    """Return size and time of change."""
    about = path.stat()
    return [about.st_size, about.st_mtime_ns]
