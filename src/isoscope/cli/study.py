"""``isoscope study``: experiments of papers, run on one's own models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table

from isoscope.cli import options
from isoscope.cli.command_line import command_line
from isoscope.cli.measure import fitting, print_json
from isoscope.cli.output import console
from isoscope.cli.progress import progress_bar
from isoscope.cli.warned import plain_warnings
from isoscope.models.steps import parse_every
from isoscope.results.files import check_writable
from isoscope.results.render import Grid
from isoscope.results.result import Result, Row
from isoscope.studies import all_studies, find_study, run_study
from isoscope.studies.render import DESCRIPTIVE, case_lines, figures, study_notes, verdict_line

if TYPE_CHECKING:
    from rich.console import Console

    from isoscope.studies import Study, StudyRun

study_app = typer.Typer(help="Run an experiment of a paper on models of your own.")

OUTCOME_STYLES = {"holds": "green", "fails": "red", "cannot be judged": "yellow"}


@study_app.callback(invoke_without_command=True)
def choose(context: typer.Context) -> None:
    """Run an experiment of a paper on models of your own."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@study_app.command("list", epilog="Example: isoscope study list")
def list_studies(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show every study with what it needs."""
    if as_json:
        typer.echo(json.dumps([describe(study) for study in all_studies()], indent=2,
                              ensure_ascii=False))  # fmt: skip
        return
    screen = console()
    for study in all_studies():
        screen.print(f"{study.id}  {study.title}", style="bold")
        indented(screen, f"{study.paper}; needs {study.needs}")


@study_app.command("show", epilog="Example: isoscope study show B-T1")
def show_study(
    name: Annotated[str, typer.Argument(metavar="ID", help="Such as B-T1.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show one study: what it needs, what it claims, and the numbers that the paper prints."""
    study = find_study(name)
    if as_json:
        typer.echo(json.dumps(describe(study), indent=2, ensure_ascii=False))
        return
    screen = console()
    screen.print(f"{study.id}  {study.title}", style="bold")
    indented(screen, f"{study.paper}")
    indented(screen, f"needs: {study.needs}")
    models = ", ".join(name.replace("|", " or ") for name in study.models)
    indented(screen, f"models in the paper: {models or 'none'}")
    if study.tasks:
        indented(screen, f"sets to choose from with --tasks: {', '.join(study.tasks)}")
    for scale, sources in study.scales.items():
        indented(screen, f"--scale {scale} without sources: {', '.join(sources)}")
    for claim in study.claims:
        indented(screen, f"claim: {claim.text}")
    if not study.claims:
        indented(screen, DESCRIPTIVE)
    for row in study.misprints:
        indented(screen, f"misprint: {row['cell']}, printed {row['printed']}: {row['note']}")
    printed = study.printed()
    if printed:
        rows = [Row(*key, value=value) for key, value in printed.items()]
        screen.print("printed:")
        show_table(figures(Result(rows)), screen)


@study_app.command(
    "run",
    epilog="Examples: isoscope study run B-T1 package:minilm "
    "BERT-base-cased=bert/model.safetensors --column embeddings.word_embeddings.weight; "
    "isoscope study run L-F3.2 RoBERTa=roberta-base --text sentences.txt; "
    "isoscope study run D-T1 --scale mini --data benchmarks",
)
def run_command(
    name: Annotated[str, typer.Argument(metavar="ID", help="Such as B-T1.", show_default=False)],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]SOURCE…",
            help="Vectors, as for isoscope measure, or models, as for isoscope profile. A name "
            "tells whether it is the paper's model.",
            show_default=False,
        ),
    ] = None,
    data: options.Data = None,
    column: Annotated[
        str | None, typer.Option(help="Which array or tensor of files that hold several.")
    ] = None,
    words: options.Words = None,
    vocabulary: options.Vocabulary = None,
    lowercase: options.Lowercase = False,
    prefix: options.Prefix = "",
    text: Annotated[
        str | None,
        typer.Option(
            help="Texts that models read, as for isoscope profile. Default: the paper's own, "
            "where --data has it."
        ),
    ] = None,
    text_column: options.TextColumn = None,
    revisions: Annotated[
        str | None,
        typer.Option(
            metavar="PATTERN",
            help="Which checkpoints a study of training looks at, such as 'step*'.",
        ),
    ] = None,
    every: options.Every = None,
    keep: options.Keep = None,
    cache: options.Cache = None,
    dtype: options.Dtype = "float32",
    device: options.Device = None,
    last_unused: Annotated[
        int | None,
        typer.Option(
            help="Take this many of the last rows for tokens that were never used (B-F3).", min=1
        ),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Which sets a study of several scores, with commas, such as rte,mrpc. Default: "
            "those of its sets whose data are in the folder."
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="mini|paper",
            help="How large a study that trains is, and what it trains where no source is named. "
            "Default: mini.",
            show_default=False,
        ),
    ] = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="RESULT.json",
            help="Take the finished runs of isoscope train finetune --out instead of training; "
            "several times for several files.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    out: options.Out = None,
    debug: options.Debug = False,
) -> None:
    """Run a study and judge its claims."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    study = find_study(name)
    if out is not None:
        check_writable(out)
    with plain_warnings(), progress_bar() as progress:
        run = run_study(
            study,
            sources or [],
            data=data,
            column=column,
            words=words,
            vocabulary=vocabulary,
            lowercase=lowercase,
            prefix=prefix,
            text=text,
            text_column=text_column,
            revisions=revisions,
            every=parse_every(every),
            keep=keep,
            cache=cache,
            dtype=dtype,
            device=device,
            last_unused=last_unused,
            tasks=tasks,
            scale=scale,
            reuse=reuse or [],
            seed=seed,
            progress=progress,
            command=command_line(),
        )
    if out is not None:
        run.save(out)
    if as_json:
        print_json(run.result)
    else:
        show_run(run, console())


def show_run(run: StudyRun, screen: Console) -> None:
    """Print figures, remarks and claims."""
    screen.print(f"{run.study.id}  {run.study.title}", style="bold")
    screen.print(run.study.paper)
    show_table(figures(run.result), screen)
    for remark in study_notes(run.study, run.result):
        screen.print(remark, style="dim")
    for verdict in run.verdicts:
        screen.print(verdict_line(verdict), style=OUTCOME_STYLES[verdict.outcome])
        for line in case_lines(verdict):
            indented(screen, line)
    if not run.verdicts:
        screen.print(DESCRIPTIVE)


def show_table(table: list[list[str]], screen: Console) -> None:
    """Print a table, cut where it is wider than the screen."""
    whole = Grid("", table[0], table[1:], [], [])
    for header, rows in fitting(whole, screen.width):
        shown = Table()
        for k, name in enumerate(header):
            shown.add_column(name, justify="right" if k else "left", overflow="fold")
        for row in rows:
            shown.add_row(*row)
        screen.print(shown)


def indented(screen: Console, text: str) -> None:
    """Print text with room before it."""
    screen.print(Padding(text, (0, 0, 0, 4), expand=False))


def describe(study: Study) -> dict[str, object]:
    """Return what is known about a study as a plain dictionary."""
    return {
        "id": study.id,
        "title": study.title,
        "paper": study.paper,
        "needs": study.needs,
        "models": list(study.models),
        "tasks": list(study.tasks),
        "scales": {scale: list(sources) for scale, sources in study.scales.items()},
        "claims": [claim.text for claim in study.claims],
        "misprints": study.misprints,
        "printed": [
            dict(zip(("subject", "part", "correction", "measure"), key, strict=True), value=value)
            for key, value in study.printed().items()
        ],
    }
