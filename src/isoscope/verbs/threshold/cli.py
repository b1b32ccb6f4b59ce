"""``isoscope threshold``: what a score means here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running
from isoscope.errors import UsageError

about_labels = partial(typer.Option, rich_help_panel="With labels")

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
        about_labels(
            help="Labelled pairs (.tsv .csv .jsonl): two texts, two rows, or a row of the queries "
            "and one of the documents; and a score or yes/no."
        ),
    ] = None
    positive: Annotated[
        str | None, about_labels(metavar="CONDITION", help="Which scores are a match: '>=4'.")
    ] = None
    precision: Annotated[
        float | None, about_labels(help="Precision that a threshold should reach.")
    ] = None
    recall: Annotated[float | None, about_labels(help="Recall that a threshold should reach.")] = (
        None
    )
    confidence: Annotated[
        float | None,
        about_labels(
            help="Chance that it does on other pairs, such as 0.95. Default: it does on average."
        ),
    ] = None
    second: Annotated[
        str | None,
        about_labels(help="A second file of vectors, where the pairs are scores alone."),
    ] = None
    folds: Annotated[int, about_labels(help="Folds that pairs are dealt into.", min=2, max=20)] = 5
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
    if given.pairs is None:
        about = "labelled pairs; name them with --pairs"
        refuse_idle(given, ("second", "ids", "folds"), about)
        if given.text is None:
            about = "texts that a model reads; name them with --text or --pairs"
            refuse_idle(given, ("layer",), about)
            refuse_idle(encoding.compute, ("device",), about)
            refuse_idle(encoding, ("pooling",), about)
            refuse_idle(encoding.compute, ("dtype",), about)
    asked = given.arguments() | {"centres": queries.centres or "both"}
    with running() as run:
        found = isoscope.threshold(**asked, **run)
    give(found.result, given.output, given.output.out)


def refuse_idle(given: options.Options, names: tuple[str, ...], about: str) -> None:
    """Refuse options that would be ignored; those that have their default were not given."""
    for name in names:
        if getattr(given, name) != getattr(type(given), name):
            raise UsageError(f"--{name} is about {about}")
