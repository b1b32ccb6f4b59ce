"""Writing files so that a killed run leaves the old one or the new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = ".isoscope-"
"""How the names of temporary files begin."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write to a temporary file in the same folder, then rename it; text becomes UTF-8."""
    with atomic_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Give out a temporary file in the same folder, which is renamed when all went well.

    Otherwise what was there stays, and nothing is left over.
    """
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX, delete=False) as file:
            temporary = Path(file.name)
            yield cast("BinaryIO", file)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; the result gets the rights that open() would give it.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UsageError(cannot_be_written(path, error)) from error
        raise


def check_place(path: Path, option: str = "--out") -> None:
    """Refuse a name for an option under which nothing could be written, before any work is done."""
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}")
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=PREFIX):
            pass
    except OSError as error:
        raise UsageError(f"{option} {cannot_be_written(path, error)}") from error


def cannot_be_written(name: object, error: OSError) -> str:
    """Say that a file cannot be written, and why."""
    return f"{name} cannot be written: {error.strerror or error}"
