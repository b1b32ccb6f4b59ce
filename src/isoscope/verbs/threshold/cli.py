"""``isoscope threshold``: what a score means here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running
from isoscope.errors import UsageError

LABELS = "With labels"
FOLDS = 5

EXAMPLES = """Examples:

isoscope threshold vectors.npy --at 0.86

isoscope threshold documents.npy --queries queries.npy --store-size 5000000

isoscope threshold package:minilm --pairs pairs.tsv --positive ">=4" --precision 0.9

isoscope threshold vectors.npy --pairs rows.csv --map map.json
"""


@dataclass(frozen=True, kw_only=True)
class ThresholdOptions(options.Options):
    """What ``isoscope threshold`` takes."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE|MODEL",
            help="Vectors, as isoscope measure takes them; a model, where pairs are texts or with "
            "--text.",
            show_default=False,
        ),
    ]
    at: Annotated[
        str | None,
        typer.Option(help="Cosines to look up, with commas, such as 0.8,0.86.", callback=scores_of),
    ] = None
    of_queries: options.Queries
    text: Annotated[str | None, typer.Option(help="Texts that the model turns into vectors.")] = (
        None
    )
    store_size: Annotated[
        int | None,
        typer.Option(help="Vectors in your store, where the source is a part of them.", min=2),
    ] = None
    corrections: Annotated[
        str | None,
        typer.Option(help="Spaces, with commas. Default: none,center,all-but-the-top,whiten."),
    ] = None
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Labelled pairs (.tsv .csv .jsonl): two texts, two rows, or a row of the queries "
            "and one of the documents; and a score or yes/no.",
            rich_help_panel=LABELS,
        ),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION", help="Which scores are a match: '>=4'.", rich_help_panel=LABELS
        ),
    ] = None
    precision: Annotated[
        float | None,
        typer.Option(help="Precision that a threshold should reach.", rich_help_panel=LABELS),
    ] = None
    recall: Annotated[
        float | None,
        typer.Option(help="Recall that a threshold should reach.", rich_help_panel=LABELS),
    ] = None
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Chance that it does on other pairs, such as 0.95. Default: it does on average.",
            rich_help_panel=LABELS,
        ),
    ] = None
    second: Annotated[
        str | None,
        typer.Option(
            help="A second file of vectors, where the pairs are scores alone.",
            rich_help_panel=LABELS,
        ),
    ] = None
    folds: Annotated[
        int,
        typer.Option(
            help="Folds that pairs are dealt into.", min=2, max=20, rich_help_panel=LABELS
        ),
    ] = FOLDS
    ids: options.Ids = None
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map", help="Write score → percentile (and probability, with pairs) to this .json."
        ),
    ] = None
    sample: Annotated[int, typer.Option(help="Rows whose pairs are compared.", min=2)] = 5_000
    layer: options.Layer = "last"
    column: options.Column = None
    encoding: options.Encoding
    query_prompt: options.QueryPrompt = None
    drop_invalid: options.DropInvalid = False
    output: options.Output
    seed: options.Seed = 0
    debug: options.Debug = False


def scores_of(text: str | None) -> list[float]:
    """Read numbers with commas between them."""
    try:
        return [float(part) for part in (text or "").split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--at takes cosines with commas between them, not {text!r}") from None


@options.command
def threshold_command(given: ThresholdOptions) -> None:
    """Say what a score means: among random pairs and, with labels, for matches."""
    queries, encoding = given.of_queries, given.encoding
    if queries.centres is not None and queries.queries is None:
        raise UsageError("--centres is about queries and documents; name --queries")
    refuse_idle(
        {"--second": given.second, "--ids": given.ids,
         "--folds": None if given.folds == FOLDS else given.folds},
        given.pairs is not None,
        "labelled pairs; name them with --pairs",
    )  # fmt: skip
    refuse_idle(
        {"--layer": None if given.layer == "last" else given.layer,
         "--device": encoding.compute.device,
         "--pooling": encoding.pooling,
         "--prompt": encoding.prompt,
         "--query-prompt": given.query_prompt,
         "--dtype": None if encoding.compute.dtype == "float32" else encoding.compute.dtype},
        given.pairs is not None or given.text is not None,
        "texts that a model reads; name them with --text or --pairs",
    )  # fmt: skip
    asked = given.arguments() | {"centres": queries.centres or "both"}
    with running() as run:
        found = isoscope.threshold(**asked, **run)
    give(found.result, given.output, given.output.out)


def refuse_idle(given: dict[str, object], used: bool, about: str) -> None:
    """Refuse options that would be ignored."""
    for option, value in given.items():
        if value is not None and not used:
            raise UsageError(f"{option} is about {about}")
