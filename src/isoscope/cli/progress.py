"""Progress on standard error: a bar for people, lines for programs, or nothing."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from rich.console import Console

from isoscope.cli.progress_drawing import DrawnBar
from isoscope.cli.progress_lines import ProgressLines, silence
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.compute.stage import Progress as Report


Mode = Literal["auto", "bar", "lines", "none"]
"""``auto`` is a bar on a terminal and nothing elsewhere."""

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
    console = console or Console(stderr=True)
    chosen = chosen_mode(mode, quiet=quiet)
    if chosen == "none" or (chosen == "auto" and not console.is_terminal):
        yield None
        return
    shown: DrawnBar | ProgressLines
    if chosen == "lines":
        shown = ProgressLines(console.file, unit, console.get_time)
    else:
        shown = DrawnBar(console if console.is_terminal else as_terminal(console), unit)
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
    for known in MODES:
        if asked == known:
            return known
    raise UsageError(f"{VARIABLE} is {asked!r}; write {', '.join(MODES[:-1])} or {MODES[-1]}")


class PipedConsole(Console):
    """A console for a bar that was asked for where no terminal is."""

    def on_broken_pipe(self) -> None:
        """Go on without the bar; rich would close standard output and leave."""
        self.quiet = True
        silence(self.file)


def as_terminal(console: Console) -> Console:
    """Return a console that writes to the same file as if it were a terminal."""
    return PipedConsole(
        file=console.file, force_terminal=True, width=console.width, get_time=console.get_time
    )
