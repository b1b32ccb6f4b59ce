"""Files that appear whole or not at all.

A file is written under another name in the same folder and renamed when it is complete, so that a
killed run leaves the old file or the new one, never half of one.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import io
import os
import secrets
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from isoscope.data.location import Location, reachable, redacted, remote, special_file
from isoscope.errors import UsageError

# How the names of temporary files begin.
PREFIX = ".isoscope-"

# Seconds for which the temporary file of another run is not touched: it is locked right after it
# was made, but not in the same instant.
FRESH = 5.0

# Targets for which this process has removed leftovers: a folder may hold very many files.
_SWEPT: set[Path] = set()

# Temporary files of this process that are there until it ends.
_TEMPORARY: set[str] = set()


def keep_until_exit(path: str) -> None:
    """Have a temporary file removed when the process is interrupted, which runs no finalizers."""
    _TEMPORARY.add(path)


def remove_temporary_files() -> None:
    """Remove what ``keep_until_exit`` was told of; for a process that ends without cleaning up."""
    for path in _TEMPORARY:
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108  as little as possible when a process is about to end


def prefix_of(path: Path) -> str:
    """Return how temporary files for a target begin, so that another run knows them again."""
    return f"{PREFIX}{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:12]}-"


def hold(descriptor: int) -> bool:
    """Take the kernel's lock on an open file; False where it cannot be taken, for any reason."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_leftovers(path: Path) -> None:
    """Remove temporary files of runs that were killed while they wrote the same target.

    A run that still writes holds a lock on its file, which the kernel lets go when it is killed.
    """
    if path in _SWEPT:
        return
    _SWEPT.add(path)
    for leftover in path.parent.glob(glob.escape(prefix_of(path)) + "*"):
        if not leftover.is_file():  # to open a pipe would wait for whoever writes into it
            continue
        with suppress(OSError), leftover.open("rb") as file:
            old = time.time() - os.fstat(file.fileno()).st_mtime > FRESH
            if old and hold(file.fileno()):
                leftover.unlink()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write to a temporary file in the same folder, then rename it; text becomes UTF-8."""
    with atomic_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Give out a temporary file in the same folder, which is renamed when all went well.

    Otherwise what was there stays, and nothing is left over.
    """
    path = written_path(path)
    temporary = None
    remove_leftovers(path)
    try:
        # In the same folder, because a file can be renamed in one step only within one file system.
        prefix = prefix_of(path)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=prefix, delete=False) as file:
            temporary = Path(file.name)
            keep_until_exit(file.name)
            hold(file.fileno())
            yield cast("BinaryIO", file)
            file.flush()
            # Or a crash of the machine could leave a renamed file without its content.
            os.fsync(file.fileno())
        # Temporary files are private; the result gets the rights that open() would give it.
        # The mask can only be read by setting another, which is set back at once.
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
    finally:
        _TEMPORARY.discard(str(temporary))


def written_path(path: Path, option: str = "") -> Path:
    """Return the file behind a name, through links; refuse what is no regular file.

    A rename would put a file in the place of a link or of a device.
    """
    kind = special_file(path)
    if kind:
        raise UsageError(f"{option} {path} is {kind}; name a file".strip())
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # realpath gives up on a loop
        raise UsageError(f"{option} {path} is a loop of symbolic links; name a file".strip())
    return target


def check_place(path: Path, option: str = "--out") -> None:
    """Refuse a name for an option under which nothing could be written, before any work is done."""
    path = written_path(path, option)
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}")
    # Also here: some files are made in another folder and then moved to their place.
    remove_leftovers(path)
    try:
        # Named after the target, so that what a kill leaves here goes with the next run, too.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=prefix_of(path)):
            pass
    except OSError as error:
        raise UsageError(f"{option} {cannot_be_written(path, error)}") from error


def same_file(one: Location, other: Location) -> bool:
    """Whether two names are those of one file."""
    if one.text == other.text:
        return True
    if one.is_remote or other.is_remote or not (one.exists() and other.exists()):
        return False
    return one.path.samefile(other.path)


def refuse_read(out: str | Path, read: Iterable[str | Path], option: str = "--out") -> None:
    """Refuse to write over a file that is read."""
    if any(same_file(Location(str(name)), Location(str(out))) for name in read):
        raise UsageError(f"{option} {out} is a file that is read; name another")


def cannot_be_written(name: object, error: OSError) -> str:
    """Say that a file cannot be written, and why."""
    return f"{name} cannot be written: {error.strerror or error}"


# gzip's own default; Python's takes three times as long for one percent.
GZIP_LEVEL = 6


class Target(io.RawIOBase):
    """An output file whose failures say which file it was.

    Closing it leaves the file below open: some writers close what they are given.
    """

    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name

    def writable(self) -> bool:
        """Say that this can be written to."""
        return True

    def seekable(self) -> bool:
        """Whether the file can go back, as zip archives like to."""
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return the current byte."""
        return int(self._file.tell())

    def write(self, data: Any) -> int:
        """Write all bytes."""
        try:
            self._file.write(data)
        except OSError as error:
            raise UsageError(cannot_be_written(self._name, error)) from error
        return memoryview(data).nbytes


@contextmanager
def atomic_output(location: Location) -> Iterator[BinaryIO]:
    """Give out a file that takes the place of ``location`` when all went well.

    Otherwise what was there stays, and nothing is left over.
    """
    with remote_file(location) if location.is_remote else atomic_file(location.path) as file:
        yield cast("BinaryIO", Target(file, str(location)))


@contextmanager
def remote_file(location: Location) -> Iterator[BinaryIO]:
    """Write beside an address, then move: closing a broken upload would publish half of it."""
    filesystem, path = remote(str(location))
    folder, _, last = path.rpartition("/")
    temporary = f"{folder}/{PREFIX}{secrets.token_hex(8)}-{last}"
    file = None
    try:
        with reachable(str(location)):
            try:
                file = filesystem.open(temporary, "wb")
            except OSError as error:
                raise UsageError(cannot_be_written(redacted(str(location)), error)) from error
        yield file
        with reachable(str(location)):
            file.close()
            filesystem.mv(temporary, path)
    except BaseException:
        with suppress(Exception):  # what went wrong first is what matters
            if file is not None:
                file.close()
        with suppress(Exception):
            filesystem.rm(temporary)
        raise


@contextmanager
def compressed(file: BinaryIO, compression: str) -> Iterator[BinaryIO]:
    """Compress what goes into a file, as ``Location.stream`` takes it out again."""
    if compression == ".gz":
        with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed:
            yield cast("BinaryIO", packed)
    elif compression == ".zst":
        import pyarrow

        with pyarrow.CompressedOutputStream(file, "zstd") as packed:
            yield packed
    else:
        yield file


def check_target(location: Location) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if location.is_remote:
        remote(str(location))
    else:
        check_place(location.path)
