"""The command line's frame: commands, errors, exit codes.

0 is success, 1 bad data or a failed run, 2 a wrong call, 3 a ``--fail-if`` that came true.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from isoscope.cli.listing import list_app
from isoscope.cli.measure import measure_command
from isoscope.errors import IsoscopeError
from isoscope.version import __version__

app = typer.Typer(
    name="isoscope",
    help="How evenly do embeddings fill their space, why not, and what does it cost?",
    no_args_is_help=True,
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


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""
    del version


app.command("measure", rich_help_panel="Everyday", epilog=EXAMPLES)(measure_command)
app.add_typer(list_app, name="list", rich_help_panel="Everyday")


def main() -> None:
    """Run the command line; every expected error is one line on standard error."""
    try:
        app()
    except IsoscopeError as error:
        if "--debug" in sys.argv:
            raise
        print(f"isoscope: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("isoscope: interrupted", file=sys.stderr)
        sys.exit(130)
    except MemoryError as error:
        if "--debug" in sys.argv:
            raise
        print(f"isoscope: not enough memory: {error}", file=sys.stderr)
        sys.exit(1)
