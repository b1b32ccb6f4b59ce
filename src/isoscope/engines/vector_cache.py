"""Vectors of texts on disk, so that a text goes through a model once.

A *space* is a digest of all that decides a vector but the text: the model's bytes, its layer,
pooling and so on; a *key* is the SHA-256 of the text. Every call that adds vectors writes one file
(`vector_file`) into the folder of its space, and files are never changed. So nothing has to be
locked: a file that another process deletes, or that is damaged, is as good as one that was never
written. Everything may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.output import write_atomically
from isoscope.engines.vector_file import KEY_BYTES, DamagedFileError, VectorFile, file_bytes
from isoscope.errors import IsoscopeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.typing import Keys


VARIABLE = "ISOSCOPE_CACHE"
OFF = "off"
FOLDER, ENDING = "vectors", ".isoscope-vectors"
"""Only files of this ending in a folder of this name are ever read or deleted."""

LIMIT = 2 * 10**9
"""Bytes on disk, unless another limit is named."""


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
            raise UsageError(f"the limit of a cache is at least 0 bytes, not {limit}")
        given = default_folder() if folder is None else Path(folder)
        self.folder, self.limit = given.expanduser() / FOLDER, limit

    def get(
        self, space: str, keys: Keys
    ) -> tuple[NDArray[np.bool_], NDArray[np.floating[Any]] | None]:
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
        vectors: NDArray[np.floating[Any]] | None = None
        for path in sorted(self._folder_of(space).glob(f"*{ENDING}")):
            missing = np.flatnonzero(~found)
            if not len(missing):
                break
            try:
                places, rows = VectorFile(path).lookup(keys[missing])
                if vectors is not None and rows.shape[1] != vectors.shape[1]:
                    raise DamagedFileError(f"{path} has another width")
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

    def put(self, space: str, keys: Keys, vectors: NDArray[np.floating[Any]]) -> None:
        """Keep vectors, and delete what was not used for longest where there is no room.

        A folder that cannot be written to is a warning: the work goes on without a cache.
        """
        if not len(keys):
            return
        content = file_bytes(keys, vectors)
        if len(content) > self.limit:
            return
        folder = self._folder_of(space)
        name = hashlib.sha256(content).hexdigest()[:32] + ENDING
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(folder / name, content)
        except (OSError, IsoscopeError) as error:
            warnings.warn(f"vectors are not kept: {error}", stacklevel=2)
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

    def _folder_of(self, space: str) -> Path:
        return self.folder / space


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
        content = part.encode()
        digest.update(b"%d\n" % len(content))
        digest.update(content)
    return digest.hexdigest()


def text_keys(texts: Sequence[str]) -> Keys:
    """Return the SHA-256 of every text, a row each."""
    joined = b"".join(hashlib.sha256(text.encode()).digest() for text in texts)
    return np.frombuffer(joined, np.uint8).reshape(-1, KEY_BYTES)


def remove(path: Path) -> None:
    """Delete a file, if it is still there and may be deleted."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def touch(path: Path) -> None:
    """Note that a file was used; it may be gone, or somebody else's."""
    try:
        os.utime(path)
    except OSError:
        return
