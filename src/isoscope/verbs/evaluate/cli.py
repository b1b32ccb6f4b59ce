"""``isoscope evaluate``: what vectors score on benchmarks, and what corrections change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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

    source: list[str] = options.argument(
        "MODEL|SOURCE…",
        "Word vectors: a file with words as labels, package:glove or package:minilm. For tasks on "
        "texts a model: a hub id, a folder, a .gguf file, package:minilm.",
    )
    tasks: str | None = options.option(
        None,
        "Names, with commas; see isoscope list tasks. word-similarity:FILE is a file of your own: "
        "two words and a score a line. Default: all whose data are in the folder.",
    )
    corrections: str = options.option(
        "none,center,all-but-the-top,whiten",
        "Spaces to score, with commas; see isoscope list corrections. Each is fitted on the whole "
        "vocabulary, or for tasks on texts as --fit-on says, and compared with none where that is "
        "listed.",
    )
    layers: str | None = options.option(
        None,
        "On texts: all, last, or names with commas, such as 'block 5,block 6'.",
        panel=ON_TEXTS,
    )
    pooling: options.Pooling = None
    prompt: options.Prompt = None
    query_prompt: options.QueryPrompt = None
    special_tokens: options.SpecialTokens = True
    correct_at: Literal["sentence", "token"] = options.option(
        "sentence",
        "Whether corrections change pooled vectors, or tokens before they are pooled.",
        panel=ON_TEXTS,
    )
    fit_on: str | None = options.option(
        None,
        "Texts to fit corrections on: .txt .jsonl .csv .tsv .parquet. Default: the task's train "
        "split. Texts that are scored are left out.",
        panel=ON_TEXTS,
    )
    transductive: bool = options.flag(
        "Fit corrections on the texts that are scored, as papers do.", panel=ON_TEXTS
    )
    longest: int | None = options.option(
        None,
        "Cut texts behind this many tokens. Default: the model's limit.",
        min=1,
        panel=ON_TEXTS,
    )
    cache: options.KeepVectors = True
    isotropy: str = options.option(
        "mean_cosine,i1_scaled",
        "Measures of the sentence vectors beside the scores, with commas; '' for none.",
        callback=lambda text: listed(text, ()),
        panel=ON_TEXTS,
    )
    relation: bool = options.flag(
        "Instead of scores: how scores go with isotropy, over all spaces. Takes several models, "
        "all layers, and the measures of --isotropy.",
        "--relate",
        panel=ON_TEXTS,
    )
    probe: Literal["logistic", "mlp"] | None = options.option(
        None,
        "What learns to classify. Default: logistic; word senses by a threshold.",
        panel=ON_TEXTS,
    )
    epochs: bool = options.flag("Also score after every epoch, with --probe mlp.", panel=ON_TEXTS)
    revision: str | None = options.option(
        None, "Branch, tag or commit of a model of the hub.", panel=ON_TEXTS
    )
    compute: options.Compute
    seed: options.Seed = 0
    second: str | None = options.option(
        None, "A second file of vectors: the other side of pairs, or the queries."
    )
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
