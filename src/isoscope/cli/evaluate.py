"""``isoscope evaluate``: what vectors score on benchmarks, and what corrections change."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from isoscope.cli.measure import print_json, show
from isoscope.cli.output import console
from isoscope.cli.progress import progress_bar
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
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with the benchmarks' files.", envvar="ISOSCOPE_DATA"),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Which array or tensor of a file that holds several.")
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(help="Which label holds the words. Default: word, or the only one."),
    ] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="Words of a matrix without labels: a line per row, or JSON of words and rows."
        ),
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Lower-case the benchmarks' words.")
    ] = False,
    prefix: Annotated[
        str, typer.Option(help="What the vocabulary writes before a whole word, such as Ġ.")
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole result as JSON.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Also write the result to this .json or .md file.")
    ] = None,
    drop_invalid: Annotated[
        bool, typer.Option("--drop-invalid", help="Leave out rows with NaN or infinities.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Score word vectors on benchmarks, as they are and corrected, with 95 % intervals."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    if out is not None:
        check_writable(out)
    with progress_bar() as progress:
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
