"""What a long run has done so far, in a folder beside its output, so that it can be continued.

A journal has the run's configuration and a file per step. ``kill -9`` at any moment leaves each
file as it was or as it was to be; what is damaged otherwise is noticed by its checksum.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from isoscope.data.location import readable
from isoscope.data.output import PREFIX, cannot_be_written, write_atomically
from isoscope.engines.folder_lock import FolderLock
from isoscope.engines.journal_entry import Entry, read_about, read_entry, write_entry
from isoscope.errors import DataError, UsageError
from isoscope.version import __version__

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray


CONFIGURATION = "configuration.json"
LOCK = "lock"
ENDING = ".safetensors"
LONGEST_STEP = 200
"""Characters of a step's name as part of a file's."""

UNSET = "not set"
"""Stands for an option that a configuration does not have."""


class Journal:
    """The journal of one run; ``Journal.open`` makes one.

    It holds its folder for this process until ``close``, which leaving a ``with`` block calls.
    """

    def __init__(self, folder: Path, lock: FolderLock, finished: dict[str, bool]) -> None:
        self.folder = folder
        self._lock = lock
        self._finished = finished

    @classmethod
    def open(
        cls, folder: str | Path, configuration: Mapping[str, Any], resume: bool = False
    ) -> Journal:
        """Begin a journal, or continue one.

        Parameters
        ----------
        folder : str or Path
            Where it is kept; it need not exist.
        configuration : mapping
            All that decides what the run computes, as JSON holds it: options, digests of inputs.
            The version of isoscope is added.
        resume : bool
            Continue what is there. Where there is nothing, begin.

        Raises
        ------
        UsageError
            Where there is a journal and ``resume`` is false, where it has another configuration,
            and where another run has it open.
        DataError
            Where a file of the journal is damaged.
        """
        folder = Path(folder)
        settled = json.loads(json.dumps({**configuration, "isoscope": __version__}))
        make_folder(folder)
        lock = FolderLock(folder / LOCK)
        try:
            begun = (folder / CONFIGURATION).exists()
            if not resume:
                refuse_unfinished(folder)
            for leftover in folder.glob(f"{PREFIX}*"):  # of a run that was killed while it wrote
                leftover.unlink()
            if begun:
                check_same(read_configuration(folder), settled, folder)
            else:
                write_atomically(folder / CONFIGURATION, json.dumps(settled, indent=2) + "\n")
            return cls(folder, lock, known_steps(folder))
        except BaseException:
            lock.release()
            raise

    @property
    def steps(self) -> tuple[str, ...]:
        """Steps that are finished."""
        return tuple(step for step, finished in self._finished.items() if finished)

    @property
    def known(self) -> bool:
        """Whether anything is kept, finished or not."""
        return bool(self._finished)

    def done(self, step: str) -> bool:
        """Whether a step is finished."""
        return self._finished.get(step, False)

    def save(
        self,
        step: str,
        arrays: Mapping[str, NDArray[Any]],
        facts: Mapping[str, Any] | None = None,
        *,
        finished: bool = True,
    ) -> None:
        """Keep what a step has come to, in place of what was kept of it before.

        Parameters
        ----------
        step : str
            Name of the step.
        arrays : mapping of str to array
            Numbers or truth values, of any shape; they come back bit by bit.
        facts : mapping, optional
            Anything that JSON holds, by string.
        finished : bool
            False for a state on the way, from which the step can go on.
        """
        write_entry(self._path(step), Entry(step, arrays, facts or {}, finished))
        self._finished[step] = finished

    def load(self, step: str) -> Entry | None:
        """Return what was kept of a step, finished or not; None where nothing was."""
        return read_entry(self._path(step)) if step in self._finished else None

    def forget(self, step: str) -> None:
        """Delete what was kept of a step that nobody will go on from; nothing, if nothing was."""
        if self._finished.pop(step, None) is not None:
            self._path(step).unlink(missing_ok=True)

    def close(self) -> None:
        """Let other runs in; the journal stays."""
        self._lock.release()

    def remove(self) -> None:
        """Delete the journal, after its run has succeeded; files of others stay."""
        for step in self._finished:
            self._path(step).unlink(missing_ok=True)
        # Last of what matters: killed in between, the rest is a journal with fewer steps.
        (self.folder / CONFIGURATION).unlink(missing_ok=True)
        self._finished = {}
        self._lock.release(delete=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _path(self, step: str) -> Path:
        name = quote(step, safe=" ,=+()")
        if len(name) > LONGEST_STEP or not name:
            raise UsageError(f"the step {step!r:.60} has no name that a file can have")
        return self.folder / f"step {name}{ENDING}"


@contextmanager
def journal_while(
    folder: str | Path | None,
    configuration: Mapping[str, Any],
    *,
    resume: bool,
    worth: float = 0.0,
) -> Iterator[Journal | None]:
    """Give out the journal of a run, which goes when all went well, and when it holds nothing.

    None where there is no folder: nothing is kept. After an error in fewer than ``worth`` seconds
    nothing is kept either: to begin again is no trouble, and a folder in the way would be.
    """
    if folder is None:
        yield None
        return
    began = time.monotonic()
    with Journal.open(folder, configuration, resume=resume) as journal:
        try:
            yield journal
        except BaseException:
            short = not resume and time.monotonic() - began < worth
            if (
                short or not journal.known
            ):  # a wrong call leaves nothing that the right one must delete
                journal.remove()
            raise
        journal.remove()


def refuse_unfinished(folder: Path) -> None:
    """Refuse to begin where a journal is."""
    if (folder / CONFIGURATION).exists():
        raise UsageError(
            f"{folder} is the journal of a run that did not finish; --resume continues it; to "
            "start over, delete that folder"
        )


def make_folder(folder: Path) -> None:
    """Make the folder, or refuse one that is there for something else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / CONFIGURATION).exists():
            foreign = sorted(
                path.name
                for path in folder.iterdir()
                if path.name != LOCK and not path.name.startswith(PREFIX)
            )
            if foreign:
                raise UsageError(
                    f"{folder} is to hold a journal, but is a folder with other files, such as "
                    f"{foreign[0]}; name another, or empty it"
                )
    except OSError as error:
        raise UsageError(cannot_be_written(folder, error)) from error


def known_steps(folder: Path) -> dict[str, bool]:
    """Return every step and whether it is finished; all checksums are checked."""
    paths = sorted(folder.glob(f"step *{ENDING}"), key=lambda path: path.stat().st_mtime_ns)
    return {about["step"]: about["finished"] for about in map(read_about, paths)}


def read_configuration(folder: Path) -> dict[str, Any]:
    """Return the configuration of a journal."""
    path = folder / CONFIGURATION
    with readable(str(path)):
        content = path.read_bytes()
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"{path} was damaged: it is no JSON object; delete {folder} to start over")
    return found


def check_same(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Refuse to continue a run as another one; the message names the first difference."""
    before, now = flattened(old), flattened(new)
    for key in dict.fromkeys([*now, *before]):
        was, wanted = before.get(key, UNSET), now.get(key, UNSET)
        if was != wanted:
            raise UsageError(
                f"{folder} cannot be continued: it was begun with {key} {was}, and this run has "
                f"{wanted}; use what it was begun with, or delete that folder to start over"
            )


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the values of nested mappings as JSON, under names such as ``tokens.skip_first``."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            flat.update(flattened(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = json.dumps(value, ensure_ascii=False)
    return flat
