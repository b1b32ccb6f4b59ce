"""``isoscope train ablate``: small models that differ in one thing at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isoscope.cli import options, pretrain
from isoscope.cli.command_line import command_line
from isoscope.cli.journals import Resume, journal_of
from isoscope.cli.measure import give_out
from isoscope.cli.pictures import pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import plain_warnings

EXAMPLES = """Examples:

isoscope train ablate --text wiki.train.txt --seeds 3 --out ablation.json

isoscope train ablate --grid tie,positions=learned+rotary+none --text wiki.train.txt --steps 300

isoscope train ablate --text wiki.train.txt --out ablation.json --resume
"""


def ablate_command(
    text: pretrain.Text,
    grid: Annotated[
        str,
        typer.Option(
            help="Factors with commas: tie, positions, final-norm, objective; levels behind = where"
            " others than the usual are wanted, such as positions=learned+rotary+none. The first "
            "one is the reference."
        ),
    ] = "tie,positions,final-norm",
    seeds: Annotated[int, typer.Option(help="Runs of each: seeds 0, 1, 2, …", min=1)] = 3,
    objective: pretrain.Objective = "clm",
    size: pretrain.SizeName = "tiny",
    positions: pretrain.PositionsKind = "learned",
    tie: pretrain.Tie = True,
    final_norm: pretrain.FinalNormKind = "layernorm",
    validation: pretrain.Validation = None,
    text_column: options.TextColumn = None,
    steps: pretrain.Steps = None,
    checkpoints: pretrain.CheckpointCount = 5,
    vocabulary: pretrain.VocabularySize = None,
    batch_size: pretrain.BatchSize = None,
    context: pretrain.Context = None,
    learning_rate: pretrain.LearningRate = None,
    keep: Annotated[
        Path | None, typer.Option(help="Folder in which all checkpoints stay. Default: none does.")
    ] = None,
    device: options.Device = None,
    resume: Resume = False,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: options.Out = None,
    debug: options.Debug = False,
) -> None:
    """Train small models that differ in tied matrices, positions and final norm, and compare them.

    Every cell of the grid is trained from nothing with every seed. What is not in the grid is the
    same for all. Main effects come with intervals over seeds.
    """
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    journal = journal_of(out, resume=resume)
    from isoscope.training.pretraining.ablating import ablate
    from isoscope.training.pretraining.plan import Plan

    base = Plan(
        objective, size, positions, tie, final_norm, steps, checkpoints, 0,
        pretrain.changed_size(vocabulary, batch_size, context, learning_rate),
    )  # fmt: skip
    with plain_warnings(), progress_bar(unit="steps") as progress:
        result = ablate(
            text,
            grid,
            base,
            seeds=seeds,
            validation=validation,
            column=text_column,
            journal=journal,
            resume=resume,
            keep=keep,
            device=device,
            progress=progress,
            save=None if out is None else lambda found: found.save(out),
            command=command_line(),
        )
    give_out(result, None, as_json=as_json, pictures=pictures)
