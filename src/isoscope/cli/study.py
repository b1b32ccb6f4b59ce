"""``isoscope study``: experiments of papers, run on one's own models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.cli.output import console, silence_stdout
from isoscope.cli.study_run import EXAMPLES, run_command
from isoscope.cli.study_tables import indented, show_outcome, show_table
from isoscope.data.output import write_atomically
from isoscope.results.files import check_writable
from isoscope.results.result import Result, Row
from isoscope.studies.comparing import (
    beside_printed,
    compared_markdown,
    last_verdict,
    outcome_table,
    summary,
)
from isoscope.studies.folder import USUAL, StudyFolder
from isoscope.studies.registry import all_studies, find_study
from isoscope.studies.render import DESCRIPTIVE, figures, number

if TYPE_CHECKING:
    from isoscope.studies.registry import Study


study_app = typer.Typer(help="Run an experiment of a paper on models of your own.")


@study_app.callback(invoke_without_command=True)
def choose(context: typer.Context) -> None:
    """Run an experiment of a paper on models of your own."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@study_app.command("list", epilog="Example: isoscope study list")
def list_studies(
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of finished studies, whose verdicts are shown. Default: "
            f"{USUAL}, where it is there."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show every study with what it needs, and what became of it last."""
    known = last_verdicts(results)
    if as_json:
        listed = [
            {**describe(study), "last_verdict": known.get(study.id)} for study in all_studies()
        ]
        print_text(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    screen = console()
    for study in all_studies():
        screen.print(f"{study.id}  {study.title}", style="bold")
        indented(screen, f"{study.paper}; needs {study.needs}")
        if study.id in known:
            indented(screen, f"last: {known[study.id]}")


def last_verdicts(folder: Path | None) -> dict[str, str]:
    """Return what became of every study that a folder has; the usual one need not be there."""
    if folder is None:
        return {run.study.id: last_verdict(run) for run in StudyFolder(USUAL).sound_runs()}
    return {run.study.id: last_verdict(run) for run in StudyFolder(folder).runs()}


def print_text(text: str) -> None:
    """Print text, which somebody may stop reading."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        silence_stdout()


@study_app.command("show", epilog="Example: isoscope study show B-T1")
def show_study(
    name: Annotated[str, typer.Argument(metavar="ID", help="Such as B-T1.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show one study: what is done, what it needs and claims, and the numbers that it prints."""
    study = find_study(name)
    if as_json:
        typer.echo(json.dumps(describe(study), indent=2, ensure_ascii=False))
        return
    screen = console()
    screen.print(f"{study.id}  {study.title}", style="bold")
    indented(screen, f"{study.paper}")
    indented(screen, f"what is done: {study.does}")
    for measure, formula in study.formulas.items():
        indented(screen, f"formula: {measure} = {formula}")
    indented(screen, f"needs: {study.needs}")
    models = ", ".join(name.replace("|", " or ") for name in study.models)
    indented(screen, f"models in the paper: {models or 'none'}")
    if study.tasks:
        indented(screen, f"sets to choose from with --tasks: {', '.join(study.tasks)}")
    for scale, taken in study.scales.items():
        named = ", ".join(taken.sources) or "nothing"
        indented(screen, f"--scale {scale} without sources: {named}")
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


study_app.command("run", epilog=EXAMPLES)(run_command)


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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Lay finished studies side by side: claims with verdicts, measured and printed numbers."""
    if out is not None:
        check_writable(out)
    runs = list(StudyFolder(folder).runs())
    as_text = json.dumps([summary(run) for run in runs], indent=2, ensure_ascii=False)
    if out is not None:
        page = as_text if out.suffix.lower() == ".json" else compared_markdown(runs, note)
        write_atomically(out, page + "\n")
    if as_json:
        print_text(as_text)
        return
    screen = console()
    show_table(without_titles(outcome_table(runs)), screen)
    for run in runs:
        screen.print(f"{run.study.id}  {run.study.title}", style="bold")
        for verdict in run.verdicts:
            show_outcome(verdict, screen)
        for one in beside_printed(run):
            indented(
                screen,
                f"{one.what}: measured {number(one.measured)}, printed {one.printed:g}, "
                f"difference {number(one.difference)}",
            )


def without_titles(table: list[list[str]]) -> list[list[str]]:
    """Leave out what studies look at, which stands below and takes a screen's width."""
    return [[line[0], *line[2:]] for line in table]


def describe(study: Study) -> dict[str, Any]:
    """Return what is known about a study as a plain dictionary."""
    return {
        "id": study.id,
        "title": study.title,
        "document": study.document,
        "paper": study.paper,
        "does": study.does,
        "formulas": study.formulas,
        "needs": study.needs,
        "models": list(study.models),
        "tasks": list(study.tasks),
        "scales": {scale: list(taken.sources) for scale, taken in study.scales.items()},
        "claims": [claim.text for claim in study.claims],
        "misprints": study.misprints,
        "printed": [
            dict(zip(("subject", "part", "correction", "measure"), key, strict=True), value=value)
            for key, value in study.printed().items()
        ],
    }
