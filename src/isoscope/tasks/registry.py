"""Every task with what a reader must know before trusting its score."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from isoscope.errors import DataError, UsageError, unknown_name
from isoscope.tasks.data_folder import find_file, lookup

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

SHOWN_FILES = 3


Family = Literal[
    "word-similarity", "sts", "wic", "classification", "token-classification", "clustering",
    "pairs", "retrieval",
]  # fmt: skip


@dataclass(frozen=True)
class DataFile:
    """One file of a release.

    Attributes
    ----------
    name : str
        Its name in the release, with the folder where the name alone would not tell it; it may
        lie in the data folder, or in a folder directly inside it.
    size : int or None
        Items that it holds in the release, None for a file of one's own.
    part : str
        What it holds of the set: a split such as ``train``, or a subset such as ``headlines``.
    beside : str
        Name of the file in the same folder that holds the scores or labels, if another does.
    optional : bool
        Whether the set can be used without it.
    """

    name: str
    size: int | None
    part: str = ""
    beside: str = ""
    optional: bool = False


@dataclass(frozen=True)
class Task:
    """A benchmark: its data as their authors released them, and how they are scored.

    Attributes
    ----------
    name : str
        What the command line calls it.
    family : str
        What the task asks of vectors; tasks of a family are scored in the same way.
    files : tuple of DataFile
        The files of its public release that are read.
    layout : str
        What a line of the files looks like.
    unit : str
        What an item is.
    licence : str
        What is known of the terms; isoscope ships none of the data.
    citation : str
        Whom to cite.
    protocol : str
        How items are chosen and scored.
    metrics : tuple of str
        The scores, as results name them.
    """

    name: str
    family: Family
    files: tuple[DataFile, ...]
    layout: str
    unit: str
    licence: str
    citation: str
    protocol: str
    metrics: tuple[str, ...]

    @property
    def file(self) -> str:
        """The names of the files, for people."""
        names = [file.name for file in self.files]
        if len(names) <= SHOWN_FILES:
            return ", ".join(names)
        return f"{names[0]} and {len(names) - 1} files like it"

    @property
    def size(self) -> int | None:
        """Items in the release, None for a file of one's own."""
        sizes = [file.size for file in self.files if file.size is not None]
        return sum(sizes) if sizes else None

    def find(self, folder: Path | None) -> Path:
        """Return the first data file, or say which file with which layout is expected."""
        return next(iter(self.paths(folder).values()))

    def paths(self, folder: Path | None, parts: Collection[str] = ()) -> dict[DataFile, Path]:
        """Find the files of some parts, or of all; only then may optional ones be absent."""
        chosen = [file for file in self.files if not parts or file.part in parts]
        found: dict[DataFile, Path] = {}
        for file in chosen:
            if file.optional and not parts and folder is not None and not lookup(folder, file.name):
                continue
            found[file] = self._path(folder, file)
        return found if found else {chosen[0]: self._path(folder, chosen[0])}

    def absent(self, folder: Path | None) -> list[str]:
        """Name the files that are needed and not there."""
        if folder is None:
            return [file.name for file in self.files]
        missing = []
        for file in self.files:
            places = lookup(folder, file.name)
            if not places and not file.optional:
                missing.append(file.name)
            elif places and file.beside and not places[0].with_name(file.beside).is_file():
                missing.append(file.beside)
        return missing

    def check_count(self, path: Path, file: DataFile, found: int) -> None:
        """Refuse a file without examples, and warn where it is not as large as the release's."""
        if not found:
            raise DataError(f"{path} holds no {self.unit}")
        if file.size is not None and found != file.size:
            warnings.warn(
                f"{path} holds {found:,} {self.unit}; in the release of {self.name} it holds "
                f"{file.size:,}",
                stacklevel=3,
            )

    def _path(self, folder: Path | None, file: DataFile) -> Path:
        beside = f" with {file.beside}" if file.beside else ""
        expected = f"{self.name} reads {file.name}{beside}: {self.layout}"
        path = find_file(folder, file.name, expected)
        if file.beside and not path.with_name(file.beside).is_file():
            raise UsageError(f"there is no {file.beside} in {path.parent}; {expected}")
        return path


@dataclass(frozen=True)
class OwnFileTask(Task):
    """A task of a file of the user's own: nothing is looked for in a folder."""

    def find(self, folder: Path | None) -> Path:
        """Return the file, which the user named."""
        del folder
        path = pathlib.Path(self.file)
        if not path.is_file():
            raise UsageError(f"there is no file {path}; {self.name} reads {self.layout}")
        return path


AnyTask = TypeVar("AnyTask", bound=Task)

_TASKS: dict[str, Task] = {}


@dataclass(frozen=True)
class Opener:
    """A way to make a task of something that the user names behind a colon.

    Attributes
    ----------
    kind : str
        What stands before the colon.
    open : callable
        Makes the task of what stands behind it.
    names : str
        What that is, in capitals: ``FILE``.
    about : str
        What the task is, for people.
    """

    kind: str
    open: Callable[[str], Task]
    names: str
    about: str

    @property
    def written(self) -> str:
        """How such a task is written: ``KIND:FILE``."""
        return f"{self.kind}:{self.names}"


_OPENERS: dict[str, Opener] = {}


def register(task: AnyTask) -> AnyTask:
    """Add a task; a name can be taken once."""
    if task.name in _TASKS or task.name in _OPENERS:
        raise ValueError(f"the task {task.name} is registered twice")
    _TASKS[task.name] = task
    return task


def register_opener(
    kind: str,
    opener: Callable[[str], Task],
    names: str = "FILE",
    about: str = "a file of your own",
) -> None:
    """Add a way to make a task of a file of one's own, written ``KIND:FILE``, or of the like."""
    if kind in _TASKS or kind in _OPENERS:
        raise ValueError(f"the task {kind} is registered twice")
    _OPENERS[kind] = Opener(kind, opener, names, about)


def all_tasks() -> tuple[Task, ...]:
    """Return every task that has a name of its own, family by family."""
    order = get_args(Family)
    return tuple(sorted(_TASKS.values(), key=lambda task: order.index(task.family)))


def own_kinds() -> tuple[Opener, ...]:
    """Return the kinds of task that a file of one's own, or the like, can be."""
    return tuple(_OPENERS.values())


def find_task(name: str) -> Task:
    """Return a task by its name, or make one of ``KIND:FILE`` and the like."""
    kind, colon, file = name.strip().partition(":")
    if colon and kind in _OPENERS:
        opener = _OPENERS[kind]
        if not file:
            raise UsageError(f"task {name!r}: name a {opener.names.lower()} behind the colon")
        return opener.open(file)
    if name.strip().lower() not in _TASKS:
        raise unknown_name("task", name, [*_TASKS, *(kind.written for kind in own_kinds())])
    return _TASKS[name.strip().lower()]
