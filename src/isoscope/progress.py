"""Who is told how far a run is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

# Takes the name of a stage, what is done, and the total where it is known.
Progress: TypeAlias = Callable[[str, int, int | None], None]


def report(to: Progress | None, stage: str, done: int, total: int | None = None) -> None:
    """Say how far a stage is, where somebody wants to know."""
    if to is not None:
        to(stage, done, total)
