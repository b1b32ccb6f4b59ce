"""Where a file is: on this machine, or behind any address that fsspec knows.

Addresses are shown without what nobody else should read (users, passwords, keys), and what can
happen to a file, a decompressor or a network while it is read becomes one line.
"""

from __future__ import annotations

import glob
import gzip
import io
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from isoscope.data.unpacking import counted
from isoscope.errors import DataError, IsoscopeError, UsageError, plain_reason

# How libpq's addresses begin.
POSTGRES = ("postgresql://", "postgres://")

# What isoscope takes out of the address of a table; all else is libpq's.
OWN_PARAMETERS = ("table", "column", "id")

# Parameters that may be seen by anybody; what is not listed may be a secret.
SHOWN = frozenset((*OWN_PARAMETERS, "host", "hostaddr", "port", "dbname", "service", "sslmode"))

HIDDEN = "…"

# Characters that are shown of what a library says.
LONGEST_MESSAGE = 160
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
PLACE = re.compile(r"(\[[0-9A-Fa-f:.%]*\]|[\w.%-]*)(:\d*)?")


def is_postgres(text: object) -> bool:
    """Whether a source is the address of a table in PostgreSQL."""
    return isinstance(text, str) and text.startswith(POSTGRES)


def redacted(address: str) -> str:
    """Return an address without user, password and parameters that may be secret.

    Where signs that should be percent-encoded make it doubtful which part is the password, all
    of the address is hidden. What is no address stays as it is.
    """
    scheme, sign, rest = address.partition("://")
    if not sign:
        return address
    if not is_postgres(address):
        authority, slash, path = rest.partition("/")
        place = authority.rpartition("@")[2]
        if "@" in path and not PLACE.fullmatch(place):  # a slash in a password
            return f"{scheme}://{HIDDEN}"
        if scheme.startswith("http"):  # signed addresses have their secret behind the ?
            path = path.partition("?")[0]
        return f"{scheme}://{place}{slash}{path}"
    head, _, query = rest.partition("?")
    place = head.rpartition("@")[2]
    hosts = place.partition("/")[0].split(",")
    if "@" in query or not all(PLACE.fullmatch(host) for host in hosts):
        return f"{scheme}://{HIDDEN}"
    shown = [part for part in query.split("&") if part.partition("=")[0] in SHOWN]
    return f"{scheme}://{place}" + ("?" + "&".join(shown) if shown else "")


def redacted_argument(argument: str) -> str:
    """Return an argument of a command line, such as ``--out=ADDRESS``, without secrets."""
    found = ADDRESS.search(argument)
    if found is None:
        return argument
    return argument[: found.start()] + redacted(argument[found.start() :])


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Turn what file systems and decompressors raise into one clear line."""
    try:
        yield
    except IsoscopeError:
        raise
    except Exception as error:
        known = isinstance(error, EOFError | OSError | zlib.error)
        if not known and not type(error).__module__.startswith(NETWORKS):
            raise
        raise DataError(f"{redacted(where)} cannot be read: {reason(error, where)}") from error


@contextmanager
def reachable(address: str) -> Iterator[None]:
    """Turn whatever a file system behind an address raises into one line without its secrets."""
    try:
        yield
    except IsoscopeError:
        raise
    except Exception as error:  # there are dozens of such packages, each with errors of its own
        shown, why = redacted(address), reason(error, address)
        if isinstance(error, OSError) or type(error).__module__.startswith(NETWORKS):
            raise DataError(f"{shown} cannot be reached: {why}") from error
        raise UsageError(f"{shown}: {why}") from error


def reason(error: Exception, address: str) -> str:
    """Return what an exception says, unless it may repeat an address with its password."""
    return first_line(error) if redacted(address) == address else type(error).__name__


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message, cut where it is long.

    Libraries repeat what they could not read, which may be all of a file.
    """
    text = plain_reason(error).strip() or type(error).__name__
    line = text.splitlines()[0]
    if isinstance(error, IsoscopeError):  # which is one line that says what to do at its end
        return line
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}…"


# What is no regular file, by the tests of ``stat``.
SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def special_file(path: Path) -> str:
    """Say what a path is that is neither a regular file nor a folder; nothing where it is one."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    return next((name for test, name in SPECIAL if test(mode)), "")


def refuse_special(path: Path, name: object) -> None:
    """Refuse to read what has no size and no end, and can only be read once."""
    kind = special_file(path)
    if kind:
        raise UsageError(
            f"{name} is {kind}, and files are read more than once; write its content to a file"
        )


# How the names of packages begin that raise what is no OSError when a network or a server fails.
NETWORKS = (
    "aiohttp", "azure", "botocore", "gcsfs", "google", "httpcore", "httpx", "huggingface_hub",
    "requests", "urllib3",
)  # fmt: skip

COMPRESSIONS = (".gz", ".zst")
WILDCARDS = "*?["

# What file systems call that which changes with a file, the surest first.
MARKS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "modified", "created")


@dataclass(frozen=True)
class Location:
    """One file, named by a path or by an address such as ``s3://bucket/vectors.parquet``."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def is_remote(self) -> bool:
        """Whether the name is an address rather than a path."""
        return "://" in self.text

    @property
    def path(self) -> Path:
        """The path of a local file."""
        try:
            return Path(self.text).expanduser()
        except RuntimeError as error:  # ~name of somebody unknown
            raise UsageError(f"{self.text}: {error}") from error

    @property
    def compression(self) -> str:
        """``.gz``, ``.zst`` or nothing."""
        suffix = self._name.suffix.lower()
        return suffix if suffix in COMPRESSIONS else ""

    @property
    def ending(self) -> str:
        """The ending that says what is inside, below a compression."""
        return self._inner.suffix.lower()

    @property
    def stem(self) -> str:
        """The name without folders and endings."""
        return self._inner.stem

    @property
    def _name(self) -> PurePosixPath:
        return PurePosixPath(self.text.split("://", 1)[-1])

    @property
    def _inner(self) -> PurePosixPath:
        return self._name.with_suffix("") if self.compression else self._name

    def size(self) -> int:
        """Return the number of bytes in the file."""
        if not self.is_remote:
            return self.path.stat().st_size
        filesystem, path = remote(self.text)
        return int(filesystem.size(path))

    def stamp(self) -> tuple[int | None, str]:
        """Return what tells one state of the file from another, as far as can be known unread.

        Returns
        -------
        tuple of int or None, and str
            Its size and its checksum or time of change, whichever its file system has.
        """
        with readable(self.text):
            if not self.is_remote:
                status = self.path.stat()
                return status.st_size, str(status.st_mtime_ns)
            filesystem, path = remote(self.text)
            found = filesystem.info(path)
        marks = [str(found[key]) for key in MARKS if found.get(key) is not None]
        return found.get("size"), next(iter(marks), "")

    def identity(self) -> dict[str, Any]:
        """Return what tells the file from another, without what its address should not tell."""
        size, changed = self.stamp()
        return {"file": redacted(self.text), "size": size, "changed": changed}

    def open(self) -> BinaryIO:
        """Open the file for reading, with seeking."""
        if not self.is_remote:
            refuse_special(self.path, self)  # or open() would wait for somebody to write
            # Unbuffered: readers fill megabytes at a time, and a buffer would copy them again.
            return cast("BinaryIO", self.path.open("rb", buffering=0))
        filesystem, path = remote(self.text)
        with reachable(self.text):
            return cast("BinaryIO", filesystem.open(path, "rb"))

    def stream(self) -> BinaryIO:
        """Open the file for reading from front to back, decompressed."""
        raw = self.open()
        if self.compression == ".gz":
            return counted(ClosingGzip(raw), str(self), self.size)
        if self.compression == ".zst":
            import pyarrow

            unpacked = pyarrow.CompressedInputStream(raw, "zstd")
            return counted(unpacked, str(self), self.size)
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", raw), 1 << 20))

    def exists(self) -> bool:
        """Whether there is a file, or folder, of this name."""
        if not self.is_remote:
            with readable(self.text):
                return self.path.exists()
        filesystem, path = remote(self.text)
        with reachable(self.text):
            return bool(filesystem.exists(path))


@contextmanager
def steady(location: Location, size: int) -> Iterator[None]:
    """Read a file that had this size when it was opened, or say that it has changed since.

    A file whose rows are not counted beforehand could lose some between two reads unseen.
    """
    with readable(str(location)):
        yield
        # After the read: a file that grows or shrinks under a reader is noticed only now.
        now = location.size()
        if now != size:
            raise DataError(
                f"{location} changed while it was read: it had {size:,} bytes, now it has {now:,}"
            )


class ClosingGzip(gzip.GzipFile):
    """A gzip stream that closes the file below it."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__(fileobj=raw)
        self._raw = raw

    def close(self) -> None:
        """Close the stream and the file."""
        super().close()
        self._raw.close()


def remote(address: str) -> tuple[Any, str]:
    """Return the file system of an address and the path in it."""
    import fsspec

    with reachable(address):
        filesystem, path = fsspec.core.url_to_fs(address)
    return filesystem, path


def matches(pattern: str) -> list[Location]:
    """Return the files that a pattern with * ? or [ ] names, sorted; itself without any."""
    if not any(sign in pattern for sign in WILDCARDS):
        return [Location(pattern)]
    if "://" in pattern:
        filesystem, path = remote(pattern)
        with reachable(pattern):
            found = [filesystem.unstrip_protocol(match) for match in filesystem.glob(path)]
    else:
        found = glob.glob(str(Path(pattern).expanduser()))  # noqa: PTH207  absolute patterns too
    if not found:
        raise UsageError(f"no file matches {redacted(pattern)}")
    return [Location(name) for name in sorted(found)]
