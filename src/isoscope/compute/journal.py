"""The journal of a long run: what it has done so far, so that it can be resumed.

A journal is a folder beside the output, for one run at a time. It contains the configuration of the
run and one file per step with arrays and facts. ``kill -9`` at any moment leaves each file as it
was or as it was to be; any other damage is noticed by a checksum.

The file of a step is a valid ``.safetensors`` file, written and read here by hand so that a state
of a gigabyte is never copied. The checksum stands at a fixed place in the header, and is the
SHA-256 of the whole file with zeros in that place.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from isoscope.data.formats.safetensors import METADATA, aligned
from isoscope.data.location import readable
from isoscope.data.output import PREFIX, atomic_file, cannot_be_written, write_atomically
from isoscope.errors import DataError, IsoscopeError, UsageError, cut
from isoscope.version import __version__


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
                # Opened for appending, since opening for writing would empty the file, and with it
                # the process number of whoever holds the lock, which the message below shows.
                file = self._path.open("a+b")
            except OSError as error:
                raise UsageError(cannot_be_written(self._path, error)) from error
            try:
                if not lock(file):
                    raise in_use(self._path.parent, file)
                # The last holder may have deleted the file between our open() and our lock: then
                # the lock is on a file that nobody else will ever see, and we try again.
                if self._is_current(file):
                    file.truncate(0)
                    file.write(str(os.getpid()).encode())
                    file.flush()
                    return file
            except BaseException:
                file.close()
                raise
            file.close()

    def _is_current(self, file: BinaryIO) -> bool:
        """Whether the file is still the one of this name: its last holder may have deleted it."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    @property
    def held(self) -> bool:
        """Whether it has not been released."""
        return self._file is not None

    def release(self, *, delete: bool = False) -> None:
        """Let others in; with ``delete`` the file goes first, while it is still ours."""
        if self._file is None:
            return
        if delete:
            # Before the lock is let go: after it, the file may already be another run's lock.
            self._path.unlink(missing_ok=True)
        self._file.close()
        self._file = None


def in_use(folder: Path, file: BinaryIO) -> UsageError:
    """Say that another run has a folder, which its lock file names."""
    file.seek(0)
    holder = file.read(20).decode("ascii", "replace").strip()
    return UsageError(
        f"{folder} is in use by another run"
        + (f", process {holder}" if holder else "")
        + "; wait for it, or name another output"
    )


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


# Types that a journal keeps, by numpy's and by the format's name.
STORED = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
}  # fmt: skip

FORMAT_VERSION = 1

# What stands before the checksum in every header.
BEGINNING = b'{"' + METADATA.encode() + b'":{"sha256":"'

ZEROS = b"0" * 64

# Bytes read at a time for the checksum.
PIECE = 1 << 20


@dataclass(frozen=True)
class Entry:
    """What a step has come to."""

    step: str
    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Anything that JSON holds; keys are strings."""
    finished: bool = True
    """False for a state on the way."""


def write_entry(path: Path, entry: Entry) -> None:
    """Write an entry: a run that is killed leaves the old file or the new one."""
    stored = {name: as_stored(name, array) for name, array in entry.arrays.items()}
    header = header_of(entry, stored)
    start = len(BEGINNING)
    # The checksum is computed before anything is written, because it stands in front of the arrays:
    # a .safetensors file may have no bytes behind its last tensor.
    digest = hashlib.sha256(len(header).to_bytes(8, "little") + header)
    for array in stored.values():
        digest.update(raw(array))
    checksum = digest.hexdigest().encode()
    with atomic_file(path) as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header[:start] + checksum + header[start + len(ZEROS) :])
        for array in stored.values():
            file.write(raw(array))


def header_of(entry: Entry, stored: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the header with zeros for a checksum."""
    about = {
        "format_version": FORMAT_VERSION,
        "step": entry.step,
        "finished": entry.finished,
        "facts": dict(entry.facts),
    }
    header: dict[str, Any] = {METADATA: {"sha256": ZEROS.decode(), "journal": json.dumps(about)}}
    position = 0
    for name, array in stored.items():
        header[name] = {
            "dtype": STORED[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes
    return aligned(json.dumps(header, separators=(",", ":")))


def as_stored(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it lies in the file, row by row and little-endian."""
    if array.dtype.name not in STORED:
        raise UsageError(f"the array {name} is {array.dtype}, which a journal does not keep")
    if name == METADATA:
        raise UsageError(f"an array of a journal cannot be called {name}")
    # No copy on machines that are little-endian anyway, which nearly all are.
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def raw(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array, without a copy."""
    return array.reshape(-1).view(np.uint8).data


def read_entry(path: Path) -> Entry:
    """Read an entry whole, or say which file to delete."""
    with readable(str(path)), path.open("rb") as file, as_written(path):
        header, about = checked_header(path, file)
        # The file is read twice, once for the checksum and once into the arrays themselves: to hold
        # its bytes and the arrays at the same time would take twice the memory.
        start, arrays = file.tell(), {}
        for name, description in header.items():
            kind = np.dtype(NUMPY_NAMES[description["dtype"]]).newbyteorder("<")
            begin, end = description["data_offsets"]
            if not 0 <= begin <= end <= path.stat().st_size:
                raise damaged(path)
            content = np.empty(end - begin, np.uint8)
            file.seek(start + begin)
            if file.readinto(content.data) != len(content):
                raise damaged(path)
            array = content.view(kind).reshape(description["shape"])
            arrays[name] = array.astype(kind.newbyteorder("="), copy=False)
        return Entry(about["step"], arrays, about["facts"], about["finished"])


def read_about(path: Path) -> dict[str, Any]:
    """Check an entry whole, but return only what it says of its step."""
    with readable(str(path)), path.open("rb") as file, as_written(path):
        about = checked_header(path, file)[1]
        if not isinstance(about["step"], str) or not isinstance(about["finished"], bool):
            raise damaged(path)
        if entry_path(path.parent, about["step"]).name != path.name:
            raise damaged(path)
        return about


@contextmanager
def as_written(path: Path) -> Iterator[None]:
    """Refuse what has a right checksum, and still was not written by a journal."""
    try:
        yield
    except IsoscopeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise damaged(path) from error


def checked_header(path: Path, file: BinaryIO) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays' descriptions and the step's; the file then stands at the first array.

    The checksum comes first: behind it, everything is as ``write_entry`` left it.
    """
    length = int.from_bytes(file.read(8), "little")
    # A damaged length could ask for more memory than there is.
    if length > path.stat().st_size:
        raise damaged(path)
    header = file.read(length)
    start, end = len(BEGINNING), len(BEGINNING) + len(ZEROS)
    digest = hashlib.sha256(length.to_bytes(8, "little") + header[:start] + ZEROS + header[end:])
    while piece := file.read(PIECE):
        digest.update(piece)
    if header[start:end] != digest.hexdigest().encode():
        raise damaged(path)
    entries = json.loads(header)
    about = json.loads(entries.pop(METADATA)["journal"])
    if about["format_version"] != FORMAT_VERSION:
        raise DataError(
            f"{path} has format {about['format_version']} of a journal, and this version of "
            f"isoscope reads {FORMAT_VERSION}; delete it, and --resume repeats that step"
        )
    file.seek(8 + length)
    return entries, about


def damaged(path: Path) -> DataError:
    """Say that a file is not what was written, and what to do."""
    return DataError(
        f"{path} was changed or damaged: its checksum does not match; delete it, and --resume "
        "repeats that step"
    )


NUMPY_NAMES = {stored: name for name, stored in STORED.items()}


CONFIGURATION = "configuration.json"
LOCK = "lock"
ENDING = ".safetensors"

# Characters of a step's name as part of a file's.
LONGEST_STEP = 200

# Journals of runs of this process that did not finish, for the line that says so.
KEPT: list[Path] = []

# Stands for an option that a configuration does not have.
UNSET = "not set"


class Journal:
    """The journal of one run; ``Journal.open`` makes one.

    It holds its folder for this process until ``close``, which leaving a ``with`` block calls.
    """

    def __init__(self, folder: Path, lock: FolderLock, finished: dict[str, bool]) -> None:
        self.folder = folder
        self._lock = lock
        self._finished = finished
        # An interrupt leaves threads behind that may still want to save something. After close()
        # and remove() the folder may be another run's, or gone, and nothing is written any more.
        self._writing = threading.Lock()
        self._open = True

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
        # Through JSON and back, as what is compared with it was: tuples become lists on the way.
        # The version counts because another one may sum in another order.
        settled = json.loads(json.dumps({**configuration, "isoscope": __version__}))
        try:
            make_folder(folder)
            # From here on nobody else changes the folder; what looks like a leftover below could
            # otherwise be a file that another run is just writing.
            lock = FolderLock(folder / LOCK)
        except KeyboardInterrupt:
            remove_unused(folder)
            raise
        begun = True
        try:
            begun = (folder / CONFIGURATION).exists()
            if begun and not resume:
                raise unfinished(folder)
            for step in () if begun else folder.glob(f"step *{ENDING}"):
                step.unlink()  # make_folder has seen that all of them are an entry of a journal
            for leftover in folder.glob(f"{PREFIX}*"):  # of a run that was killed while it wrote
                leftover.unlink()
            if begun:
                check_same(read_configuration(folder), settled, folder)
            else:
                write_atomically(folder / CONFIGURATION, json.dumps(settled, indent=2) + "\n")
            # All checksums are checked now, not when a step is loaded hours later.
            return cls(folder, lock, known_steps(folder))
        except BaseException:
            if not begun:
                (folder / CONFIGURATION).unlink(missing_ok=True)
            lock.release()
            remove_unused(folder)
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
        path = self._path(step)
        with self._writing:
            if self._open:
                write_entry(path, Entry(step, arrays, facts or {}, finished))
                self._finished[step] = finished

    def load(self, step: str) -> Entry | None:
        """Return what was kept of a step, finished or not; None where nothing was."""
        return read_entry(self._path(step)) if step in self._finished else None

    def forget(self, step: str) -> None:
        """Delete what was kept of a step that nobody will go on from; nothing, if nothing was."""
        with self._writing:
            # Out of the list before the file goes: a step that is listed always has its file.
            if self._open and self._finished.pop(step, None) is not None:
                self._path(step).unlink(missing_ok=True)

    def close(self) -> None:
        """Let other runs in; the journal stays."""
        with self._writing:
            self._open = False
        self._lock.release()

    def remove(self) -> None:
        """Delete the journal, after its run has succeeded; files of others stay."""
        try:
            self._remove()
        except KeyboardInterrupt:  # half a journal would be in the way of the next run
            self._remove()
            raise

    def _remove(self) -> None:
        with self._writing:
            self._open = False
        if self._lock.held:  # or the files may already be another run's
            self._remove_files()
        with suppress(OSError):  # somebody else's files, or the lock of the next run
            self.folder.rmdir()

    def _remove_files(self) -> None:
        # The newest step goes last, even after the configuration: a run that replaces what it
        # started from notes that as its last step, and could not be continued without it.
        newest = {self._path(step) for step in list(self._finished)[-1:]}
        # All that are there, not all that are listed: an interrupt may come between the two.
        steps = {*self.folder.glob(f"step *{ENDING}"), *self.folder.glob(f"{PREFIX}*")}
        for path in [*(steps - newest), self.folder / CONFIGURATION, *newest]:
            path.unlink(missing_ok=True)
        self._finished = {}
        self._lock.release(delete=True)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _path(self, step: str) -> Path:
        return entry_path(self.folder, step)


def entry_path(folder: Path, step: str) -> Path:
    """Return the file of a step."""
    # Names of layers may contain slashes, which a file's name cannot.
    name = quote(step, safe=" ,=+()")
    if len(name) > LONGEST_STEP or not name:
        raise UsageError(f"the step {step!r:.60} has no name that a file can have")
    return folder / f"step {name}{ENDING}"


def kept_entry(folder: Path | None, step: str) -> Entry | None:
    """Return what a journal that is not open keeps of a step; None where it keeps nothing."""
    path = None if folder is None else entry_path(folder, step)
    return None if path is None or not path.is_file() else read_entry(path)


@contextmanager
def journal_while(
    folder: str | Path | None, configuration: Mapping[str, Any], *, resume: bool, worth: float = 0.0
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
            # Not where a run is resumed: its journal may hold the work of many hours, however soon
            # this attempt failed.
            short = not resume and time.monotonic() - began < worth
            # A wrong call leaves nothing that the right one must delete.
            if short or not journal.known:
                journal.remove()
            else:
                KEPT.append(journal.folder)
            raise
        journal.remove()


def journal_beside(
    out: str | Path | None, journal: str | Path | None = None, *, resume: bool = False
) -> Path | None:
    """Return the folder that keeps what a run has done: by default beside the file it writes.

    None where nothing is kept; then nothing can go on either.
    """
    if journal is not None:
        return Path(journal)
    if out is not None:
        return Path(f"{out}.journal")
    if resume:
        raise UsageError("--resume continues from the journal beside --out; name the same file")
    return None


def refuse_unfinished(folder: Path) -> None:
    """Refuse to begin where a journal is, or say that its run still has it."""
    if not (folder / CONFIGURATION).exists():
        return
    with suppress(OSError), (folder / LOCK).open("rb") as file:
        if not lock(file):
            raise in_use(folder, file)
    raise unfinished(folder)


def unfinished(folder: Path) -> UsageError:
    """Say that a journal is in the way, and what to do."""
    return UsageError(
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
                if path.name != LOCK and not path.name.startswith(PREFIX) and not is_entry(path)
            )
            if foreign:
                raise UsageError(
                    f"{folder} is needed for the journal, but contains other files, such as "
                    f"{foreign[0]}; name another, or empty it"
                )
    except OSError as error:
        raise UsageError(cannot_be_written(folder, error)) from error


def remove_unused(folder: Path) -> None:
    """Remove a folder in which no run has kept anything, unless another one is about to."""
    with suppress(UsageError, OSError):
        if {path.name for path in folder.iterdir()} == {LOCK}:
            FolderLock(folder / LOCK).release(delete=True)
        folder.rmdir()


def is_entry(path: Path) -> bool:
    """Whether a file was written by a journal; without a configuration nobody can continue it."""
    if not (path.name.startswith("step ") and path.name.endswith(ENDING) and path.is_file()):
        return False
    with path.open("rb") as file:
        return file.read(8 + len(BEGINNING))[8:] == BEGINNING


def known_steps(folder: Path) -> dict[str, bool]:
    """Return every step and whether it is finished; all checksums are checked."""
    return {about["step"]: about["finished"] for about in map(read_about, step_files(folder))}


def step_files(folder: Path) -> list[Path]:
    """Return the files of all steps, the oldest first."""
    return sorted(folder.glob(f"step *{ENDING}"), key=lambda path: path.stat().st_mtime_ns)


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
        raise DataError(
            f"{path} was damaged: it is not a JSON object; delete {folder} to start over"
        )
    return found


def check_same(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Refuse to continue a run as another one; the message names the first difference."""
    before, now = flattened(old), flattened(new)
    # Options of this run first, in the order in which they were given: the message names one that
    # the user can see.
    for key in dict.fromkeys([*now, *before]):
        was, wanted = before.get(key, UNSET), now.get(key, UNSET)
        if was != wanted:
            raise UsageError(
                f"{folder} cannot be resumed: it was started with {cut(key)} {cut(was)}, and "
                f"this run has {cut(wanted)}; use the same, or delete that folder to start over"
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
