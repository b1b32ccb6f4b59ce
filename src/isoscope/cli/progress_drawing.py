"""Progress for people: one bar with rate and time left."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from isoscope.cli.progress_stages import Stages

if TYPE_CHECKING:
    from rich.console import Console

    from isoscope.cli.progress_stages import Stage

PATIENCE = 1.0
"""Seconds before a bar appears: short work needs none."""

AROUND = "checkpoints"
"""The stage inside which others run; it is named in front of theirs."""

WIDEST = 40
"""Columns of the bar itself."""

PER = (("s", 1), ("min", 60), ("h", 3600))


class DrawnBar:
    """Draws the stage that reported last, and goes when the work is done."""

    def __init__(self, console: Console, unit: str) -> None:
        self._clock = console.get_time
        self._created = self._clock()
        self._stages = Stages(unit)
        self._lock = threading.Lock()
        # A second lock, as drawing asks for the first: starting inside that would wait for itself.
        self._starting = threading.Lock()
        self._shown = False
        self._ended = False
        # Results may be printed while a bar is there; they belong on standard output.
        self._live = Live(
            console=console,
            get_renderable=self.drawn,
            transient=True,
            refresh_per_second=10,
            redirect_stdout=False,
        )

    def report(self, stage: str, done: int, total: int | None) -> None:
        """Take note; the bar is drawn ten times a second, however often this is called."""
        now = self._clock()
        with self._lock:
            self._stages.take(stage, done, total, now)
        if not self._shown and now - self._created >= PATIENCE:
            self._show()

    def end(self) -> None:
        """Take the bar away."""
        with self._starting, suppress(OSError):  # a terminal may be gone before the work is done
            self._ended = True
            self._live.stop()

    def _show(self) -> None:
        with self._starting, suppress(OSError):
            if not self._shown and not self._ended:
                self._shown = True
                self._live.start(refresh=True)

    def drawn(self) -> Table | str:
        """Lay out the bar of the running stage."""
        with self._lock:
            stage, around = self._stages.running, self._stages.find(AROUND)
            if stage is None:
                return ""
            line = Table.grid(padding=(0, 1))
            for width in (None, WIDEST, None, None, None):
                line.add_column(no_wrap=width is None, max_width=width)
            inside = around is not None and around is not stage and not around.finished
            line.add_row(
                Text(f"{around.name} {counted(around)} · " if around and inside else "")
                + Text(stage.name),
                ProgressBar(total=stage.total, completed=stage.done),
                Text(counted(stage)),
                Text("" if stage.rate is None else rate_text(stage.rate, label(stage))),
                Text(time_left(stage)),
            )
            return line


def label(stage: Stage) -> str:
    """Name what a stage counts, unless its own name does."""
    return "" if stage.unit == stage.name else stage.unit


def counted(stage: Stage) -> str:
    """Say how much is done: ``12,345 of 1,000,000 rows``."""
    of = "" if stage.total is None else f" of {stage.total:,}"
    return f"{stage.done:,}{of} {label(stage)}".rstrip()


def time_left(stage: Stage) -> str:
    """Say how long it will take: ``0:01:20 left``; nothing where that is not known."""
    if stage.finished:
        return "done"
    if stage.seconds_left is None:
        return ""
    minutes, seconds = divmod(round(stage.seconds_left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,}:{minutes:02}:{seconds:02} left"


def rate_text(rate: float, unit: str) -> str:
    """Say how fast it goes: ``1,234 rows/s``; what is slower than one a second, by a longer time.

    >>> rate_text(1234.5, "rows"), rate_text(0.05, "steps"), rate_text(0.001, "")
    ('1,234 rows/s', '3 steps/min', '3.6/h')
    """
    time, seconds = next((one for one in PER if rate * one[1] >= 1), PER[-1])
    return f"{short(rate * seconds)}{unit and ' '}{unit}/{time}"


def short(number: float) -> str:
    """Write a number with three digits or a few more.

    >>> [short(n) for n in (0.25, 12.34, 1234.5, 12_345, 999_999, 2.5e9)]
    ['0.25', '12.3', '1,234', '12.3k', '1M', '2.5G']
    """
    if 100 <= number < 10_000:
        return f"{number:,.0f}"
    rounded = float(f"{number:.3g}")  # before a letter is chosen: 999,999 are a million
    for letter, one in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rounded >= one:
            return f"{rounded / one:g}{letter}"
    return f"{rounded:g}"
