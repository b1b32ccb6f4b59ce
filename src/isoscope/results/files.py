"""Writing files so that a killed run leaves the old one or the new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from isoscope.errors import UsageError

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


def write_atomically(path: Path, text: str) -> None:
    """Write to a temporary file in the same folder, then rename it."""
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".isoscope-", delete=False
        ) as file:
            temporary = Path(file.name)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; the result gets the rights that open() would give it.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
