"""The scale of a study that trains, and runs that were finished before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.studies.registry import Study

MINI, PAPER = "mini", "paper"


def chosen_scale(study: Study, given: str | None) -> str:
    """Return the scale that a user asks for, or the study's first; none where it has none."""
    if not study.scales:
        if given is not None:
            raise UsageError(f"{study.id} has one scale only; leave --scale out")
        return ""
    if given is None:
        return next(iter(study.scales))
    if given not in study.scales:
        raise unknown_name(f"scale of {study.id}", given, study.scales)
    return given


def finished_runs(
    study: Study, given: Sequence[str | Path], *, sources: bool, scale: str | None
) -> tuple[Path, ...]:
    """Return the results to take runs from, which say by themselves what was trained and how."""
    if not given:
        return ()
    if not study.scales:
        raise UsageError(f"{study.id} trains nothing; leave --from out")
    if sources or scale is not None:
        raise UsageError("--from has finished runs; leave sources and --scale out")
    return tuple(Path(path) for path in given)
