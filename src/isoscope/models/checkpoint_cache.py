"""Downloads of checkpoints: at most so many on disk at a time.

The hub's own cache keeps everything that it ever fetched: 154 checkpoints of a model of 14 GB do
not fit on a disk.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from isoscope.data.output import cannot_be_written, write_atomically
from isoscope.errors import DataError, UsageError
from isoscope.models.checkpoints import Checkpoint
from isoscope.models.model import Model
from isoscope.models.runtime import dtype_name
from isoscope.models.sources import CONFIG, SMALL_FILES, WEIGHTS, Source, download, refusal

# A folder with this file was made here, and may be deleted here.
MARK = ".isoscope-checkpoint.json"


class CheckpointCache:
    """Gives the folders of checkpoints, and fetches those of the hub.

    Parameters
    ----------
    folder : str or Path, optional
        Where downloads are kept; else in a temporary folder, which goes when this is closed.
    keep : int, optional
        How many downloads are on disk at a time, the one in use among them; the one that was not
        used for longest is deleted before the next is fetched. By default all of a named folder,
        and one of a temporary one. Only what was fetched here is ever deleted.
    """

    def __init__(self, folder: str | Path | None = None, keep: int | None = None) -> None:
        if keep is not None and keep < 1:
            raise UsageError(f"--keep must be at least 1, the checkpoint in use, got {keep}")
        self._folder = None if folder is None else Path(folder).expanduser()
        self._keep = 1 if folder is None and keep is None else keep
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def open(self, checkpoint: Checkpoint, dtype: Any = None, device: Any = None) -> Model:
        """Open a checkpoint, which is fetched first where it is on the hub."""
        folder = self.folder_of(checkpoint)
        origin = checkpoint.model if checkpoint.folder is None else str(checkpoint.folder)
        source = Source(checkpoint.name, origin, folder, None, checkpoint.commit)
        return Model(source, dtype_name(dtype), device)

    def folder_of(self, checkpoint: Checkpoint) -> Path:
        """Return where a checkpoint is, and fetch it if it is not on this machine."""
        if checkpoint.folder is not None:
            return checkpoint.folder
        folder = self._root / quote(checkpoint.model, safe="") / quote(checkpoint.revision, safe="")
        about = {
            "model": checkpoint.model,
            "revision": checkpoint.revision,
            "commit": checkpoint.commit,
        }
        try:
            self._fill(folder, about, checkpoint)
        except OSError as error:
            raise UsageError(cannot_be_written(folder, error)) from error
        return folder

    def _fill(self, folder: Path, about: dict[str, Any], checkpoint: Checkpoint) -> None:
        """Fetch a checkpoint into its folder, unless it is there."""
        known = read_mark(folder)
        if known == {**about, "complete": True}:
            use(folder)
            return
        if known is None and folder.is_dir() and any(folder.iterdir()):
            raise UsageError(
                f"{folder} is to hold a checkpoint, but holds other files; name another --cache"
            )
        if known is not None and known.get("commit") != checkpoint.commit:
            shutil.rmtree(folder)  # the branch has moved on
        self._make_room(folder)
        folder.mkdir(parents=True, exist_ok=True)
        # Marked before it is filled: a download that was killed is then known as one of ours.
        write_mark(folder, {**about, "complete": False})
        fetch(checkpoint, folder)
        write_mark(folder, {**about, "complete": True})

    def _make_room(self, coming: Path) -> None:
        """Delete what was not used for longest, until one more is within the limit."""
        if self._keep is None:
            return
        marks = [mark for mark in self._root.glob(f"*/*/{MARK}") if mark.parent != coming]
        marks.sort(key=lambda mark: mark.stat().st_mtime_ns)
        for mark in marks[: max(len(marks) - self._keep + 1, 0)]:
            shutil.rmtree(mark.parent)

    @property
    def _root(self) -> Path:
        if self._folder is not None:
            return self._folder
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="isoscope-checkpoints-")
        return Path(self._temporary.name)

    def close(self) -> None:
        """Delete the temporary folder."""
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def __enter__(self) -> CheckpointCache:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def fetch(checkpoint: Checkpoint, folder: Path) -> None:
    """Bring configuration, tokenizer and weights of a checkpoint into a folder.

    Pickles are fetched only where there are no safetensors.
    """
    revision = checkpoint.commit or checkpoint.revision
    for weights in WEIGHTS:
        try:
            download(checkpoint.model, revision, [*SMALL_FILES, weights], local_dir=folder)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise UsageError(
                    f"no space is left for {checkpoint.name} in {folder}; name a folder on a "
                    "larger disk with --cache, or --keep fewer"
                ) from error
            raise refusal(checkpoint.model, checkpoint.revision, error) from error
        if not (folder / CONFIG).is_file():
            raise DataError(f"{checkpoint.name} is not a transformers model: it has no {CONFIG}")
        if any(folder.glob(weights)):
            return
    raise DataError(f"{checkpoint.name} has no weights: neither safetensors nor a pickle of torch")


def read_mark(folder: Path) -> dict[str, Any] | None:
    """Return what was fetched into a folder; None for a folder of somebody else."""
    try:
        found = json.loads((folder / MARK).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def write_mark(folder: Path, about: dict[str, Any]) -> None:
    """Note what is fetched into a folder."""
    write_atomically(folder / MARK, json.dumps(about) + "\n")
    use(folder)


def use(folder: Path) -> None:
    """Note that a checkpoint is used now, by a finer clock than that of the file system."""
    now = time.time_ns()
    os.utime(folder / MARK, ns=(now, now))
