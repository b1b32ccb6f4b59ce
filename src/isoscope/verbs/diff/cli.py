"""``isoscope diff``: two clouds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running

about_rows = partial(typer.Option, rich_help_panel="The rows")
about_reuse = partial(typer.Option, rich_help_panel="What is kept")
about_texts = partial(typer.Option, rich_help_panel=options.OF_TEXTS)

EXAMPLES = """Examples:

isoscope diff last-month.npy this-month.npy --other-rows

isoscope diff old.parquet new.parquet --ids id --documents url

isoscope diff queries.npy documents.npy --correction correction.safetensors --threshold 0.8

isoscope diff package:minilm package:minilm --layer-b "block 3" --text sentences.txt
"""


@dataclass(frozen=True, kw_only=True)
class DiffOptions(options.Options):
    """What ``isoscope diff`` takes."""

    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A file of vectors, as isoscope measure takes them; a model with --text.",
            show_default=False,
        ),
    ]
    b: Annotated[
        str, typer.Argument(metavar="B", help="What A is compared with.", show_default=False)
    ]
    same_rows: Annotated[
        bool | None,
        about_rows(
            "--same-rows/--other-rows",
            help="Row i of both is one thing seen twice, or rows have nothing to do with each "
            "other. Default: the same ids, or as many rows, are the same rows.",
        ),
    ] = None
    ids: Annotated[
        str | None,
        about_rows(
            metavar="LABEL", help="Label that names rows. Default: id, word, or the only one."
        ),
    ] = None
    documents: Annotated[
        str | None,
        about_rows(
            metavar="LABEL",
            help="Label that tells which rows are from one document; tests and intervals allow "
            "for it. Default: document, where rows have it.",
        ),
    ] = None
    k: Annotated[
        int, typer.Option("--k", help="Neighbours of each row, for the same rows.", min=1)
    ] = 10
    correction: Annotated[
        Path | None,
        about_reuse(
            help="A correction fitted on A (.safetensors). Default: centring and whitening are "
            "fitted."
        ),
    ] = None
    threshold: Annotated[
        float | None,
        about_reuse(
            help="Cosine from which on rows count as related, after --correction where that is "
            "given. Default: the one that 1 % of A's random pairs exceed."
        ),
    ] = None
    text: Annotated[
        str | None,
        about_texts(
            help="Texts that A and B, which are models, both read: .txt .jsonl .csv .tsv .parquet."
        ),
    ] = None
    layer: Annotated[str, about_texts(help="Layer of the models.")] = "last"
    layer_b: Annotated[str | None, about_texts(help="Layer of B, where it is another.")] = None
    encoding: options.Encoding
    column: options.Column = None
    column_b: Annotated[str | None, typer.Option(help="The same for B, where it is another.")] = (
        None
    )
    sample: Annotated[
        int,
        typer.Option(help="Most rows of each that are compared with each other.", min=50),
    ] = 10_000
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
