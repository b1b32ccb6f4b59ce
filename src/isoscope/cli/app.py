"""The command line's frame: commands, errors, exit codes.

0 is success, 1 bad data or a failed run, 2 a wrong call, 3 a ``--fail-if`` that came true, 124 a
``--timeout`` that passed, and 128 plus its number for a signal that ended the run.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer.main

from isoscope.cli.streams import (
    ignore_narrow_columns,
    occupy_closed_streams,
    silence,
    without_keywords,
    without_secrets,
)
from isoscope.cli.values import use_plain_values, with_plain_values
from isoscope.errors import IsoscopeError, unknown_name
from isoscope.registry import load
from isoscope.version import __version__

INTERRUPTED = 130

# Signals that end a run as Ctrl-C does, where this system has them.
ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)

# What a wrong option raises; newer releases of typer bring a click of their own.
WrongCall: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)

EVERYDAY = {
    "measure": "Measure how evenly vectors fill their space.",
    "profile": "Measure the layers of a transformer over texts, or its weights.",
    "evaluate": "Score vectors or models on benchmarks, with and without corrections.",
    "advise": "Find out which correction helps on your task, if any.",
    "explain": "Find out why a space is unevenly filled.",
    "explore": "Explore vectors on a local page.",
    "threshold": "Find out what a cosine means here, and which threshold to use.",
    "diff": "Compare two clouds: may B use A's correction and threshold?",
    "correct": "Fit a correction, apply it to files, or update it.",
    "verify": "Check that a result, a correction or a journal is unchanged.",
    "list": "List measures, corrections and tasks.",
    "doctor": "Check the installation: extras, data, caches, memory.",
    "completion": "Print shell completion for bash, zsh or fish.",
}
RESEARCH = {
    "report": "Combine results into a table or a page.",
    "train": "Train models with isotropy in the loss, or small ones from scratch.",
    "study": "Run an experiment of a paper on your own models.",
}

# Summaries of all commands by the panel of the help that lists them, in its order.
#
# They are written here, as well as in the rooms, so that the help loads none of them.
PANELS = {"Everyday": EVERYDAY, "Research": RESEARCH}

COMMANDS = {**EVERYDAY, **RESEARCH}
NOT_A_ROOM = {
    "list": "isoscope.cli.catalogue",
    "doctor": "isoscope.cli.doctor",
    "completion": "isoscope.cli.completion",
}


@cache
def loaded(name: str) -> Any:
    """Return a command as typer makes it of the function, or of the group, in its room."""
    room = import_module(NOT_A_ROOM.get(name, f"isoscope.verbs.{name}.cli"))
    group = getattr(room, f"{name}_app", None)
    if group is None:
        group = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        group.command(name, epilog=room.EXAMPLES)(getattr(room, f"{name}_command"))
    command = use_plain_values(typer.main.get_command(group))
    return use_plain_help(command)


def use_plain_help(command: Any) -> Any:
    """Give a command, and all commands below it, our help, which is loaded when it is asked for."""
    command.get_help = lambda context: load("isoscope.cli.help:help_text")(command, context)
    for one in getattr(command, "commands", {}).values():
        use_plain_help(one)
    return command


class LazyGroup(typer.core.TyperGroup):
    """Commands that are imported when they are called, and not to be listed."""

    def get_help(self, ctx: Any) -> str:
        """Return the help, which lists commands that are not loaded."""
        text: str = load("isoscope.cli.help:help_text")(self, ctx)
        return text

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **rest: Any) -> Any:
        """Refuse unknown commands before typer loads what it reads the options of known ones by."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise unknown_name("command", args[0], COMMANDS)
        return super().make_context(info_name, args or ["--help"], *more, **rest)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options that stand before a command."""
        return with_plain_values(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find a command by its name, and load it."""
        name, known, rest = super().resolve_command(ctx, args)
        return name, known if name is None else loaded(name), rest


app = typer.Typer(
    name="isoscope",
    cls=LazyGroup,
    help="How evenly do embeddings fill their space, why not, and what does it cost?",
    pretty_exceptions_enable=False,
    add_completion=False,
    epilog="Try it on real vectors: isoscope measure package:glove",
)


def show_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        typer.echo(f"isoscope {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command; without one, help."""
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _panel, _commands in PANELS.items():
    for _name, _summary in _commands.items():  # which the help lists
        app.command(_name, rich_help_panel=_panel, help=_summary)(lambda: None)


def end_as_interrupted() -> list[int]:
    """Let SIGTERM and SIGHUP clean up as Ctrl-C does; the list gets the one that came.

    Python's own way is to end at once, and to leave temporary files and a locked journal behind.
    """
    received: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        del frame
        received.append(number)
        if len(received) == 1:  # the second of an impatient supervisor must not stop the clean-up
            raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()  # no other may set a handler
    for number in ENDING_SIGNALS if here else ():
        if signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP, and is to be obeyed
            signal.signal(number, interrupt)
    return received


def main() -> None:
    """Run the command line; every expected error is one line on standard error."""
    received = end_as_interrupted()
    occupy_closed_streams()
    ignore_narrow_columns()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≤ or ‖ shows ? instead
    try:
        code = app(standalone_mode=False, prog_name="isoscope")
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except (IsoscopeError, WrongCall, OSError, MemoryError) as error:
        code = report(error)
    if code == INTERRUPTED:  # which typer makes of Ctrl-C
        end_interrupted(received)
    sys.exit(code)


def end_interrupted(received: list[int]) -> NoReturn:
    """Say in one line what ended the run, and end the process."""
    clock = sys.modules.get("isoscope.cli.deadline")
    late = None if clock is None else clock.passed()
    if received:
        ending, code = f"ended by {signal.Signals(received[0]).name}", 128 + received[0]
    elif clock is not None and late is not None:
        ending, code = str(late), clock.TIMED_OUT
    else:
        ending, code = "interrupted", INTERRUPTED
    kept = "" if clock is None else clock.kept_journal()
    with suppress(OSError, ValueError):  # the terminal may be gone
        print(f"isoscope: {ending}{kept}", file=sys.stderr, flush=True)
    output = sys.modules.get("isoscope.data.output")
    if output is not None:  # or nothing was written
        output.remove_temporary_files()
    # Not sys.exit: leaving politely waits for BLAS threads that may be in the middle of a
    # long decomposition, and some builds of BLAS never answer.
    os._exit(code)


def report(error: Exception) -> int:
    """Say what went wrong and return the exit code."""
    if "--debug" in sys.argv:
        print(without_secrets(traceback.format_exc()), file=sys.stderr, end="")
    code = getattr(error, "exit_code", 1)
    message = str(error.format_message() if hasattr(error, "format_message") else error)
    if isinstance(error, WrongCall):
        # By name, as few calls are wrong.
        message = load("isoscope.cli.wrong_calls:in_our_words")(error, message, sys.argv[1:])
    if isinstance(error, OSError):
        silence(sys.stdout)
        message = f"the output cannot be written: {error.strerror or error}"
    elif isinstance(error, MemoryError):
        message = f"not enough memory: {error}"
    text = without_keywords(" ".join(without_secrets(message).split()))
    print(f"isoscope: {text}", file=sys.stderr)
    return int(code)
