"""Checkpoints that are written whole or not at all."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from transformers.trainer_utils import get_last_checkpoint

from isoscope.errors import DataError
from isoscope.models.runtime import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator


WRITTEN_LAST = "trainer_state.json"
"""The file that a checkpoint ends with."""

TORCH_WRITER = ("PytorchStreamWriter", "inline_container")
"""Parts of what torch says where it cannot write: it has no exception of its own for that."""


def last_kept(folder: str | Path) -> str | None:
    """Return the newest checkpoint in a folder."""
    newest: Any = get_last_checkpoint
    found: str | None = newest(str(folder)) if Path(folder).is_dir() else None
    return found


def kept_words(folder: str | Path) -> str:
    """Say what there is to go on from."""
    kept = last_kept(folder)
    return f"the last good checkpoint is {kept}" if kept else "none was kept before"


@contextmanager
def whole_or_none(folder: Path) -> Iterator[None]:
    """Remove a checkpoint that could not be written to its end, and say so in one line."""
    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:
        by_torch = any(sign in str(error) for sign in TORCH_WRITER)
        if isinstance(error, RuntimeError) and not by_torch:
            raise
        if not is_whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise DataError(
            f"{folder} could not be written: {first_line(error)}; training stopped; "
            f"{kept_words(folder.parent)}; free some space, or choose another output folder"
        ) from error


def is_whole(folder: Path) -> bool:
    """Tell whether the last file of a checkpoint is there, to its end."""
    try:
        json.loads((folder / WRITTEN_LAST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True
