"""The sets that a study scores: those that are asked for, or those that are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.errors import UsageError, unknown_name
from isoscope.tasks import find_task

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.studies.registry import Request, Study


def chosen_tasks(study: Study, given: str | None) -> tuple[str, ...]:
    """Return the sets that a user asks for, in the order of the study; none stands for all."""
    if given is None:
        return ()
    if not study.tasks:
        raise UsageError(f"{study.id} has no sets to choose from; leave --tasks out")
    names = {name.strip().lower() for name in given.split(",") if name.strip()}
    if not names:
        raise UsageError(f"name at least one set of {study.id}: {', '.join(study.tasks)}")
    for name in names:
        if name not in study.tasks:
            raise unknown_name(f"set of {study.id}", name, study.tasks)
    return tuple(name for name in study.tasks if name in names)


def sets_to_score(request: Request, names: tuple[str, ...]) -> tuple[list[str], dict[str, int]]:
    """Return the sets to score, and how many are left out for want of data, by name.

    A set that was asked for by name must be there; of those that were not, one at least.
    """
    if request.tasks:
        return list(request.tasks), {}
    absent = [name for name in names if is_absent(name, request.data)]
    there = [name for name in names if name not in absent]
    if not there:
        find_task(names[0]).find(request.data)  # says what is expected where
        raise UsageError(f"{request.data} holds none of the sets {', '.join(names)}")
    return there, {f"sets without data ({', '.join(absent)})": len(absent)} if absent else {}


def is_absent(name: str, folder: Path | None) -> bool:
    """Whether a file of a set is missing that it needs."""
    return bool(find_task(name).absent(folder))
