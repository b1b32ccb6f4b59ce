"""``isoscope threshold``: what a score means here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running
from isoscope.data.formats.registry import check_source
from isoscope.errors import UsageError

LABELS = "With labels"
FOLDS = 5

EXAMPLES = """Examples:

isoscope threshold package:glove --at 0.6

isoscope threshold package:minilm --store-size 5000000 --corrections none,center

isoscope threshold documents.npy --queries queries.npy --store-size 5000000

isoscope threshold package:minilm --pairs pairs.tsv --positive ">=4" --precision 0.9

isoscope threshold vectors.npy --pairs rows.csv --map map.json
"""


def scores_of(text: str | None) -> list[float]:
    """Read comma-separated numbers."""
    try:
        return [float(part) for part in (text or "").split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--at takes comma-separated cosines, not {text!r}") from None


@dataclass(frozen=True, kw_only=True)
class ThresholdOptions(options.Options):
    """What ``isoscope threshold`` takes."""

    source: str = options.argument(
        "SOURCE|MODEL",
        "Vectors, as for isoscope measure; or a model, if pairs are texts or with --text.",
    )
    at: str | None = options.option(
        None, "Comma-separated cosines to look up, such as 0.8,0.86.", callback=scores_of
    )
    of_queries: options.Queries
    text: str | None = options.option(None, "Texts that the model turns into vectors.")
    store_size: int | None = options.option(
        None, "Number of vectors in your store, if the source is a part of it.", min=2
    )
    corrections: str | None = options.option(
        None,
        "Comma-separated corrections (none: as is). Default: none,center,all-but-the-top,whiten.",
    )
    pairs: Path | None = options.option(
        None,
        "Labelled pairs (.tsv .csv .jsonl): two texts or rows, and a score or yes/no.",
        panel=LABELS,
    )
    positive: str | None = options.option(
        None, "Scores that count as a match, such as '>=4'.", metavar="CONDITION", panel=LABELS
    )
    precision: float | None = options.option(
        None, "Precision that a threshold should reach.", panel=LABELS
    )
    recall: float | None = options.option(
        None, "Recall that a threshold should reach.", panel=LABELS
    )
    confidence: float | None = options.option(
        None,
        "Probability with which the threshold reaches it on other pairs, such as 0.95. Default: "
        "it is reached on average.",
        panel=LABELS,
    )
    base_rate: str | None = options.option(
        None,
        "Share of matches among the pairs that you will compare, such as 0.001 or 1/1000. "
        "Default: computed from the labelled queries and the store, else 1/1000.",
        metavar="SHARE",
        panel=LABELS,
    )
    second: str | None = options.option(
        None, "Second file of vectors, row by row, if --pairs has only scores.", panel=LABELS
    )
    folds: int = options.option(
        FOLDS, "Folds of the cross-validation.", min=2, max=20, panel=LABELS
    )
    ids: options.Ids = None
    map_file: Path | None = options.option(
        None,
        "Write a map from scores to percentiles (and probabilities) to this .json file.",
        "--map",
    )
    sample: int = options.option(5_000, "Rows whose pairs are compared.", min=2)
    layer: options.Layer = "last"
    column: options.Column = None
    encoding: options.Encoding
    query_prompt: options.QueryPrompt = None
    drop_invalid: options.DropInvalid = False
    output: options.Output
    seed: options.Seed = 0
    watch: options.Watch
    debug: options.Debug = False

    def __post_init__(self) -> None:
        """Refuse a file that is not there, before numpy is imported."""
        if self.text is None and self.pairs is None:
            check_source(self.source)


@options.command
def threshold_command(given: ThresholdOptions) -> None:
    """Say what a cosine means: how many random pairs and, with labels, matches exceed it."""
    queries, encoding = given.of_queries, given.encoding
    if queries.centres is not None and queries.queries is None:
        raise UsageError("--centres is about queries and documents; name --queries")
    refuse_idle(
        {"--second": given.second, "--ids": given.ids,
         "--folds": None if given.folds == FOLDS else given.folds},
        given.pairs is not None,
        "labelled pairs; name them with --pairs",
    )  # fmt: skip
    refuse_idle(
        {"--layer": None if given.layer == "last" else given.layer,
         "--device": encoding.compute.device,
         "--pooling": encoding.pooling,
         "--prompt": encoding.prompt,
         "--query-prompt": given.query_prompt,
         "--dtype": None if encoding.compute.dtype == "float32" else encoding.compute.dtype},
        given.pairs is not None or given.text is not None,
        "texts that a model reads; name them with --text or --pairs",
    )  # fmt: skip
    asked = given.arguments() | {"centres": queries.centres or "both"}
    with running(given.watch) as run:
        found = isoscope.threshold(**asked, **run)
    give(found.result, given.output, given.output.out)


def refuse_idle(given: dict[str, object], used: bool, about: str) -> None:
    """Refuse options that would be ignored."""
    for option, value in given.items():
        if value is not None and not used:
            raise UsageError(f"{option} is about {about}")
