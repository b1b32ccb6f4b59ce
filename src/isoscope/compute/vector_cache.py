"""Vectors of texts on disk, so that a text goes through a model once.

A *space* is a digest of all that decides a vector but the text: the model's bytes, its layer,
pooling and so on; a *key* is the SHA-256 of the text. Every call that adds vectors writes one file
into the folder of its space, and files are never changed. So nothing has to be locked: a file that
another process deletes, or that is damaged, is as good as one that was never written. Everything
may be deleted at any time.

A file has a line of JSON (rows, width, type, SHA-256 of the index), the index (the keys, then the
CRC-32 of every vector), and the vectors. So the vectors of a few keys are read without the others,
and every part is checked before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.base import add_text
from isoscope.data.output import write_atomically
from isoscope.errors import IsoscopeError, UsageError
from isoscope.typing import Keys, Mask

Vectors = NDArray[np.floating[Any]]

FORMAT = "isoscope vectors 1"
KEY_BYTES = 32
CHECK_BYTES = 4
LONGEST_HEADER = 1_000
TYPES = ("<f4", "<f8")


class DamagedFileError(ValueError):
    """What a file holds is not what was written."""


def file_bytes(keys: Keys, vectors: Vectors) -> bytes:
    """Return the content of a file."""
    kind = TYPES[vectors.dtype.itemsize == 8]
    rows = np.ascontiguousarray(vectors, dtype=kind)
    checks = np.array([zlib.crc32(row.data) for row in rows], dtype="<u4")
    index = np.ascontiguousarray(keys, np.uint8).tobytes() + checks.tobytes()
    header = {
        "format": FORMAT,
        "rows": len(rows),
        "width": rows.shape[1],
        "dtype": kind,
        "sha256": hashlib.sha256(index).hexdigest(),
    }
    return json.dumps(header).encode() + b"\n" + index + rows.tobytes()


def lookup(path: Path, keys: Keys) -> tuple[NDArray[np.int64], Vectors]:
    """Return which of the keys have a vector in a file of ``file_bytes``, and these vectors.

    Anything that is not as it was written raises ``DamagedFileError``.
    """
    with path.open("rb") as file:
        line = file.readline(LONGEST_HEADER)
        rows, width, kind, digest = parsed_header(path, line)
        index = file.read(rows * (KEY_BYTES + CHECK_BYTES))
        if hashlib.sha256(index).hexdigest() != digest:
            raise DamagedFileError(f"{path}: the index is damaged")
        held = np.frombuffer(index, f"V{KEY_BYTES}", rows).tolist()
        places = {key: row for row, key in enumerate(held)}
        asked = [places.get(key.tobytes(), -1) for key in keys]
        known = np.array([k for k, row in enumerate(asked) if row >= 0], np.int64)
        wanted = np.array([row for row in asked if row >= 0], np.int64)
        if not len(wanted):
            return known, np.empty((0, width), kind)
        # One read of the stretch that holds them all, instead of a seek for each vector.
        first, last = int(wanted.min()), int(wanted.max()) + 1
        size = width * np.dtype(kind).itemsize
        file.seek(len(line) + len(index) + first * size)
        content = file.read((last - first) * size)
    if len(content) != (last - first) * size:
        raise DamagedFileError(f"{path} is cut off")
    checks = np.frombuffer(index, "<u4", rows, offset=rows * KEY_BYTES)
    found = np.frombuffer(content, kind).reshape(-1, width)[wanted - first]
    for row, vector in zip(wanted, found, strict=True):
        if zlib.crc32(vector.data) != checks[row]:
            raise DamagedFileError(f"{path}: vector {row} is damaged")
    return known, found


def parsed_header(path: Path, line: bytes) -> tuple[int, int, str, str]:
    """Return rows, width, type and digest of the index, or refuse an invalid header."""
    try:
        header = json.loads(line)
        rows, width = header["rows"], header["width"]
        kind, digest = header["dtype"], header["sha256"]
        good = header["format"] == FORMAT and kind in TYPES
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFileError(f"{path} has no header") from error
    size = path.stat().st_size
    if not (good and type(rows) is int and type(width) is int and 0 < rows <= size):
        raise DamagedFileError(f"{path} has a header that is not valid")
    expected = len(line) + rows * (KEY_BYTES + CHECK_BYTES + width * np.dtype(kind).itemsize)
    if width < 1 or size != expected:
        raise DamagedFileError(f"{path} is not as long as its header says")
    return rows, width, kind, str(digest)


VARIABLE = "ISOSCOPE_CACHE"
OFF = "off"

# Only files of this ending in a folder of this name are ever read or deleted.
FOLDER, ENDING = "vectors", ".isoscope-vectors"

# Bytes on disk, unless another limit is named.
LIMIT = 2 * 10**9


class VectorCache:
    """Keeps vectors of texts in a folder of limited size.

    Parameters
    ----------
    folder : str or Path, optional
        Where; by default the environment variable ``ISOSCOPE_CACHE``, else a folder where the
        system keeps caches.
    limit : int
        Bytes on disk. Beyond it the files that were not used for longest are deleted.
    """

    def __init__(self, folder: str | Path | None = None, limit: int = LIMIT) -> None:
        if limit < 0:
            raise UsageError(f"the limit of a cache must be at least 0 bytes, got {limit}")
        given = default_folder() if folder is None else Path(folder)
        self.folder, self.limit = given.expanduser() / FOLDER, limit

    def get(self, space: str, keys: Keys) -> tuple[Mask, Vectors | None]:
        """Look vectors up.

        Parameters
        ----------
        space : str
            What ``space_digest`` returned.
        keys : array of shape (n, 32)
            What ``text_keys`` returned.

        Returns
        -------
        found : array of shape (n,)
            Which keys have a vector.
        vectors : array of shape (n, width) or None
            The vectors, zeros where there is none; None where no vector was found.
        """
        found = np.zeros(len(keys), np.bool_)
        vectors: Vectors | None = None
        for path in sorted((self.folder / space).glob(f"*{ENDING}")):
            missing = np.flatnonzero(~found)
            if not len(missing):
                break
            try:
                places, rows = lookup(path, keys[missing])
                if vectors is not None and rows.shape[1] != vectors.shape[1]:
                    raise DamagedFileError(f"{path} holds vectors of another dimension")
            except FileNotFoundError:  # another process made room
                continue
            except (DamagedFileError, OSError):
                remove(path)
                continue
            if not len(places):
                continue
            touch(path)
            if vectors is None:
                vectors = np.zeros((len(keys), rows.shape[1]), rows.dtype)
            vectors[missing[places]] = rows
            found[missing[places]] = True
        return found, vectors

    def put(self, space: str, keys: Keys, vectors: Vectors) -> None:
        """Keep vectors, and delete what was not used for longest where there is no room.

        A folder that cannot be written to is a warning: the work goes on without a cache.
        """
        if not len(keys):
            return
        content = file_bytes(keys, vectors)
        if len(content) > self.limit:
            return
        folder = self.folder / space
        # Named by its content: two processes that computed the same vectors write the same file,
        # and neither spoils what the other reads.
        name = hashlib.sha256(content).hexdigest()[:32] + ENDING
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / name, content)
        except (OSError, IsoscopeError) as error:
            warnings.warn(f"vectors are not cached: {error}", stacklevel=2)
            return
        self.make_room()

    def make_room(self) -> None:
        """Delete files until all are within the limit, those not used for longest first."""
        files = []
        for path in self.folder.glob(f"*/*{ENDING}"):
            try:
                about = path.stat()
            except OSError:
                continue
            files.append((about.st_mtime_ns, about.st_size, path))
        held = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if held <= self.limit:
                break
            remove(path)
            held -= size


def open_cache(wanted: VectorCache | bool | None) -> VectorCache | None:
    """Return the cache that is meant: True the user's own, which ``ISOSCOPE_CACHE=off`` is none."""
    if isinstance(wanted, VectorCache):
        return wanted
    if not wanted or os.environ.get(VARIABLE, "").strip().lower() == OFF:
        return None
    return VectorCache()


def default_folder() -> Path:
    """Return the folder that the environment names, or where this system keeps caches."""
    given = os.environ.get(VARIABLE)
    if given and given.strip().lower() != OFF:
        return Path(given)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "isoscope" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "isoscope"
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "isoscope"


def space_digest(settings: Mapping[str, str]) -> str:
    """Return one digest of all settings, whatever their order."""
    digest = hashlib.sha256()
    for part in (text for item in sorted(settings.items()) for text in item):
        add_text(digest, part)
    return digest.hexdigest()


def text_keys(texts: Sequence[str]) -> Keys:
    """Return the SHA-256 of every text, a row each."""
    joined = b"".join(hashlib.sha256(text.encode()).digest() for text in texts)
    return np.frombuffer(joined, np.uint8).reshape(-1, KEY_BYTES)


def remove(path: Path) -> None:
    """Delete a file, if it is still there and may be deleted."""
    with suppress(OSError):
        path.unlink()


def touch(path: Path) -> None:
    """Note that a file was used; it may be gone, or somebody else's."""
    with suppress(OSError):
        os.utime(path)
