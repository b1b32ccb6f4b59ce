"""``isoscope study``: experiments of papers, run on one's own models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from isoscope.cli import options
from isoscope.registry import load

# Where studies are looked for, and several are kept, unless a user says otherwise.
USUAL = "studies"

EXAMPLES = """Examples:

isoscope study run B-T1

isoscope study run B-T1 package:minilm BERT-base-cased=bert/model.safetensors --column wte

isoscope study run L-F3.2 L-F3.3 --model RoBERTa=roberta-base --text sentences.txt --out studies

isoscope study run all --scale mini --data benchmarks --out studies
"""

study_app = options.command_group("Run an experiment of a paper on models of your own.")


@study_app.command("list", epilog="Example: isoscope study list")
def list_studies(
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of finished studies, whose verdicts are shown. Default: "
            f"{USUAL}, where it is there."
        ),
    ] = None,
    as_json: options.PrintJson = False,
) -> None:
    """Show every study with what it needs, and what became of it last."""
    load("isoscope.cli.studies:list_studies")(results, as_json=as_json)


@study_app.command("show", epilog="Example: isoscope study show B-T1")
def show_study(
    name: Annotated[str, typer.Argument(metavar="ID", help="Such as B-T1.", show_default=False)],
    as_json: options.PrintJson = False,
) -> None:
    """Show one study: what is done, what it needs and claims, and the numbers that it prints."""
    load("isoscope.cli.studies:show_study")(name, as_json=as_json)


NAMES_HELP = (
    "Studies, such as B-T1, or all of them: all. Then vectors, as for isoscope measure, or models, "
    "as for isoscope profile; a name tells whether it is the paper's model. Without sources: those "
    "of the scale."
)


@dataclass(frozen=True, kw_only=True)
class RunOptions(options.Options):
    """What ``isoscope study run`` takes."""

    names: Annotated[
        list[str],
        typer.Argument(metavar="ID… [[NAME=]SOURCE…]", help=NAMES_HELP, show_default=False),
    ]
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="[NAME=]SOURCE", help="A source, as an option; may be several."
        ),
    ] = None
    data: options.Data = None
    column: Annotated[
        str | None, typer.Option(help="Which array or tensor of files that hold several.")
    ] = None
    lookup: options.WordLookup
    text: Annotated[
        str | None,
        typer.Option(
            help="Texts that models read, as for isoscope profile. Default: the paper's own, "
            "where --data has it."
        ),
    ] = None
    text_column: options.TextColumn = None
    sample: Annotated[
        int | None, typer.Option(help="Read so many of the texts, drawn at random.", min=1)
    ] = None
    revisions: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Which checkpoints a study of training looks at, such as 'step*'.",
        ),
    ] = None
    checkpoints: options.Checkpoints
    compute: options.Compute
    last_unused: Annotated[
        int | None,
        typer.Option(
            help="Take this many of the last rows for tokens that were never used (B-F3).", min=1
        ),
    ] = None
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Which sets a study of several scores, with commas, such as rte,mrpc. Default: "
            "those of its sets whose data are in the folder."
        ),
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="mini|paper",
            help="What is taken where no source is named, and how large a study that trains is: "
            "mini is what is at hand, paper the paper's own models. Default: mini.",
            show_default=False,
        ),
    ] = None
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="RESULT.json",
            help="Take the finished runs of isoscope train --out instead of training; several "
            "times for several files.",
            show_default=False,
        ),
    ] = None
    again: Annotated[
        bool, typer.Option("--again", help="Run what the folder of --out has already.")
    ] = False
    seed: options.Seed = 0
    shown: options.Shown
    out: Annotated[
        Path | None,
        typer.Option(
            help="A .json or .md file for one study; or a folder, where every study has its file, "
            f"and what is finished is not run again. Default for several: {USUAL}."
        ),
    ] = None
    engine: options.Engine = "local"
    workers: Annotated[
        int | None,
        typer.Option(
            help="Studies that run at a time, each in a process or an actor of Ray with one "
            "thread. Of a single study, who reads its texts, as for isoscope profile.",
            min=1,
            rich_help_panel=options.SCALE,
        ),
    ] = None
    watch: options.Watch
    debug: options.Debug = False


@study_app.command("run", epilog=EXAMPLES)
@options.command
def run_command(given: RunOptions) -> None:
    """Run studies and judge their claims."""
    load("isoscope.cli.studies:run_studies")(given)


@study_app.command(
    "compare",
    epilog="Examples: isoscope study compare studies; isoscope study compare studies --out "
    "studies.md",
)
def compare_studies(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder that isoscope study run --out made.", show_default=False
        ),
    ],
    note: Annotated[str, typer.Option(help="A sentence for the page: the machine, the date.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Also write a page to this .md or .json file.")
    ] = None,
    as_json: options.PrintJson = False,
) -> None:
    """Lay finished studies side by side: claims with verdicts, measured and printed numbers."""
    load("isoscope.cli.studies:compare_studies")(folder, note, out, as_json=as_json)
