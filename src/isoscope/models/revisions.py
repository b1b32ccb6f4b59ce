"""Which checkpoints of its training a model has, in the order of training."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.data.formats.packages import PREFIX
from isoscope.errors import UsageError
from isoscope.models.hub import is_an_answer, refusal
from isoscope.models.quiet import first_line, library, quietly
from isoscope.models.sources import CONFIG, GGUF
from isoscope.models.steps import choose, order_of, said_rule, said_steps, step_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.models.steps import Every


EVERYTHING = "*"
MOST_NAMED = 5
"""Checkpoints that a message names."""


@dataclass(frozen=True)
class Checkpoint:
    """One state of a model in training.

    Attributes
    ----------
    model : str
        What results call the model: its id, or the name of the folder of checkpoints.
    revision : str
        Branch or tag of the hub, or name of the folder.
    folder : Path or None
        Where it is, if it is on this machine.
    commit : str or None
        What the branch or tag stands for.
    """

    model: str
    revision: str
    folder: Path | None = None
    commit: str | None = None

    @property
    def name(self) -> str:
        """What results call the checkpoint."""
        return f"{self.model}@{self.revision}"

    @property
    def step(self) -> int | None:
        """How long it was trained, as its name says; None where it says nothing."""
        return step_of(self.revision)


@dataclass(frozen=True)
class Training:
    """Checkpoints of one model, in the order of training.

    Attributes
    ----------
    model : str
        What results call the model.
    checkpoints : tuple of Checkpoint
        Those that were chosen.
    of : int
        How many there were to choose from.
    rule : str
        How they were chosen.
    """

    model: str
    checkpoints: tuple[Checkpoint, ...]
    of: int
    rule: str = ""

    @property
    def protocol(self) -> str:
        """Say which steps there are, as results state it."""
        steps = said_steps([one.step for one in self.checkpoints if one.step is not None])
        others = [one.revision for one in self.checkpoints if one.step is None]
        rule = f", {self.rule}" if self.rule else ""
        said = ", ".join([f"steps {steps}"] * bool(steps) + others)
        return f"{len(self.checkpoints)} of {self.of} checkpoints{rule}: {said}"


def find_training(name: str, pattern: str | None = None, every: Every = None) -> Training:
    """Find the checkpoints of a model.

    Parameters
    ----------
    name : str
        An id of the hub, whose branches and tags are looked at, or a folder, whose subfolders are.
    pattern : str, optional
        Which names count, such as ``step*``; several with commas. Names without a number, ``main``
        among them, count only where one is written out.
    every : int or "log", optional
        Which of them to take; see `isoscope.models.steps.choose`.
    """
    pattern = EVERYTHING if pattern is None else pattern
    patterns = [word.strip() for word in pattern.split(",")]
    found = find_checkpoints(name)
    kept = [one for one in found if is_wanted(one.revision, patterns)]
    if not kept:
        raise nothing_fits(name, pattern, found)
    places = choose([one.step for one in kept], every)
    chosen = tuple(kept[place] for place in places)
    return Training(kept[0].model, chosen, len(kept), said_rule(every))


def holds_checkpoints(name: str) -> bool:
    """Whether a name is that of a folder that is no model, but has models with numbers in it."""
    path = Path(name).expanduser()
    if not path.is_dir() or (path / CONFIG).is_file():
        return False
    return any(one.step is not None for one in in_folder(path))


def find_checkpoints(name: str) -> list[Checkpoint]:
    """Return all checkpoints of a model in the order of training, whatever they are called."""
    path = Path(name).expanduser()
    if path.is_dir():
        found = in_folder(path)
    elif name.startswith(PREFIX) or path.exists() or name.lower().endswith(GGUF):
        raise UsageError(f"{name} is one model without checkpoints; leave --revisions out")
    elif name.startswith((".", "/", "~")):
        raise UsageError(f"{name}: there is no such folder")
    else:
        found = on_hub(name)
    return sorted(found, key=lambda one: order_of(one.revision))


def in_folder(path: Path) -> list[Checkpoint]:
    """Return the subfolders that are models."""
    model = path.resolve().name
    return [
        Checkpoint(model, folder.name, folder)
        for folder in path.iterdir()
        if (folder / CONFIG).is_file()
    ]


def on_hub(name: str) -> list[Checkpoint]:
    """Return the branches and tags of a model of the hub."""
    hub = library("huggingface_hub")
    try:
        with quietly():
            refs: Any = hub.list_repo_refs(name)
    except Exception as error:
        if is_an_answer(error):
            raise refusal(name, None, error) from error
        raise UsageError(
            f"{name}: there is no such folder, and the hub cannot be reached to list its revisions "
            f"({first_line(error)}); give a folder whose subfolders are checkpoints, or set "
            "HF_ENDPOINT to a mirror"
        ) from error
    found: dict[str, Checkpoint] = {}
    for ref in (*refs.branches, *refs.tags):
        found.setdefault(ref.name, Checkpoint(name, ref.name, None, ref.target_commit))
    return list(found.values())


def is_wanted(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name is asked for: one without a number must be written out."""
    if step_of(name) is None:
        return name in patterns
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def nothing_fits(name: str, pattern: str, found: Sequence[Checkpoint]) -> UsageError:
    """Say that no checkpoint is asked for, and which ones there are."""
    if not found:
        return UsageError(f"{name} has no checkpoints: none of its subfolders is a model")
    there = ", ".join(one.revision for one in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return UsageError(
        f"no checkpoint of {name} has a name with a number that fits {pattern!r}; there are "
        f"{there}{more}; those without a number must be written out"
    )
