"""Every task with what a reader must know before trusting its score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from isoscope.errors import UsageError, unknown_name
from isoscope.tasks.data_folder import find_file

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Task:
    """A benchmark: its data as their authors released them, and how they are scored.

    Attributes
    ----------
    name : str
        What the command line calls it.
    family : str
        What the task asks of vectors; tasks of a family are scored in the same way.
    file : str
        Name of the data file in its public release; it may lie in the data folder, or in a folder
        directly inside it.
    layout : str
        What a line of the file looks like.
    size : int or None
        Items in the release, None for a file of one's own.
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
    family: str
    file: str
    layout: str
    size: int | None
    unit: str
    licence: str
    citation: str
    protocol: str
    metrics: tuple[str, ...]

    def find(self, folder: Path | None) -> Path:
        """Return the data file, or say which file with which layout is expected."""
        return find_file(folder, self.file, f"{self.name} reads {self.file}: {self.layout}")


AnyTask = TypeVar("AnyTask", bound=Task)

_TASKS: dict[str, Task] = {}
_OPENERS: dict[str, Callable[[str], Task]] = {}


def register(task: AnyTask) -> AnyTask:
    """Add a task; a name can be taken once."""
    if task.name in _TASKS or task.name in _OPENERS:
        raise ValueError(f"the task {task.name} is registered twice")
    _TASKS[task.name] = task
    return task


def register_opener(kind: str, opener: Callable[[str], Task]) -> None:
    """Add a way to make a task of a file of one's own, written ``KIND:FILE``."""
    if kind in _TASKS or kind in _OPENERS:
        raise ValueError(f"the task {kind} is registered twice")
    _OPENERS[kind] = opener


def all_tasks() -> tuple[Task, ...]:
    """Return every task that has a name of its own."""
    return tuple(_TASKS.values())


def own_kinds() -> tuple[str, ...]:
    """Return the kinds of task that a file of one's own can be."""
    return tuple(_OPENERS)


def find_task(name: str) -> Task:
    """Return a task by its name, or make one of ``KIND:FILE``."""
    kind, colon, file = name.strip().partition(":")
    if colon and kind in _OPENERS:
        if not file:
            raise UsageError(f"task {name!r}: name a file behind the colon")
        return _OPENERS[kind](file)
    if name.strip().lower() not in _TASKS:
        raise unknown_name("task", name, [*_TASKS, *(f"{kind}:FILE" for kind in _OPENERS)])
    return _TASKS[name.strip().lower()]
