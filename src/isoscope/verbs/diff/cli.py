"""``isoscope diff``: two clouds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running

ROWS = "The rows"
KEEPING = "What is kept"

EXAMPLES = """Examples:

isoscope diff last-month.npy this-month.npy --other-rows

isoscope diff old.parquet new.parquet --ids id --documents url

isoscope diff queries.npy documents.npy --correction correction.safetensors --threshold 0.8

isoscope diff package:minilm package:minilm --layer-b "block 3" --text sentences.txt
"""


@dataclass(frozen=True, kw_only=True)
class DiffOptions(options.Options):
    """What ``isoscope diff`` takes."""

    a: str = options.argument(
        "A", "A file of vectors, as isoscope measure takes them; a model with --text."
    )
    b: str = options.argument("B", "What A is compared with.")
    same_rows: bool | None = options.option(
        None,
        "Row i of both is one thing seen twice, or rows have nothing to do with each other. "
        "Default: the same ids are the same rows; without ids the vectors decide.",
        "--same-rows/--other-rows",
        panel=ROWS,
    )
    ids: str | None = options.option(
        None,
        "Label that names rows. Default: id, word, or the only one.",
        metavar="LABEL",
        panel=ROWS,
    )
    documents: str | None = options.option(
        None,
        "Label that tells which rows are from one document; tests and intervals allow for it. "
        "Default: document, where rows have it.",
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
        "Cosine from which on rows count as related, after --correction where that is given. "
        "Default: the one that 1 % of A's random pairs exceed.",
        panel=KEEPING,
    )
    text: str | None = options.option(
        None,
        "Texts that A and B, which are models, both read: .txt .jsonl .csv .tsv .parquet.",
        panel=options.OF_TEXTS,
    )
    layer: str = options.option("last", "Layer of the models.", panel=options.OF_TEXTS)
    layer_b: str | None = options.option(
        None, "Layer of B, where it is another.", panel=options.OF_TEXTS
    )
    encoding: options.Encoding
    column: options.Column = None
    column_b: str | None = options.option(None, "The same for B, where it is another.")
    sample: int = options.option(
        10_000, "Most rows of each that are compared with each other.", min=50
    )
    seed: options.Seed = 0
    drop_invalid: options.DropInvalid = False
    output: options.Output
    debug: options.Debug = False


@options.command
def diff_command(given: DiffOptions) -> None:
    """Compare two clouds: the same rows or others, and what of A may be kept for B."""
    with running() as run:
        result = isoscope.diff(**given.arguments(), **run)
    give(result, given.output, given.output.out)
