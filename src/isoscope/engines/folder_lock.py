"""One run per folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from isoscope.data.output import cannot_be_written
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


class FolderLock:
    """Holds a folder for this process until it is released, or the process ends in any way.

    The lock is the kernel's, on an open file: nothing is left over from a run that was killed. The
    process number in the file is for the message only.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = self._acquired()

    def _acquired(self) -> BinaryIO:
        while True:
            try:
                file = self._path.open("a+b")
            except OSError as error:
                raise UsageError(cannot_be_written(self._path, error)) from error
            if not lock(file):
                file.seek(0)
                holder = file.read(20).decode("ascii", "replace").strip()
                file.close()
                raise UsageError(
                    f"{self._path.parent} is in use by another run"
                    + (f", process {holder}" if holder else "")
                    + "; wait for it, or name another output"
                )
            if self._is_current(file):
                file.truncate(0)
                file.write(str(os.getpid()).encode())
                file.flush()
                return file
            file.close()

    def _is_current(self, file: BinaryIO) -> bool:
        """Whether the file is still the one of this name: its last holder may have deleted it."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self, *, delete: bool = False) -> None:
        """Let others in; with ``delete`` the file goes first, while it is still ours."""
        if self._file is None:
            return
        if delete:
            self._path.unlink(missing_ok=True)
        self._file.close()
        self._file = None


def lock(file: BinaryIO) -> bool:
    """Take the kernel's lock on a file; False where another open file has it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: better to work unguarded than not at all
        return True
    return True
