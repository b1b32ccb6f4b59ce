"""``isoscope evaluate``: what vectors score on benchmarks, and what corrections change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import isoscope
from isoscope.cli import options
from isoscope.cli.output import announcer, give, running
from isoscope.wording import listed

ON_TEXTS = options.OF_TEXTS

WORDS = r"printf 'cat dog 8\nsun moon 6\nred blue 7\nsun shoe 1\n' > words.txt;"

EXAMPLES = f"""Examples:

{WORDS} isoscope evaluate package:glove --tasks word-similarity:words.txt

isoscope evaluate package:glove --tasks word-similarity:words.txt --json

isoscope evaluate package:glove --tasks simlex-999,men --data benchmarks/

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
        "Word vectors: a file with words as labels, or package:glove. For tasks on texts, models: "
        "hub ids, folders, .gguf files, package:minilm",
    )
    tasks: str | None = options.option(
        None,
        "Comma-separated names; see: isoscope list tasks. word-similarity:FILE and pairs:FILE "
        "use your own data. Default: all on words in --data; for models, sts-b,sick-r.",
    )
    corrections: str = options.option(
        "none,center,all-but-the-top,whiten",
        "Comma-separated corrections (none: as is); see: isoscope list corrections.",
    )
    layers: str | None = options.option(
        None,
        "all, last, or comma-separated names, such as 'block 5,block 6'.",
        panel=ON_TEXTS,
    )
    pooling: options.Pooling = None
    prompt: options.Prompt = None
    query_prompt: options.QueryPrompt = None
    special_tokens: options.SpecialTokens = True
    correct_at: Literal["sentence", "token"] = options.option(
        "sentence",
        "Correct pooled vectors, or tokens before pooling.",
        panel=ON_TEXTS,
    )
    fit_on: str | None = options.option(
        None,
        "Texts to fit corrections on, without those that are scored. Default: the task's train "
        "split.",
        panel=ON_TEXTS,
    )
    transductive: bool = options.flag(
        "Fit corrections on the texts that are scored, as papers do.", panel=ON_TEXTS
    )
    longest: int | None = options.option(
        None,
        "Truncate texts to this many tokens. Default: the model's limit.",
        min=1,
        panel=ON_TEXTS,
    )
    cache: options.KeepVectors = True
    isotropy: str = options.option(
        "mean_cosine,i1_scaled",
        "Comma-separated measures of the sentence vectors; '' for none.",
        callback=lambda text: listed(text, ()),
        panel=ON_TEXTS,
    )
    relation: bool = options.flag(
        "Show how scores relate to isotropy over all layers and corrections, instead of the "
        "scores.",
        "--relate",
        panel=ON_TEXTS,
    )
    probe: Literal["logistic", "mlp"] | None = options.option(
        None,
        "Classifier. Default: logistic; for word senses, a threshold.",
        panel=ON_TEXTS,
    )
    epochs: bool = options.flag("With --probe mlp: also score after every epoch.", panel=ON_TEXTS)
    revision: str | None = options.option(
        None, "Branch, tag or commit of a hub model.", panel=ON_TEXTS
    )
    compute: options.Compute
    seed: options.Seed = 0
    second: str | None = options.option(
        None, "Second file of vectors: the other side of pairs, or queries."
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
    """Score word vectors or model layers on benchmarks, as they are and corrected."""
    asked = given.arguments()
    relation = asked.pop("relation")
    asked["layers"] = given.layers or ("all" if relation else "last")
    with running(given.watch) as run:
        result = isoscope.evaluate(**asked, **run, announce=announcer(given.watch))
        if relation:
            result = isoscope.relate(result, command=run["command"])
    give(result, given.output, given.output.out)
