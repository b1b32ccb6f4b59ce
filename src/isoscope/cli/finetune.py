"""``isoscope train finetune``: models fine-tuned with and without calibrations."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from isoscope.cli import options
from isoscope.cli.command_line import command_line
from isoscope.cli.journals import Resume, journal_of
from isoscope.cli.measure import give_out
from isoscope.cli.pictures import pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import plain_warnings

SETTINGS = "Instead of the usual settings"

EXAMPLES = """Examples:

isoscope train finetune package:minilm --task rte --data benchmarks/ --out rte.json

isoscope train finetune package:minilm --task wnli --calibration none,cosreg:weight=10 --epochs 1

isoscope train finetune roberta-base --task mrpc,cola --search --data benchmarks/ --out found.json

isoscope train finetune made:bart --task translate:de-en --data multi30k/ --out de-en.json
"""


def finetune_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A hub id, a folder, package:minilm, or made:bart (a small encoder-decoder with "
            "random weights).",
            show_default=False,
        ),
    ],
    task: Annotated[
        str,
        typer.Option(
            help="With commas: sst-2, mrpc, cola, rte, wnli, sts-b, qnli, mnli, qqp; "
            "translate:de-en (files of lines, such as train.de and train.en); summarize."
        ),
    ],
    calibration: Annotated[
        str,
        typer.Option(
            help="With commas: none, cosreg, spectrum-pol, spectrum-exp, flow, i-star; options "
            "behind a colon, such as spectrum-pol:c1=0.1:weight=10."
        ),
    ] = "none,cosreg,spectrum-pol,spectrum-exp,flow",
    seeds: Annotated[int, typer.Option(help="Runs of each: seeds 0, 1, 2, …", min=1)] = 3,
    target: Annotated[
        Literal["head", "vocabulary", "hidden"] | None,
        typer.Option(
            help="Which matrix is calibrated. Default: the head of labels, or the vocabulary's "
            "output matrix of models that write texts."
        ),
    ] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search", help="First choose the options of each calibration, over a stated grid."
        ),
    ] = False,
    data: options.Data = None,
    epochs: Annotated[
        int | None,
        typer.Option(help="Passes over the examples.", min=1, rich_help_panel=SETTINGS),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Learn from this many examples.", min=1, rich_help_panel=SETTINGS),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Examples a step.", min=1, rich_help_panel=SETTINGS)
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Highest rate.", rich_help_panel=SETTINGS)
    ] = None,
    longest: Annotated[
        int | None,
        typer.Option(help="Cut texts behind this many tokens.", min=1, rich_help_panel=SETTINGS),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a model of the hub.")
    ] = None,
    device: options.Device = None,
    resume: Resume = False,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: options.Out = None,
    debug: options.Debug = False,
) -> None:
    """Fine-tune a model with and without calibrations, and compare scores and evenness.

    Settings are those of Ding et al. (2022) for the kind of model and the task. A star marks what
    a t-test over the seeds finds better than none.
    """
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    journal = journal_of(out, resume=resume)
    from isoscope.training.finetuning import finetune

    with plain_warnings(), progress_bar(unit="steps") as progress:
        result = finetune(
            model,
            task,
            calibration,
            seeds=seeds,
            data=data,
            epochs=epochs,
            limit=limit,
            batch_size=batch_size,
            learning_rate=learning_rate,
            longest=longest,
            target=target,
            search=search,
            journal=journal,
            resume=resume,
            revision=revision,
            device=device,
            progress=progress,
            save=None if out is None else lambda found: found.save(out),
            command=command_line(),
        )
    give_out(result, None, as_json=as_json, pictures=pictures)
