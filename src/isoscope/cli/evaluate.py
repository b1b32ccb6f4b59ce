"""``isoscope evaluate``: what vectors score on benchmarks, and what corrections change."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import typer

from isoscope.cli import options, scaling
from isoscope.cli.command_line import command_line
from isoscope.cli.measure import give_out
from isoscope.cli.pictures import pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import warnings_shown
from isoscope.measures.views import DEFAULT_CORRECTIONS
from isoscope.results.files import check_writable
from isoscope.results.joining import joined
from isoscope.results.measuring import listed
from isoscope.tasks.encoding_pool import encoding_pool
from isoscope.tasks.evaluating import evaluate
from isoscope.tasks.relating import relate
from isoscope.tasks.sentence_protocol import ISOTROPY, SentenceProtocol

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


def evaluate_command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL|SOURCE…",
            help="Word vectors: a file with words as labels, package:glove or package:minilm. For "
            "tasks on texts a model: a hub id, a folder, a .gguf file, package:minilm.",
            show_default=False,
        ),
    ],
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Names, with commas; see isoscope list tasks. word-similarity:FILE is a file of "
            "your own: two words and a score a line. Default: all whose data are in the folder."
        ),
    ] = None,
    corrections: Annotated[
        str,
        typer.Option(
            help="Spaces to score, with commas; see isoscope list corrections. Each is fitted on "
            "the whole vocabulary, or for tasks on texts as --fit-on says, and compared with none "
            "where that is listed."
        ),
    ] = ",".join(DEFAULT_CORRECTIONS),
    layers: Annotated[
        str | None,
        typer.Option(
            help="On texts: all, last, or names with commas, such as 'block 5,block 6'.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = None,
    pooling: options.Pooling = "mean",
    special_tokens: options.SpecialTokens = True,
    correct_at: Annotated[
        Literal["sentence", "token"],
        typer.Option(
            help="Whether corrections change pooled vectors, or tokens before they are pooled.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = "sentence",
    fit_on: Annotated[
        str | None,
        typer.Option(
            help="Texts to fit corrections on: .txt .jsonl .csv .tsv .parquet. Default: the task's "
            "train split. Texts that are scored are left out.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = None,
    transductive: Annotated[
        bool,
        typer.Option(
            "--transductive",
            help="Fit corrections on the texts that are scored, as papers do.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = False,
    longest: Annotated[
        int | None,
        typer.Option(
            help="Cut texts behind this many tokens. Default: the model's limit.",
            min=1,
            rich_help_panel=ON_TEXTS,
        ),
    ] = None,
    cache: options.KeepVectors = True,
    isotropy: Annotated[
        str,
        typer.Option(
            help="Measures of the sentence vectors beside the scores, with commas; '' for none.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = ",".join(ISOTROPY),
    relation: Annotated[
        bool,
        typer.Option(
            "--relate",
            help="Instead of scores: how scores go with isotropy, over all spaces. Takes several "
            "models, all layers, and the measures of --isotropy.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = False,
    probe: Annotated[
        Literal["logistic", "mlp"] | None,
        typer.Option(
            help="What learns to classify. Default: logistic; word senses by a threshold.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = None,
    epochs: Annotated[
        bool,
        typer.Option(
            "--epochs",
            help="Also score after every epoch, with --probe mlp.",
            rich_help_panel=ON_TEXTS,
        ),
    ] = False,
    revision: Annotated[
        str | None,
        typer.Option(help="Branch, tag or commit of a model of the hub.", rich_help_panel=ON_TEXTS),
    ] = None,
    dtype: options.Dtype = "float32",
    device: options.Device = None,
    seed: options.Seed = 0,
    second: Annotated[
        str | None,
        typer.Option(help="A second file of vectors: the other side of pairs, or the queries."),
    ] = None,
    ids: options.Ids = None,
    data: options.Data = None,
    column: options.Column = None,
    words: options.Words = None,
    vocabulary: options.Vocabulary = None,
    lowercase: options.Lowercase = False,
    prefix: options.Prefix = "",
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: options.Out = None,
    drop_invalid: options.DropInvalid = False,
    engine: scaling.Engine = "local",
    workers: scaling.Workers = None,
    progress: options.ProgressMode = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Score word vectors, or the layers of a model, on benchmarks, as they are and corrected."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    if out is not None:
        check_writable(out)
    sentences = SentenceProtocol(
        layers=layers or ("all" if relation else "last"),
        pooling=pooling,
        special_tokens=special_tokens,
        correct_at=correct_at,
        fit_on=fit_on,
        transductive=transductive,
        longest=longest,
        cache=cache,
        isotropy=listed(isotropy, ()),
        probe=probe,
        epochs=epochs,
        revision=revision,
        dtype=dtype,
        device=device,
        seed=seed,
    )
    with (
        warnings_shown(quiet=quiet),
        progress_bar(quiet=quiet, mode=progress) as report,
        encoding_pool(engine, workers, device) as pool,
    ):
        found = [
            evaluate(
                source,
                tasks,
                corrections,
                data=data,
                column=column,
                words=words,
                vocabulary=vocabulary,
                lowercase=lowercase,
                prefix=prefix,
                drop_invalid=drop_invalid,
                sentences=sentences,
                second=second,
                ids=ids,
                pool=pool,
                progress=report,
            )
            for source in sources
        ]
        command = command_line()
        related = relate(found, command=command) if relation else joined(found)
        result = replace(related, command=command)
    give_out(result, out, as_json=as_json, pictures=pictures)
