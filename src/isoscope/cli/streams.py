"""Standard output and standard error: pipes that somebody closed, warnings, no passwords."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment

from isoscope.data.location import ADDRESS, redacted, redacted_argument
from isoscope.wording import STEERING, visible


def silence(stream: IO[str]) -> None:
    """Send what is still to be written nowhere, so that leaving does not fail once more."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def occupy_closed_streams() -> None:
    """Let streams that were closed by whoever started this process lead nowhere.

    Python has None in their place, and the next file that is opened would get the number of the
    stream: what a library prints would then go into that file. Standard input stays None, so that
    whoever reads it can say that it is closed.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


# Columns below which no table can be read; rich prints nothing at all on a screen of none.
NARROWEST = 20


def ignore_narrow_columns() -> None:
    """Forget a width of the terminal that makes no sense, such as ``COLUMNS=0``."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and len(columns) < 9 and int(columns) < NARROWEST:
        del os.environ["COLUMNS"]


class PatientConsole(Console):
    """A console for which a closed pipe is no reason to stop: a gate is still to be judged.

    What is printed may hold names out of files, which must not steer the terminal.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render, with signs in the place of control characters that are not rich's own."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Go on in silence; rich would close standard output and leave."""
        self.quiet = True
        silence(self.file)


def console() -> PatientConsole:
    """Return a console that prints text as it is."""
    return PatientConsole(highlight=False, markup=False, emoji=False)


def error_console() -> Console:
    """Return a console on standard error that prints text as it is."""
    return PatientConsole(stderr=True, emoji=False, markup=False)


def indented(screen: Console, text: str, style: str = "") -> None:
    """Print text with room before it."""
    screen.print(Padding(text, (0, 0, 0, 4), expand=False), style=style)


def print_text(text: str) -> None:
    """Print text, unless nobody listens any more.

    Control characters are written as JSON writes them: what is printed may be JSON.
    """
    safe = STEERING.sub(lambda one: f"\\u{ord(one[0]):04x}", text)
    try:
        print(safe, flush=True)
    except BrokenPipeError:
        silence(sys.stdout)


def print_facts(facts: Any) -> None:
    """Print plain data as JSON."""
    print_text(json.dumps(facts, indent=2, ensure_ascii=False))


def command_line() -> str:
    """Return the command that runs, for results."""
    return shlex.join(["isoscope", *map(redacted_argument, sys.argv[1:])])


def without_secrets(text: str) -> str:
    """Return a message in which addresses of the command stand as results would keep them."""
    for argument in sys.argv[1:]:
        found = ADDRESS.search(argument)
        if found is not None:
            address = argument[found.start() :]
            text = text.replace(address, redacted(address))
    return text


# An option and, in parentheses, the keyword of Python that does the same.
OPTION_AND_KEYWORD = re.compile(r"(--[a-z-]+) \([a-z_]+=[A-Za-z]*\)")


def without_keywords(text: str) -> str:
    """Return a message for the command line, where only the option is of use.

    Examples
    --------
    >>> without_keywords("exclude them with --drop-invalid (drop_invalid=True)")
    'exclude them with --drop-invalid'
    """
    return OPTION_AND_KEYWORD.sub(r"\1", text)


@contextmanager
def plain_warnings(*, quiet: bool = False) -> Iterator[None]:
    """Print warnings as errors are printed, without the place in the code, or none at all."""
    with warnings.catch_warnings():
        warnings.showwarning = print_warning
        if quiet:
            warnings.simplefilter("ignore")
        yield


def print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning in one line; the arguments are those that Python gives."""
    del category, filename, lineno, line
    text = without_keywords(visible(" ".join(str(message).split())))
    print(f"isoscope: warning: {text}", file=file or sys.stderr)
