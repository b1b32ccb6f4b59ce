"""``isoscope study``: experiments of papers, run on one's own models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from isoscope.cli import options
from isoscope.registry import load

USUAL = "studies"
"""Where studies are looked for, and several are kept, unless a user says otherwise."""

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


@dataclass(frozen=True, kw_only=True)
class RunOptions(options.Options):
    """What ``isoscope study run`` takes."""

    names: list[str] = options.argument(
        "ID… [[NAME=]SOURCE…]",
        "Studies, such as B-T1, or all of them: all. Then vectors, as for isoscope measure, or "
        "models, as for isoscope profile; a name tells whether it is the paper's model. Without "
        "sources: those of the scale.",
    )
    sources: list[str] | None = options.option(
        None, "A source, as an option; may be several.", "--model", metavar="[NAME=]SOURCE"
    )
    data: options.Data = None
    column: str | None = options.option(None, "Which array or tensor of files that hold several.")
    lookup: options.WordLookup
    text: str | None = options.option(
        None,
        "Texts that models read, as for isoscope profile. Default: the paper's own, where --data "
        "has it.",
    )
    text_column: options.TextColumn = None
    sample: int | None = options.option(None, "Read so many of the texts, drawn at random.", min=1)
    revisions: str | None = options.option(
        None, "Which checkpoints a study of training looks at, such as 'step*'.", metavar="PATTERN"
    )
    checkpoints: options.Checkpoints
    compute: options.Compute
    last_unused: int | None = options.option(
        None, "Take this many of the last rows for tokens that were never used (B-F3).", min=1
    )
    tasks: str | None = options.option(
        None,
        "Which sets a study of several scores, with commas, such as rte,mrpc. Default: those of "
        "its sets whose data are in the folder.",
    )
    scale: str | None = options.option(
        None,
        "What is taken where no source is named, and how large a study that trains is: mini is "
        "what is at hand, paper the paper's own models. Default: mini.",
        metavar="mini|paper",
        show_default=False,
    )
    reuse: list[Path] | None = options.option(
        None,
        "Take the finished runs of isoscope train --out instead of training; several times for "
        "several files.",
        "--from",
        metavar="RESULT.json",
        show_default=False,
    )
    again: bool = options.flag("Run what the folder of --out has already.")
    seed: options.Seed = 0
    shown: options.Shown
    out: Path | None = options.option(
        None,
        "A .json or .md file for one study; or a folder, where every study has its file, "
        f"and what is finished is not run again. Default for several: {USUAL}.",
    )
    engine: options.Engine = "local"
    workers: int | None = options.option(
        None,
        "Studies that run at a time, each in a process or an actor of Ray with one thread. Of a "
        "single study, who reads its texts, as for isoscope profile.",
        min=1,
        panel=options.SCALE,
    )
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
