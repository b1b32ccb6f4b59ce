"""``isoscope advise``: should anything be done about this space, for this task?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running
from isoscope.results.destination import check_writable

TRIED = "What is tried"

EXAMPLES = """Examples:

isoscope advise package:glove

isoscope advise package:minilm --corrections center,whiten --details

isoscope advise package:minilm --pairs pairs.tsv --out correction.safetensors

isoscope advise vectors.npy --pairs rows.csv

isoscope advise package:minilm --task sts-b --data benchmarks/

isoscope advise package:minilm --retrieval my-corpus/

isoscope advise documents.npy --queries queries.npy --pairs clicks.csv
"""


@dataclass(frozen=True, kw_only=True)
class AdviseOptions(options.Options):
    """What ``isoscope advise`` takes."""

    source: str = options.argument(
        "MODEL|SOURCE",
        "A model, if pairs or documents are texts; a file of vectors, if pairs name its rows.",
    )
    pairs: Path | None = options.option(
        None, "Your pairs (.tsv .csv .jsonl): two texts or two rows, and a score or yes/no."
    )
    task: str | None = options.option(None, "Task, such as sts-b; see: isoscope list tasks.")
    retrieval: Path | None = options.option(
        None, "Your folder with corpus.jsonl, queries.jsonl and qrels/test.tsv."
    )
    second: str | None = options.option(None, "Second file of vectors: the other side of pairs.")
    of_queries: options.Queries
    out: Path | None = options.option(
        None,
        "Write the recommended correction, if there is one, to this .safetensors file.",
    )
    corrections: str | None = options.option(
        None, "Comma-separated corrections to try. Default: all but flow.", panel=TRIED
    )
    flow: bool = options.flag("Also try the flow, which takes minutes.", panel=TRIED)
    worthwhile: float = options.option(
        0.01,
        "Smallest gain for which a correction is worth using; 0: any significant gain.",
        min=0.0,
        max=1.0,
        panel=TRIED,
    )
    folds: int = options.option(5, "Folds of the cross-fitting.", min=2, max=20, panel=TRIED)
    fit_on: str | None = options.option(
        None, "Further texts to fit corrections on: .txt .jsonl .csv .tsv .parquet.", panel=TRIED
    )
    seed: options.Seed = 0
    layer: options.Layer = "last"
    pooling: options.Pooling = None
    prompt: options.Prompt = None
    query_prompt: options.QueryPrompt = None
    special_tokens: options.SpecialTokens = True
    cache: options.KeepVectors = True
    ids: options.Ids = None
    column: options.Column = None
    compute: options.Compute
    data: options.Data = None
    drop_invalid: options.DropInvalid = False
    shown: options.Shown
    save: Path | None = options.option(None, "Write the ranking to this .json or .md file.")
    watch: options.Watch
    debug: options.Debug = False


@options.command
def advise_command(given: AdviseOptions) -> None:
    """Try every correction on your task, with cross-fitting, and recommend one, or none."""
    asked = given.arguments()
    save = asked.pop("save")
    if save is not None:
        check_writable(save)
    with running(given.watch) as run:
        advice = isoscope.advise(**asked, **run)
    give(advice.result, given.shown, save)
