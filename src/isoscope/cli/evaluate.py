"""``isoscope evaluate``: what vectors score on benchmarks, and what corrections change."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from isoscope.cli import options
from isoscope.cli.measure import print_json, show
from isoscope.cli.output import console
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import plain_warnings
from isoscope.measures.corrections import DEFAULT_CORRECTIONS
from isoscope.results.files import check_writable
from isoscope.tasks import evaluate

EXAMPLES = """Examples:

isoscope evaluate package:glove --tasks simlex-999,men --data benchmarks/

isoscope evaluate vectors.txt --tasks word-similarity:pairs.csv --corrections none,center

isoscope evaluate model.safetensors --column wte.weight --vocabulary vocab.json --prefix Ġ
"""


def evaluate_command(
    source: Annotated[
        str,
        typer.Argument(
            help="Word vectors: a file with words as labels, package:glove or package:minilm.",
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
            "the whole vocabulary, and compared with none where that is listed."
        ),
    ] = ",".join(DEFAULT_CORRECTIONS),
    data: options.Data = None,
    column: options.Column = None,
    words: options.Words = None,
    vocabulary: options.Vocabulary = None,
    lowercase: options.Lowercase = False,
    prefix: options.Prefix = "",
    as_json: options.AsJson = False,
    out: options.Out = None,
    drop_invalid: options.DropInvalid = False,
    debug: options.Debug = False,
) -> None:
    """Score word vectors on benchmarks, as they are and corrected, with 95 % intervals."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    if out is not None:
        check_writable(out)
    with plain_warnings(), progress_bar() as progress:
        result = evaluate(
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
            progress=progress,
            command=shlex.join(["isoscope", *sys.argv[1:]]),
        )
    if out is not None:
        result.save(out)
    if as_json:
        print_json(result)
    else:
        show(result, console())
