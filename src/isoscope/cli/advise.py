"""``isoscope advise``: should anything be done about this space, for this task?"""

from __future__ import annotations

from dataclasses import replace
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
from isoscope.results.joining import beside
from isoscope.tasks.advice.deciding import WORTHWHILE
from isoscope.tasks.folds import FOLDS, MOST_FOLDS
from isoscope.tasks.sentence_protocol import SentenceProtocol

TRIED = "What is tried"
ENDING = ".safetensors"

EXAMPLES = """Examples:

isoscope advise package:minilm --pairs pairs.tsv --out correction.safetensors

isoscope advise vectors.npy --pairs rows.csv

isoscope advise package:minilm --task sts-b --data benchmarks/

isoscope advise package:minilm --retrieval my-corpus/

isoscope advise documents.npy --queries queries.npy --pairs clicks.csv

isoscope advise vectors.npy
"""


def advise_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|SOURCE",
            help="A model, where pairs or documents are texts; a file of vectors, where pairs name "
            "its rows.",
            show_default=False,
        ),
    ],
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Your pairs (.tsv .csv .jsonl): two texts or two rows, and a score or yes/no."
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="A task of isoscope list tasks, such as sts-b.")
    ] = None,
    retrieval: Annotated[
        Path | None,
        typer.Option(help="Your folder with corpus.jsonl, queries.jsonl and qrels/test.tsv."),
    ] = None,
    second: Annotated[
        str | None,
        typer.Option(help="A second file of vectors: the other side of pairs."),
    ] = None,
    queries: options.Queries = None,
    centres: options.CentresOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the recommended correction here (.safetensors); nothing is written where "
            "none is recommended."
        ),
    ] = None,
    corrections: Annotated[
        str | None,
        typer.Option(
            help="What to try, with commas. Default: all but the flow.", rich_help_panel=TRIED
        ),
    ] = None,
    flow: Annotated[
        bool,
        typer.Option("--flow", help="Try the flow as well (minutes).", rich_help_panel=TRIED),
    ] = False,
    worthwhile: Annotated[
        float,
        typer.Option(
            help="Smallest gain that is worth a change; 0 recommends any that is no chance.",
            min=0.0,
            max=1.0,
            rich_help_panel=TRIED,
        ),
    ] = WORTHWHILE,
    folds: Annotated[
        int,
        typer.Option(
            help="Folds of the cross-fitting.", min=2, max=MOST_FOLDS, rich_help_panel=TRIED
        ),
    ] = FOLDS,
    fit_on: Annotated[
        str | None,
        typer.Option(
            help="Further texts to fit corrections on: .txt .jsonl .csv .tsv .parquet.",
            rich_help_panel=TRIED,
        ),
    ] = None,
    seed: options.Seed = 0,
    layer: options.Layer = "last",
    pooling: options.Pooling = "mean",
    special_tokens: options.SpecialTokens = True,
    cache: options.KeepVectors = True,
    ids: options.Ids = None,
    column: options.Column = None,
    dtype: options.Dtype = "float32",
    device: options.Device = None,
    data: options.Data = None,
    drop_invalid: options.DropInvalid = False,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the ranking to this .json or .md file.")
    ] = None,
    debug: options.Debug = False,
) -> None:
    """Try every correction on your task, cross-fitted, and say what to do, if anything."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    from isoscope.tasks.advising import advise
    from isoscope.tasks.unlabelled import CORRECTIONS, what_can_be_known

    if save is not None:
        check_writable(save)
    if out is not None and out.suffix != ENDING:
        raise UsageError(f"--out {out}: a correction is written to a {ENDING} file")
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")
    command = command_line()
    with plain_warnings(), progress_bar() as progress:
        if pairs is None and task is None and retrieval is None:
            if centres is not None and queries is None:
                raise UsageError("--centres is about queries and documents; name --queries")
            if out is not None:
                raise UsageError(
                    "--out: without labels nothing can be recommended; name --pairs, --task or "
                    "--retrieval, or fit a correction of your choice with isoscope correct fit"
                )
            result = what_can_be_known(
                source, column=column, drop_invalid=drop_invalid, progress=progress,
                command=command,
            )  # fmt: skip
            if queries is not None:
                from isoscope.verbs.measure.queries import measure_queries

                between = measure_queries(
                    source, queries, CORRECTIONS, centres=centres or "both", column=column,
                    drop_invalid=drop_invalid, seed=seed, progress=progress,
                )  # fmt: skip
                result = beside(result, [between])
        else:
            advice = advise(
                source,
                pairs=pairs,
                task=task,
                retrieval=retrieval,
                corrections=corrections,
                flow=flow,
                worthwhile=worthwhile,
                folds=folds,
                data=data,
                layer=layer,
                sentences=SentenceProtocol(
                    pooling=pooling,
                    special_tokens=special_tokens,
                    fit_on=fit_on,
                    cache=cache,
                    dtype=dtype,
                    device=device,
                    seed=seed,
                ),
                second=second,
                queries=queries,
                centres=centres,
                column=column,
                ids=ids,
                drop_invalid=drop_invalid,
                progress=progress,
                command=command,
            )
            result = advice.result
            if out is not None and advice.correction is not None:
                advice.correction.save(out)
                told = {**result.extra["recommendation"], "written": str(out)}
                if advice.query_correction is not None:
                    other = out.with_suffix(f".queries{ENDING}")
                    advice.query_correction.save(other)
                    told["written_for_queries"] = str(other)
                result = replace(result, extra={**result.extra, "recommendation": told})
    give_out(result, save, as_json=as_json, pictures=pictures)
