"""The command line's frame: commands, errors, exit codes.

0 is success, 1 bad data or a failed run, 2 a wrong call, 3 a ``--fail-if`` that came true.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer.main

from isoscope.cli.streams import silence, without_secrets
from isoscope.errors import IsoscopeError
from isoscope.version import __version__

INTERRUPTED = 130

WrongCall: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)
"""What a wrong option raises; newer releases of typer bring a click of their own."""

EVERYDAY, RESEARCH = "Everyday", "Research"


class Command(NamedTuple):
    """A command that is loaded when it is called: where it is, its panel, and its summary."""

    place: str
    panel: str
    summary: str


COMMANDS = {
    "measure": Command(
        "isoscope.verbs.measure.cli:measure_command",
        EVERYDAY,
        "Measure how evenly a cloud of vectors fills its space, and what corrections would change.",
    ),
    "profile": Command(
        "isoscope.verbs.profile.cli:profile_command",
        EVERYDAY,
        "Look inside transformers: every layer over a text in one pass, or the weights alone.",
    ),
    "evaluate": Command(
        "isoscope.verbs.evaluate.cli:evaluate_command",
        EVERYDAY,
        "Score word vectors, or the layers of a model, on benchmarks, as they are and corrected.",
    ),
    "advise": Command(
        "isoscope.verbs.advise.cli:advise_command",
        EVERYDAY,
        "Try every correction on your task, cross-fitted, and say what to do, if anything.",
    ),
    "explain": Command(
        "isoscope.verbs.explain.cli:explain_command",
        EVERYDAY,
        "Say why a space is filled as it is: frequency, position, norms, outliers, senses, style.",
    ),
    "explore": Command(
        "isoscope.verbs.explore.cli:explore_command",
        EVERYDAY,
        "Look at vectors on a local page: corrections and layers live, neighbours before and "
        "after.",
    ),
    "threshold": Command(
        "isoscope.verbs.threshold.cli:threshold_command",
        EVERYDAY,
        "Say what a score means: among random pairs and, with labels, for matches.",
    ),
    "diff": Command(
        "isoscope.verbs.diff.cli:diff_command",
        EVERYDAY,
        "Compare two clouds: the same rows or others, and what of A may be kept for B.",
    ),
    "correct": Command(
        "isoscope.verbs.correct.cli:correct_app",
        EVERYDAY,
        "Fit a correction, apply it to files, take new vectors into it.",
    ),
    "list": Command(
        "isoscope.cli.catalogue:list_app", EVERYDAY, "Show what there is to choose from."
    ),
    "report": Command(
        "isoscope.verbs.report.cli:report_command",
        RESEARCH,
        "Show several results as one table, for a page or a paper; or as one page of pictures.",
    ),
    "train": Command(
        "isoscope.verbs.train.cli:train_app",
        RESEARCH,
        "Train models: with isotropy as part of the loss, or from nothing.",
    ),
    "study": Command(
        "isoscope.verbs.study.cli:study_app",
        RESEARCH,
        "Run an experiment of a paper on models of your own.",
    ),
}
"""Every command, in the order of the help. A room's ``cli`` is known here and nowhere else."""


@cache
def loaded(name: str) -> Any:
    """Return a command as typer makes it of the function, or of the group, in its room."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    room = import_module(module)
    found = getattr(room, attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
        single.command(name, epilog=room.EXAMPLES)(found)
        found = single
    return typer.main.get_command(found)


class LazyGroup(typer.core.TyperGroup):
    """Commands that are imported when they are called, and not to be listed."""

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
    """Print the version and leave."""
    if wanted:
        typer.echo(f"isoscope {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command; without one, help."""
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _name, _command in COMMANDS.items():  # which the help lists
    app.command(_name, rich_help_panel=_command.panel, help=_command.summary)(lambda: None)


def main() -> None:
    """Run the command line; every expected error is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≤ or ‖ shows ? instead
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except (IsoscopeError, WrongCall, OSError, MemoryError) as error:
        code = report(error)
    if code == INTERRUPTED:  # which typer makes of Ctrl-C
        print("isoscope: interrupted", file=sys.stderr, flush=True)
        # Not sys.exit: leaving politely waits for BLAS threads that may be in the middle of a
        # long decomposition, and some builds of BLAS never answer.
        os._exit(code)
    sys.exit(code)


def report(error: Exception) -> int:
    """Say what went wrong and return the exit code."""
    if "--debug" in sys.argv:
        print(without_secrets(traceback.format_exc()), file=sys.stderr, end="")
    code = getattr(error, "exit_code", 1)
    message = str(error.format_message() if hasattr(error, "format_message") else error)
    if isinstance(error, OSError):
        silence(sys.stdout)
        message = f"the output cannot be written: {error.strerror or error}"
    elif isinstance(error, MemoryError):
        message = f"not enough memory: {error}"
    print(f"isoscope: {' '.join(without_secrets(message).split())}", file=sys.stderr)
    return int(code)
