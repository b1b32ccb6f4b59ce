"""Checkpoints of a training: their names and steps, in the order of training, and which to take."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from isoscope.data.formats.registry import PREFIX
from isoscope.errors import UsageError
from isoscope.models.runtime import first_line, library, quietly
from isoscope.models.sources import CONFIG, GGUF, is_an_answer, refusal

Every = int | Literal["log"] | None
Step = int | None

LOG: Literal["log"] = "log"

NUMBER = r"(\d+)(?:([kmb])(?![a-z]))?"
SAID_STEP = re.compile(rf"(?:step|checkpoint|ckpt|iteration|iter)s?[-_ =]*{NUMBER}", re.IGNORECASE)
ANY_NUMBER = re.compile(NUMBER, re.IGNORECASE)
TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}

# Steps at even distances that are said as one run.
FEWEST_IN_A_RUN = 4


def step_of(name: str) -> Step:
    """Return the step that the name of a checkpoint tells.

    That is the number behind step, checkpoint, ckpt or iter, else the last number of the name.

    Examples
    --------
    >>> step_of("step143000"), step_of("checkpoint-500"), step_of("stage1-step50K-tokens105B")
    (143000, 500, 50000)
    >>> step_of("epoch_3"), step_of("main")
    (3, None)
    """
    found = SAID_STEP.findall(name) or ANY_NUMBER.findall(name)
    if not found:
        return None
    number, unit = found[-1]
    return int(number) * TIMES[unit.lower()]


def order_of(name: str) -> tuple[bool, int, list[tuple[int, str]]]:
    """Return a key that sorts names by step, then with numbers as numbers; no step comes last."""
    step = step_of(name)
    pieces = re.findall(r"\d+|\D+", name)
    natural = [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in pieces]
    return step is None, step or 0, natural


def choose(steps: Sequence[Step], every: Every) -> list[int]:
    """Return the places of some steps, always with the first and the last.

    Parameters
    ----------
    steps : sequence of int or None
        In order; None where a checkpoint has no number.
    every : int, "log" or None
        A number takes every so many of the list. ``log`` takes those nearest, by ratio, to 1, 2, 4,
        8 … times the first step above 0, with step 0 and with what has no number. None takes all.

    Examples
    --------
    >>> choose([0, 10, 20, 30, 40, 50], 2), choose([0, 10, 20, 30, 40, 50], "log")
    ([0, 2, 4, 5], [0, 1, 2, 4, 5])
    """
    if every is None:
        return list(range(len(steps)))
    ends = {0, len(steps) - 1}
    if every == LOG:
        return sorted(ends | nearest_to_doubling(steps))
    if every < 1:
        raise not_every(str(every))
    return sorted(ends.union(range(0, len(steps), every)))


def nearest_to_doubling(steps: Sequence[Step]) -> set[int]:
    """Return the places of steps nearest to doubled ones, of 0, and of what has no number."""
    taken = {k for k, step in enumerate(steps) if not step}
    known = {k: step for k, step in enumerate(steps) if step}
    target, end = min(known.values(), default=1), max(known.values(), default=0)
    while target <= end:
        goal = target
        # The distance of logarithms, without logarithms: steps are exact whole numbers.
        taken.add(min(known, key=lambda k: max(known[k] / goal, goal / known[k])))
        target *= 2
    return taken


def said_rule(every: Every) -> str:
    """Say how steps were chosen."""
    if every == LOG:
        return "nearest to steps 1, 2, 4, 8, …"
    return "" if every in (None, 1) else f"one in {every}"


def parse_every(text: str | None) -> Every:
    """Read ``--every``."""
    if text is None:
        return None
    if text == LOG:
        return LOG
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise not_every(text)
    return int(text)


def not_every(text: str) -> UsageError:
    """Say what ``--every`` takes."""
    return UsageError(f"--every must be log or a number of at least 1, got {text}")


def said_steps(steps: Sequence[int]) -> str:
    """Write a list of steps, those at even distances in short.

    Examples
    --------
    >>> said_steps([0, 1, 2, 4, 1000, 2000, 3000, 4000])
    '0, 1, 2, 4, 1000 to 4000 by 1000'
    """
    said = []
    start = 0
    while start < len(steps):
        end = end_of_run(steps, start)
        if end - start + 1 >= FEWEST_IN_A_RUN:
            said.append(f"{steps[start]} to {steps[end]} by {steps[end] - steps[end - 1]}")
            start = end + 1
        else:
            said.append(str(steps[start]))
            start += 1
    return ", ".join(said)


def end_of_run(steps: Sequence[int], start: int) -> int:
    """Return the last place up to which steps have even distances."""
    end = min(start + 1, len(steps) - 1)
    distance = steps[end] - steps[start]
    while end + 1 < len(steps) and steps[end + 1] - steps[end] == distance:
        end += 1
    return end


EVERYTHING = "*"

# Checkpoints that a message names.
MOST_NAMED = 5


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
        Which of them to take; see `isoscope.models.checkpoints.choose`.
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
    """Whether a name is that of a folder that is no model, but has the states of one in it."""
    path = Path(name).expanduser()
    if not path.is_dir() or (path / CONFIG).is_file():
        return False
    return are_one_training(in_folder(path))


def are_one_training(found: Sequence[Checkpoint]) -> bool:
    """Whether folders are states of one model rather than several models side by side.

    They are where a name says a step, or where names differ in their numbers alone: the numbers of
    ``gpt2`` and ``all-mpnet-base-v2`` are no steps. Their configurations are of one kind of model.
    """
    numbered = [one for one in found if one.step is not None]
    said = any(SAID_STEP.search(one.revision) for one in numbered)
    alike = len(numbered) > 1 and len({re.sub(r"\d+", "#", one.revision) for one in numbered}) == 1
    return (said or alike) and len({model_type(one) for one in numbered}) == 1


def model_type(checkpoint: Checkpoint) -> str | None:
    """Return which kind of model the configuration in a folder names; None where it names none."""
    assert checkpoint.folder is not None
    try:
        entries = json.loads((checkpoint.folder / CONFIG).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):  # whoever opens it is told
        return None
    return str(entries.get("model_type")) if isinstance(entries, dict) else None


def find_checkpoints(name: str) -> list[Checkpoint]:
    """Return all checkpoints of a model in the order of training, whatever they are called."""
    path = Path(name).expanduser()
    if path.is_dir():
        found = in_folder(path)
    elif name.startswith(PREFIX) or path.exists() or name.lower().endswith(GGUF):
        raise UsageError(
            f"{name} is one model without checkpoints; a training is a folder of checkpoints, or a "
            "hub id with revisions"
        )
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
