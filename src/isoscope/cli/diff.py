"""``isoscope diff``: two clouds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoscope.cli import options
from isoscope.cli.command_line import command_line
from isoscope.cli.measure import give_out
from isoscope.cli.pictures import pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import plain_warnings
from isoscope.results.files import check_writable

ROWS = "The rows"
KEEPING = "What is kept"

EXAMPLES = """Examples:

isoscope diff last-month.npy this-month.npy --other-rows

isoscope diff old.parquet new.parquet --ids id --documents url

isoscope diff queries.npy documents.npy --correction correction.safetensors --threshold 0.8

isoscope diff package:minilm package:minilm --layer-b "block 3" --text sentences.txt
"""


def diff_command(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A file of vectors, as isoscope measure takes them; a model with --text.",
            show_default=False,
        ),
    ],
    b: Annotated[
        str, typer.Argument(metavar="B", help="What A is compared with.", show_default=False)
    ],
    same_rows: Annotated[
        bool | None,
        typer.Option(
            "--same-rows/--other-rows",
            help="Row i of both is one thing seen twice, or rows have nothing to do with each "
            "other. Default: the same ids, or as many rows, are the same rows.",
            rich_help_panel=ROWS,
        ),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Label that names rows. Default: id, word, or the only one.",
            rich_help_panel=ROWS,
        ),
    ] = None,
    documents: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="Label that tells which rows are from one document; tests and intervals allow "
            "for it. Default: document, where rows have it.",
            rich_help_panel=ROWS,
        ),
    ] = None,
    k: Annotated[
        int, typer.Option("--k", help="Neighbours of each row, for the same rows.", min=1)
    ] = 10,
    correction: Annotated[
        Path | None,
        typer.Option(
            help="A correction fitted on A (.safetensors). Default: centring and whitening are "
            "fitted.",
            rich_help_panel=KEEPING,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Cosine from which on rows count as related, after --correction where that is "
            "given. Default: the one that 1 % of A's random pairs exceed.",
            rich_help_panel=KEEPING,
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="Texts that A and B, which are models, both read: .txt .jsonl .csv .tsv .parquet.",
            rich_help_panel=options.OF_TEXTS,
        ),
    ] = None,
    layer: Annotated[
        str, typer.Option(help="Layer of the models.", rich_help_panel=options.OF_TEXTS)
    ] = "last",
    layer_b: Annotated[
        str | None,
        typer.Option(help="Layer of B, where it is another.", rich_help_panel=options.OF_TEXTS),
    ] = None,
    pooling: options.Pooling = "mean",
    cache: options.KeepVectors = True,
    dtype: options.Dtype = "float32",
    device: options.Device = None,
    column: options.Column = None,
    column_b: Annotated[
        str | None, typer.Option(help="The same for B, where it is another.")
    ] = None,
    sample: Annotated[
        int,
        typer.Option(help="Most rows of each that are compared with each other.", min=50),
    ] = 10_000,
    seed: options.Seed = 0,
    drop_invalid: options.DropInvalid = False,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: options.Out = None,
    debug: options.Debug = False,
) -> None:
    """Compare two clouds: the same rows or others, and what of A may be kept for B."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    from isoscope.tasks.sentence_protocol import SentenceProtocol
    from isoscope.verbs.diff.api import diff

    if out is not None:
        check_writable(out)
    with plain_warnings(), progress_bar() as progress:
        result = diff(
            a,
            b,
            text=text,
            layer=layer,
            layer_b=layer_b,
            sentences=SentenceProtocol(pooling=pooling, cache=cache, dtype=dtype, device=device),
            column=column,
            column_b=column_b,
            same_rows=same_rows,
            ids=ids,
            documents=documents,
            k=k,
            correction=correction,
            threshold=threshold,
            sample=sample,
            drop_invalid=drop_invalid,
            seed=seed,
            progress=progress,
            command=command_line(),
        )
    give_out(result, out, as_json=as_json, pictures=pictures)
