"""Small files in the layout of a release, and the real ones where the user has them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isoscope.tasks import find_task
from isoscope.tasks.registry import PartedTask

WITH_DATA = pytest.mark.skipif(
    "ISOSCOPE_DATA" not in os.environ, reason="ISOSCOPE_DATA names no folder"
)
OTHER_SIZE = pytest.mark.filterwarnings("ignore:.*in the release of")
"""For tests whose files are smaller than a release."""


def put(path: Path, content: str | bytes) -> Path:
    """Write a file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def load(name: str, folder: Path, parts: list[str] | None = None) -> list[Any]:
    task = find_task(name)
    assert isinstance(task, PartedTask)
    return task.load(folder, parts)


def counted(
    name: str, parts: list[str] | None = None, by: Callable[[Any], Any] = lambda _: ""
) -> dict[Any, int]:
    """Count what the real files hold; a warning, as of another number of rows, is an error."""
    folder = Path(os.environ["ISOSCOPE_DATA"])
    return dict(Counter(by(example) for example in load(name, folder, parts)))
