"""``isoscope evaluate``: what vectors score on benchmarks, and what corrections change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.output import give, running
from isoscope.wording import listed

ON_TEXTS = options.OF_TEXTS

EXAMPLES = """Examples:

isoscope evaluate package:glove --tasks simlex-999,men --data benchmarks/

isoscope evaluate vectors.txt --tasks word-similarity:pairs.csv --corrections none,center

isoscope evaluate model.safetensors --column wte.weight --vocabulary vocab.json --prefix Ġ

isoscope evaluate package:minilm --tasks sts-b,sick-r --layers all --data benchmarks/

isoscope evaluate package:minilm --tasks rte,cluster:trec --corrections none,whiten

isoscope evaluate vectors.npy --tasks pairs:my-pairs.tsv --corrections none,center

isoscope evaluate package:minilm package:smollm2 --tasks sts-b --relate --data benchmarks/

isoscope evaluate package:minilm --tasks sts-b,sick-r --workers 4 --data benchmarks/
"""


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(options.Options):
    """What ``isoscope evaluate`` takes."""

    source: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL|SOURCE…",
            help="Word vectors: a file with words as labels, package:glove or package:minilm. For "
            "tasks on texts a model: a hub id, a folder, a .gguf file, package:minilm.",
            show_default=False,
        ),
    ]
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Names, with commas; see isoscope list tasks. word-similarity:FILE is a file of "
            "your own: two words and a score a line. Default: all whose data are in the folder."
        ),
    ] = None
    corrections: Annotated[
        str,
        typer.Option(
            help="Spaces to score, with commas; see isoscope list corrections. Each is fitted on "
            "the whole vocabulary, or for tasks on texts as --fit-on says, and compared with none "
            "where that is listed."
        ),
    ] = "none,center,all-but-the-top,whiten"
    layers: Annotated[
        str | None,
        typer.Option(
            help="On texts: all, last, or names with commas, such as 'block 5,block 6'.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = None
    pooling: options.Pooling = None
    prompt: options.Prompt = None
    query_prompt: options.QueryPrompt = None
    special_tokens: options.SpecialTokens = True
    correct_at: Annotated[
        Literal["sentence", "token"],
        typer.Option(
            help="Whether corrections change pooled vectors, or tokens before they are pooled.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = "sentence"
    fit_on: Annotated[
        str | None,
        typer.Option(
            help="Texts to fit corrections on: .txt .jsonl .csv .tsv .parquet. Default: the task's "
            "train split. Texts that are scored are left out.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = None
    transductive: Annotated[
        bool,
        typer.Option(
            "--transductive",
            help="Fit corrections on the texts that are scored, as papers do.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = False
    longest: Annotated[
        int | None,
        typer.Option(
            help="Cut texts behind this many tokens. Default: the model's limit.",
            min=1,
            rich_help_panel=ON_TEXTS,
        ),
    ] = None
    cache: options.KeepVectors = True
    isotropy: Annotated[
        str,
        typer.Option(
            help="Measures of the sentence vectors beside the scores, with commas; '' for none.",
            callback=names,
            rich_help_panel=ON_TEXTS,
        ),
    ] = "mean_cosine,i1_scaled"
    relation: Annotated[
        bool,
        typer.Option(
            "--relate",
            help="Instead of scores: how scores go with isotropy, over all spaces. Takes several "
            "models, all layers, and the measures of --isotropy.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = False
    probe: Annotated[
        Literal["logistic", "mlp"] | None,
        typer.Option(
            help="What learns to classify. Default: logistic; word senses by a threshold.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = None
    epochs: Annotated[
        bool,
        typer.Option(
            "--epochs",
            help="Also score after every epoch, with --probe mlp.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = False
    revision: Annotated[
        str | None,
        typer.Option(help="Branch, tag or commit of a model of the hub.", rich_help_panel=ON_TEXTS),
    ] = None
    compute: options.Compute
    seed: options.Seed = 0
    second: Annotated[
        str | None,
        typer.Option(help="A second file of vectors: the other side of pairs, or the queries."),
    ] = None
    ids: options.Ids = None
    data: options.Data = None
    column: options.Column = None
    lookup: options.WordLookup
    output: options.Output
    drop_invalid: options.DropInvalid = False
    engine: options.Engine = "local"
    workers: options.Workers = None
    watch: options.Watch
    debug: options.Debug = False


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    return listed(text, ())


@options.command
def evaluate_command(given: EvaluateOptions) -> None:
    """Score word vectors, or the layers of a model, on benchmarks, as they are and corrected."""
    asked = given.arguments()
    relation = asked.pop("relation")
    asked["layers"] = given.layers or ("all" if relation else "last")
    with running(given.watch) as run:
        result = isoscope.evaluate(**asked, **run)
        if relation:
            result = isoscope.relate(result, command=run["command"])
    give(result, given.output, given.output.out)
