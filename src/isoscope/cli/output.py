"""Standard output, which may be a pipe that somebody closed."""

from __future__ import annotations

import os
import sys

from rich.console import Console


def silence_stdout() -> None:
    """Send what is still to be written nowhere, so that leaving does not fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class PatientConsole(Console):
    """A console for which a closed pipe is no reason to stop: a gate is still to be judged."""

    def on_broken_pipe(self) -> None:
        """Go on in silence."""
        self.quiet = True
        silence_stdout()


def console() -> PatientConsole:
    """Return a console that prints text as it is."""
    return PatientConsole(highlight=False, markup=False, emoji=False)
