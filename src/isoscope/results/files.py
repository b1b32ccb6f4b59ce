"""Where a result may be written."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

ENDINGS = (".json", ".md")


def check_ending(path: Path) -> None:
    """Refuse a result file of a kind that is not written."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: the name of a result must end in {' or '.join(ENDINGS)}")


def check_writable(path: Path) -> None:
    """Refuse a result file that could not be written, before any work is done."""
    check_ending(path)
    if path.is_dir():
        raise UsageError(f"--out {path} is a folder; name a file")
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"--out {path}: there is no folder {folder}")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".isoscope-"):
            pass
    except OSError as error:
        raise UsageError(f"--out {path} cannot be written: {error.strerror or error}") from error
