"""Options that several commands share, described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from isoscope.cli.progress import Mode

Column = Annotated[
    str | None,
    typer.Option(help="Which array, tensor, column or field of a file that holds several."),
]
Data = Annotated[
    Path | None,
    typer.Option(help="Folder with the benchmarks' files.", envvar="ISOSCOPE_DATA"),
]
Words = Annotated[
    str | None, typer.Option(help="Which label holds the words. Default: word, or the only one.")
]
Vocabulary = Annotated[
    Path | None,
    typer.Option(
        help="Words of a matrix without labels: a line per row, or JSON of words and rows."
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Lower-case the benchmarks' words.")]
Prefix = Annotated[
    str, typer.Option(help="What the vocabulary writes before a whole word, such as Ġ.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")]
Out = Annotated[Path | None, typer.Option(help="Also write the result to this .json or .md file.")]
Html = Annotated[
    Path | None,
    typer.Option(help="Also write one .html page with pictures, which opens anywhere."),
]
Figures = Annotated[
    Path | None,
    typer.Option(help="Also write every picture into this folder, as .png, .svg and .pdf."),
]
DropInvalid = Annotated[
    bool, typer.Option("--drop-invalid", help="Leave out rows with NaN or infinities.")
]
Seed = Annotated[int, typer.Option(help="Seed of all that is drawn at random.", min=0)]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Write nothing but errors to standard error.")
]
ProgressMode = Annotated[
    Mode | None,
    typer.Option(
        "--progress",
        help="A bar, lines of JSON for programs, or nothing, on standard error. Default: "
        "ISOSCOPE_PROGRESS, or auto: a bar on a terminal.",
    ),
]
Every = Annotated[
    str | None,
    typer.Option(
        metavar="N|log",
        help="Take one in N checkpoints, or those nearest to doubled steps; always the first and "
        "the last.",
    ),
]
Keep = Annotated[
    int | None,
    typer.Option(
        help="Checkpoints of the hub on disk at a time. Default: 1, or all with --cache.", min=1
    ),
]
Cache = Annotated[
    Path | None, typer.Option(help="Folder for fetched checkpoints. Default: a temporary one.")
]
Dtype = Annotated[
    Literal["float32", "float16", "bfloat16", "float64"],
    typer.Option(help="In what models compute."),
]
Device = Annotated[
    str | None,
    typer.Option(help="Where models compute, such as cpu or cuda. Default: an accelerator."),
]
TextColumn = Annotated[str | None, typer.Option(help="Which column or field holds the texts.")]
Queries = Annotated[
    str | None,
    typer.Option(help="Vectors of queries, where the source holds documents."),
]
CentresOption = Annotated[
    Literal["shared", "own", "both"] | None,
    typer.Option(
        help="Centre queries on the documents' mean, on their own, or try both. Default: both."
    ),
]
OF_TEXTS = "The vectors of texts"
Layer = Annotated[str, typer.Option(help="Layer of the model.", rich_help_panel=OF_TEXTS)]
Pooling = Annotated[
    Literal["mean", "cls", "last", "max"],
    typer.Option(help="How a text's tokens become one vector.", rich_help_panel=OF_TEXTS),
]
SpecialTokens = Annotated[
    bool,
    typer.Option(help="Whether tokens that the tokenizer adds count.", rich_help_panel=OF_TEXTS),
]
KeepVectors = Annotated[
    bool,
    typer.Option(
        help="Whether vectors of texts are kept on disk (in ISOSCOPE_CACHE).",
        rich_help_panel=OF_TEXTS,
    ),
]
Ids = Annotated[
    str | None, typer.Option(help="Label that names the rows. Default: their numbers, from 0.")
]
