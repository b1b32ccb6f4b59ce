"""Progress on standard error: a bar for people, lines of JSON for programs, or nothing.

Both show how far and how fast the stages of a run go, from what they report.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Literal

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from isoscope.cli.streams import PatientConsole, error_console, silence
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from isoscope.progress import Progress as Report

    Kind = Literal["first", "between", "last"]


# What stages count that do not count what their command counts.
UNITS = {
    "checkpoints": "checkpoints",
    "compare queries and documents": "spaces",
    "compare random pairs": "spaces",
    "counting texts": "texts",
    "position probes": "layers",
    "sentences": "sentences",
    "texts": "texts",
    "try corrections": "fits",
}

# Seconds over which a rate is taken.
STRETCH = 30.0

# Seconds between the points that a rate is taken from: reports come much faster.
SPACING = 0.5

# Points that are kept however old they are, for stages that report every few minutes.
FEWEST = 3

# Seconds in which a thread's report may be overtaken by another's.
LATE = 1.0


class Stage:
    """One stage of a run: ``done`` of ``total`` since its first report.

    A resumed stage begins far above zero, so that its rate counts from the first report:
    (done − done then) / (time − time then), over the last half minute.
    """

    def __init__(self, name: str, unit: str, done: int, total: int | None, now: float) -> None:
        self.name, self.unit = name, unit
        self.first, self.began = done, now
        self.done, self.total, self.moved = done, total, now
        self.fresh = True
        self._points = deque([(now, done)])

    def move(self, done: int, total: int | None, now: float) -> None:
        """Go on to a higher count."""
        self.done, self.total, self.moved, self.fresh = done, total, now, False
        if now - self._points[-1][0] >= SPACING:
            self._points.append((now, done))
        while len(self._points) > FEWEST and self._points[1][0] <= now - STRETCH:
            self._points.popleft()

    @property
    def finished(self) -> bool:
        """Whether all is done; a stage without a total never says so."""
        return self.total is not None and self.done >= self.total

    @property
    def elapsed(self) -> float:
        """Seconds from the first report to the last."""
        return self.moved - self.began

    @property
    def rate(self) -> float | None:
        """Counts per second; None before two reports at different times."""
        when, done = self._points[0]
        return (self.done - done) / (self.moved - when) if self.moved > when else None

    @property
    def seconds_left(self) -> float | None:
        """What is left, at this rate; None where the total or the rate is not known."""
        if self.total is None:
            return None
        if self.finished:
            return 0.0
        return (self.total - self.done) / self.rate if self.rate else None


class Stages:
    """The stages of a run by name; those without a unit of their own count ``unit``."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._known: dict[str, Stage] = {}
        self.running: Stage | None = None

    def find(self, name: str) -> Stage | None:
        """Return the stage of this name, if it has begun."""
        return self._known.get(name)

    def take(self, name: str, done: int, total: int | None, now: float) -> Stage | None:
        """Return the stage after a report, or None where the report says nothing new."""
        stage = self._known.get(name)
        if stage is None or self._begins_again(stage, done, total, now):
            stage = Stage(name, UNITS.get(name, self._unit), done, total, now)
            self._known[name] = stage
        elif done < stage.done or (done, total) == (stage.done, stage.total):
            return None
        else:
            stage.move(done, total, now)
        self.running = stage
        return stage

    def _begins_again(self, stage: Stage, done: int, total: int | None, now: float) -> bool:
        """Tell the same stage of the next cloud from a report that another thread overtook."""
        if done < stage.done:
            return done <= stage.first or total != stage.total or now - stage.moved >= LATE
        if not stage.finished:
            return False
        return total != stage.total or (done == stage.done and self.running is not stage)


# Seconds before a bar appears: short work needs none.
PATIENCE = 1.0

# The stage inside which others run; it is named in front of theirs.
AROUND = "checkpoints"

# Columns of the bar itself.
WIDEST = 40

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


# Seconds between two lines of a stage.
PAUSE = 1.0


class ProgressLines:
    """Writes a JSON object a line: the first and the last of every stage, and one a second.

    Stages that begin and end many times a second have one first and one last line a second.
    """

    def __init__(self, stream: IO[str], unit: str, clock: Callable[[], float]) -> None:
        self._stream, self._clock = stream, clock
        self._stages = Stages(unit)
        self._due: dict[tuple[str, Kind], float] = {}
        self._unsaid: dict[str, Stage] = {}
        self._ended = False
        self._lock = threading.Lock()

    def report(self, stage: str, done: int, total: int | None) -> None:
        """Write a line where one is due."""
        with self._lock:
            if self._ended:
                return
            now = self._clock()
            moved = self._stages.take(stage, done, total, now)
            if moved is None:
                return
            if moved.fresh:
                for other in list(self._unsaid.values()):
                    self._say(other, "last", now)
            kind: Kind = "first" if moved.fresh else "between"
            self._say(moved, "last" if moved.finished else kind, now)

    def end(self) -> None:
        """Write how far stages came that have not said so."""
        with self._lock:
            self._ended = True
            for stage in self._unsaid.values():
                self._write(stage)

    def _say(self, stage: Stage, kind: Kind, now: float) -> None:
        """Write a line, or keep it for later where one of its kind was written just now."""
        if now < self._due.get((stage.name, kind), now):
            self._unsaid[stage.name] = stage
            return
        self._unsaid.pop(stage.name, None)
        self._due[stage.name, kind] = self._due[stage.name, "between"] = now + PAUSE
        self._write(stage)

    def _write(self, stage: Stage) -> None:
        """Write where a stage is; nobody who listens is no reason to stop the run."""
        rate, left = stage.rate, stage.seconds_left
        facts = {
            "progress": stage.name,
            "done": int(stage.done),  # numpy's numbers are none of JSON's
            "total": None if stage.total is None else int(stage.total),
            "unit": stage.unit or None,
            "rate": None if rate is None else float(f"{rate:.4g}"),
            "seconds_left": None if left is None else round(left, 1),
            "elapsed": round(stage.elapsed, 1),
        }
        try:
            self._stream.write(f"{json.dumps(facts)}\n")
            self._stream.flush()
        except BrokenPipeError:
            silence(self._stream)
        except (OSError, ValueError):
            pass  # a full disk, or a stream that was closed


# ``auto`` is a bar on a terminal and nothing elsewhere.
Mode = Literal["auto", "bar", "lines", "none"]

MODES: tuple[Mode, ...] = ("auto", "bar", "lines", "none")

VARIABLE = "ISOSCOPE_PROGRESS"


@contextmanager
def progress_bar(
    console: Console | None = None,
    unit: str = "rows",
    *,
    quiet: bool = False,
    mode: Mode | None = None,
) -> Iterator[Report | None]:
    """Give out a callback that shows progress, or None where nothing is to be shown.

    It may be called from several threads, and as often as they like.

    Parameters
    ----------
    console : Console, optional
        Where the bar or the lines go. Default: standard error.
    unit : str, default "rows"
        What stages count, but for those that are known to count something else.
    quiet : bool, default False
        Show nothing, whatever the environment says.
    mode : {"auto", "bar", "lines", "none"}, optional
        Default: what the environment variable ISOSCOPE_PROGRESS says, or ``auto``.
    """
    console = console or error_console()
    chosen = chosen_mode(mode, quiet=quiet)
    if chosen == "none" or (chosen == "auto" and not console.is_terminal):
        yield None
        return
    shown = (
        ProgressLines(console.file, unit, console.get_time)
        if chosen == "lines"
        else DrawnBar(console if console.is_terminal else as_terminal(console), unit)
    )
    try:
        yield shown.report
    finally:
        shown.end()


def chosen_mode(mode: Mode | None, *, quiet: bool) -> Mode:
    """Return what to show; an option counts more than the environment, and ``--quiet`` most."""
    if quiet:
        if mode in ("bar", "lines"):
            raise UsageError(f"--quiet shows no progress, --progress {mode} does; leave one out")
        return "none"
    if mode is not None:
        return mode
    asked = os.environ.get(VARIABLE) or "auto"
    if asked in MODES:
        return asked
    raise UsageError(f"{VARIABLE} is {asked!r}; write {', '.join(MODES[:-1])} or {MODES[-1]}")


def as_terminal(console: Console) -> Console:
    """Return a console that writes to the same file as if it were a terminal."""
    return PatientConsole(
        file=console.file, force_terminal=True, width=console.width, get_time=console.get_time
    )
