"""Saving a state on the way every so often."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

if TYPE_CHECKING:
    from isoscope.engines.journal import Journal

State: TypeAlias = tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]
"""Arrays and facts."""

SHARE = 10
"""Saving takes at most one part in so many of the time, however large the state is."""


class Checkpoints:
    """Keeps the state of one step, at most every so many seconds.

    Parameters
    ----------
    journal : Journal
        Where it is kept.
    step : str
        Name of the step.
    every : float
        Seconds between the end of a save and the beginning of the next. Where saving itself takes
        long, it is more.
    clock : callable
        Gives seconds.
    """

    def __init__(
        self,
        journal: Journal,
        step: str,
        every: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal, self._step = journal, step
        self._every, self._clock = every, clock
        self._due = clock() + every

    def offer(self, state: Callable[[], State]) -> bool:
        """Save if it is time; only then ``state`` is called. Returns whether it was."""
        began = self._clock()
        if began < self._due:
            return False
        arrays, facts = state()
        self._journal.save(self._step, arrays, facts, finished=False)
        ended = self._clock()
        self._due = ended + max(self._every, (SHARE - 1) * (ended - began))
        return True
