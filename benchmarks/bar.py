"""One job whose speed is compared with another one, with the limit that it should keep.

``bars.py`` runs the bars of ``bars_of_measures.py`` and of other such files, and writes the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sides import best_of_both


class Figure(NamedTuple):
    """One comparison in one run: elapsed seconds and those of processors on both sides."""

    case: str
    against: str
    ours: tuple[float, float]
    theirs: tuple[float, float]
    rounds: int


@dataclass(frozen=True)
class Bar:
    """A job, what it is compared with, the ratio that it must keep, and the one that it should."""

    job: str
    limit: float
    goal: float
    run: Callable[[], Iterator[Figure]]
    faster: bool = False
    """Whether the ratio is theirs over ours, which must be at least the limit."""


def compared(
    case: str,
    ours: Callable[[], object],
    others: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm: bool = True,
) -> Iterator[Figure]:
    """Time a call and those that it is compared with in turn; the best of the rounds counts."""
    sides = {"": ours, **others}
    if warm:
        best_of_both(sides, 1)
    times = best_of_both(sides, rounds)
    for against in others:
        yield Figure(case, against, times[""], times[against], rounds)


def repeated(call: Callable[[], object], times: int) -> Callable[[], None]:
    """Return a call that makes another one many times, for what is too short to be timed."""

    def run() -> None:
        for _ in range(times):
            call()

    return run
