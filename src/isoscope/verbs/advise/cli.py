"""``isoscope advise``: should anything be done about this space, for this task?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running
from isoscope.errors import UsageError
from isoscope.results.destination import ENDINGS, check_writable

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
    out: list[Path] | None = options.option(
        None,
        "Write the recommended correction, if any, to this .safetensors file, or the ranking to "
        "this .json or .md file. May be given twice.",
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
    # Deprecated, to be removed two releases after 0.3.0.
    save: Path | None = options.option(None, "The same as --out for a ranking.", hidden=True)
    watch: options.Watch
    debug: options.Debug = False


@options.command
def advise_command(given: AdviseOptions) -> None:
    """Try every correction on your task, with cross-fitting, and recommend one, or none."""
    asked = given.arguments()
    asked["out"], ranking = outputs(given.out or [], asked.pop("save"))
    if ranking is not None:
        check_writable(ranking)
    with running(given.watch) as run:
        if given.save is not None:
            warnings.warn("--save is deprecated; name the same file with --out", stacklevel=1)
        advice = isoscope.advise(**asked, **run)
    give(advice.result, given.shown, ranking)


def outputs(named: list[Path], save: Path | None) -> tuple[Path | None, Path | None]:
    """Return the files of the correction and of the ranking, which their endings tell apart."""
    rankings = [*(path for path in named if path.suffix.lower() in ENDINGS),
                *([] if save is None else [save])]  # fmt: skip
    corrections = [path for path in named if path.suffix.lower() not in ENDINGS]
    for files in (rankings, corrections):
        if len(files) > 1:
            raise UsageError(
                f"--out names {files[0]} and {files[1]}; name one file for the correction "
                f"(.safetensors) and one for the ranking ({' or '.join(ENDINGS)})"
            )
    return next(iter(corrections), None), next(iter(rankings), None)
