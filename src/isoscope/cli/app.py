"""The command line's frame: commands, errors, exit codes.

0 is success, 1 bad data or a failed run, 2 a wrong call, 3 a ``--fail-if`` that came true.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from typing import Annotated

import typer

from isoscope.cli import advise, diff, evaluate, explain, explore, profile, threshold
from isoscope.cli.command_line import without_secrets
from isoscope.cli.correct import correct_app
from isoscope.cli.listing import list_app
from isoscope.cli.measure import measure_command
from isoscope.cli.output import silence_stdout
from isoscope.cli.report import REPORT_EXAMPLES, report_command
from isoscope.cli.study import study_app
from isoscope.cli.train import train_app
from isoscope.errors import IsoscopeError
from isoscope.version import __version__

INTERRUPTED = 130

WrongCall: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)
"""What a wrong option raises; newer releases of typer bring a click of their own."""

app = typer.Typer(
    name="isoscope",
    help="How evenly do embeddings fill their space, why not, and what does it cost?",
    pretty_exceptions_enable=False,
    add_completion=False,
    epilog="Try it on real vectors: isoscope measure package:glove",
)


EXAMPLES = """Examples:

isoscope measure package:glove

isoscope measure vectors.npy --corrections none,center --json

isoscope measure model.safetensors --column embed.weight --fail-if "mean_cosine>0.6"
"""


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


app.command("measure", rich_help_panel="Everyday", epilog=EXAMPLES)(measure_command)
app.command("profile", rich_help_panel="Everyday", epilog=profile.EXAMPLES)(profile.profile_command)
app.command("evaluate", rich_help_panel="Everyday", epilog=evaluate.EXAMPLES)(
    evaluate.evaluate_command
)
app.command("advise", rich_help_panel="Everyday", epilog=advise.EXAMPLES)(advise.advise_command)
app.command("explain", rich_help_panel="Everyday", epilog=explain.EXAMPLES)(explain.explain_command)
app.command("explore", rich_help_panel="Everyday", epilog=explore.EXAMPLES)(explore.explore_command)
app.command("threshold", rich_help_panel="Everyday", epilog=threshold.EXAMPLES)(
    threshold.threshold_command
)
app.command("diff", rich_help_panel="Everyday", epilog=diff.EXAMPLES)(diff.diff_command)
app.add_typer(correct_app, name="correct", rich_help_panel="Everyday")
app.add_typer(list_app, name="list", rich_help_panel="Everyday")
app.command("report", rich_help_panel="Research", epilog=REPORT_EXAMPLES)(report_command)
app.add_typer(train_app, name="train", rich_help_panel="Research")
app.add_typer(study_app, name="study", rich_help_panel="Research")


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
        silence_stdout()
        message = f"the output cannot be written: {error.strerror or error}"
    elif isinstance(error, MemoryError):
        message = f"not enough memory: {error}"
    print(f"isoscope: {' '.join(without_secrets(message).split())}", file=sys.stderr)
    return int(code)
