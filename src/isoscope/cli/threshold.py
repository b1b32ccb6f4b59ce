"""``isoscope threshold``: what a score means here."""

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
from isoscope.errors import UsageError
from isoscope.results.files import check_writable
from isoscope.tasks.folds import FOLDS, MOST_FOLDS

LABELS = "With labels"

EXAMPLES = """Examples:

isoscope threshold vectors.npy --at 0.86

isoscope threshold documents.npy --queries queries.npy --store-size 5000000

isoscope threshold package:minilm --pairs pairs.tsv --positive ">=4" --precision 0.9

isoscope threshold vectors.npy --pairs rows.csv --map map.json
"""


def threshold_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE|MODEL",
            help="Vectors, as isoscope measure takes them; a model, where pairs are texts or with "
            "--text.",
            show_default=False,
        ),
    ],
    at: Annotated[
        str | None, typer.Option(help="Cosines to look up, with commas, such as 0.8,0.86.")
    ] = None,
    queries: options.Queries = None,
    centres: options.CentresOption = None,
    text: Annotated[
        str | None, typer.Option(help="Texts that the model turns into vectors.")
    ] = None,
    store_size: Annotated[
        int | None,
        typer.Option(help="Vectors in your store, where the source is a part of them.", min=2),
    ] = None,
    corrections: Annotated[
        str | None,
        typer.Option(help="Spaces, with commas. Default: none,center,all-but-the-top,whiten."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Labelled pairs (.tsv .csv .jsonl): two texts, two rows, or a row of the queries "
            "and one of the documents; and a score or yes/no.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CONDITION", help="Which scores are a match: '>=4'.", rich_help_panel=LABELS
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Precision that a threshold should reach.", rich_help_panel=LABELS),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Recall that a threshold should reach.", rich_help_panel=LABELS),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Chance that it does on other pairs, such as 0.95. Default: it does on average.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Option(
            help="A second file of vectors, where the pairs are scores alone.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            help="Folds that pairs are dealt into.", min=2, max=MOST_FOLDS, rich_help_panel=LABELS
        ),
    ] = FOLDS,
    ids: options.Ids = None,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map", help="Write score → percentile (and probability, with pairs) to this .json."
        ),
    ] = None,
    sample: Annotated[int, typer.Option(help="Rows whose pairs are compared.", min=2)] = 5_000,
    layer: options.Layer = "last",
    pooling: options.Pooling = "mean",
    cache: options.KeepVectors = True,
    column: options.Column = None,
    dtype: options.Dtype = "float32",
    device: options.Device = None,
    drop_invalid: options.DropInvalid = False,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    debug: options.Debug = False,
) -> None:
    """Say what a score means: among random pairs and, with labels, for matches."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    from isoscope.tasks.sentence_protocol import SentenceProtocol
    from isoscope.verbs.threshold.api import threshold
    from isoscope.verbs.threshold.score_map import check_map_file

    if out is not None:
        check_writable(out)
    if map_file is not None:
        check_map_file(map_file)
    if centres is not None and queries is None:
        raise UsageError("--centres is about queries and documents; name --queries")
    refuse_idle(
        {"--second": second, "--ids": ids, "--folds": None if folds == FOLDS else folds},
        pairs is not None,
        "labelled pairs; name them with --pairs",
    )
    refuse_idle(
        {"--layer": None if layer == "last" else layer, "--device": device,
         "--pooling": None if pooling == "mean" else pooling,
         "--dtype": None if dtype == "float32" else dtype},
        pairs is not None or text is not None,
        "texts that a model reads; name them with --text or --pairs",
    )  # fmt: skip
    with plain_warnings(), progress_bar() as progress:
        found = threshold(
            source,
            pairs=pairs,
            positive=positive,
            precision=precision,
            recall=recall,
            confidence=confidence,
            corrections=corrections,
            queries=queries,
            centres=centres or "both",
            text=text,
            at=scores_of(at),
            store_size=store_size,
            sample=sample,
            folds=folds,
            layer=layer,
            sentences=SentenceProtocol(pooling=pooling, cache=cache, dtype=dtype, device=device),
            second=second,
            column=column,
            ids=ids,
            drop_invalid=drop_invalid,
            seed=seed,
            progress=progress,
            command=command_line(),
        )
        if map_file is not None:
            found.save_maps(map_file)
    give_out(found.result, out, as_json=as_json, pictures=pictures)


def refuse_idle(given: dict[str, object], used: bool, about: str) -> None:
    """Refuse options that would be ignored."""
    for option, value in given.items():
        if value is not None and not used:
            raise UsageError(f"{option} is about {about}")


def scores_of(text: str | None) -> list[float]:
    """Read numbers with commas between them."""
    try:
        return [float(part) for part in (text or "").split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--at takes cosines with commas between them, not {text!r}") from None
