"""A first answer from a sample, when the full one takes long."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.arrays import ArrayCloud
from isoscope.data.combine import FileParts
from isoscope.data.sampling import LARGE_SIZE, draw_rows
from isoscope.progress import Progress, report

if TYPE_CHECKING:
    from isoscope.data.base import CloudGroup
    from isoscope.measures.reads.passes import FirstRead
    from isoscope.results.result import Result


# Measures a cloud, here a sampled one, as the user asked for the whole.
Ask = Callable[["CloudGroup"], "Result"]

# Seconds beyond which somebody would like to know something sooner.
LONG = 10.0

# Seconds after which the time of the whole is estimated.
FIRST_LOOK = 1.0

# What the first read takes, this many times, is what the answer takes.
READS = 2.0


@dataclass
class Provisional:
    """Watches the first read, and gives an answer from a sample once, where that pays.

    Files that can be read anywhere are sampled as soon as it is clear that they take long; of
    others the sample is complete at the end of the first read.

    Parameters
    ----------
    source : CloudGroup
        What is measured.
    ask : callable
        Measures the sample.
    show : callable
        Takes the provisional result.
    progress : callable, optional
        Called on as well.
    seed : int
        Seed of the sample.
    """

    source: CloudGroup
    ask: Ask
    show: Callable[[Result], None]
    progress: Progress | None
    seed: int

    def __post_init__(self) -> None:
        self._started = time.monotonic()
        self._open, self._looked = True, False

    def report(self, stage: str, done: int, total: int | None) -> None:
        """Pass progress on, and look at the clock during the first read."""
        report(self.progress, stage, done, total)
        elapsed = time.monotonic() - self._started
        if self._looked or total is None or elapsed < FIRST_LOOK:
            return
        self._looked = True
        if READS * elapsed * total / max(done, 1) > LONG:
            drawn = draw_rows(self.source, LARGE_SIZE, self.seed)
            if drawn is not None:
                self._answer(drawn)

    def after_first_read(self, first: Mapping[str, FirstRead], dtypes: Mapping[str, str]) -> None:
        """Answer from the sample of the first read, where nothing was shown yet."""
        if not self._open or READS * (time.monotonic() - self._started) <= LONG:
            return
        clouds = {}
        for name, read in first.items():
            dtype = np.float64 if dtypes[name] == "float64" else np.float32
            if len(read.sample.vectors) < 2:
                return
            clouds[name] = ArrayCloud(read.sample.vectors.astype(dtype), name)
        single = len(clouds) == 1
        self._answer(next(iter(clouds.values())) if single else FileParts(clouds))

    def _answer(self, sampled: CloudGroup) -> None:
        self._open = False
        self.show(self.ask(sampled))
