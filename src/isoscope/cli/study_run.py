"""``isoscope study run``: one study or many, on one's own models or on what is at hand."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isoscope.cli import options, scaling
from isoscope.cli.command_line import command_line
from isoscope.cli.measure import print_json
from isoscope.cli.output import console
from isoscope.cli.pictures import pictures_of
from isoscope.cli.progress import progress_bar
from isoscope.cli.study_tables import indented, show_outcome, show_run
from isoscope.cli.warned import warnings_shown
from isoscope.compute.execution import on_accelerators, open_pool, ray_address
from isoscope.errors import IsoscopeError, UsageError
from isoscope.models.checkpoints import parse_every
from isoscope.results.files import check_writable
from isoscope.studies.folder import USUAL, StudyFolder
from isoscope.studies.registry import all_studies, find_study
from isoscope.studies.running import run_study

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.cli.progress import Mode
    from isoscope.compute.stage import Progress
    from isoscope.studies.registry import Study
    from isoscope.studies.running import StudyRun


EXAMPLES = """Examples:

isoscope study run B-T1

isoscope study run B-T1 package:minilm BERT-base-cased=bert/model.safetensors --column wte

isoscope study run L-F3.2 L-F3.3 --model RoBERTa=roberta-base --text sentences.txt --out studies

isoscope study run all --scale mini --data benchmarks --out studies
"""

ALL = "all"
LIKE_AN_ID = re.compile(r"[BRDLP]-[A-Z][\w.]*", re.IGNORECASE)
FILES = (".json", ".md")


def run_command(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="ID… [[NAME=]SOURCE…]",
            help="Studies, such as B-T1, or all of them: all. Then vectors, as for isoscope "
            "measure, or models, as for isoscope profile; a name tells whether it is the paper's "
            "model. Without sources: those of the scale.",
            show_default=False,
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]SOURCE", help="A source, as an option; may be several."),
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
    sample: Annotated[
        int | None, typer.Option(help="Read so many of the texts, drawn at random.", min=1)
    ] = None,
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
            help="What is taken where no source is named, and how large a study that trains is: "
            "mini is what is at hand, paper the paper's own models. Default: mini.",
            show_default=False,
        ),
    ] = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="RESULT.json",
            help="Take the finished runs of isoscope train --out instead of training; several "
            "times for several files.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run what the folder of --out has already.")
    ] = False,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    html: options.Html = None,
    figures: options.Figures = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A .json or .md file for one study; or a folder, where every study has its file, "
            f"and what is finished is not run again. Default for several: {USUAL}."
        ),
    ] = None,
    engine: scaling.Engine = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            help="Studies that run at a time, each in a process or an actor of Ray with one "
            "thread. Of a single study, who reads its texts, as for isoscope profile.",
            min=1,
            rich_help_panel=scaling.SCALE,
        ),
    ] = None,
    progress: options.ProgressMode = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Run studies and judge their claims."""
    del debug  # the frame looks for it, so that it works before the options are parsed
    pictures = pictures_of(html, figures)
    studies, sources = parted(names)
    shares = workers is not None or ray_address(engine) is not None
    sources += model or []
    asked: dict[str, Any] = {
        "data": data, "column": column, "words": words, "vocabulary": vocabulary,
        "lowercase": lowercase, "prefix": prefix, "text": text, "text_column": text_column,
        "sample": sample, "revisions": revisions, "every": parse_every(every), "keep": keep,
        "cache": cache, "dtype": dtype, "device": device, "last_unused": last_unused,
        "tasks": tasks, "scale": scale, "reuse": reuse or [], "seed": seed,
        "command": command_line(),
    }  # fmt: skip
    if len(studies) > 1 or is_folder(out):
        if out is not None and out.suffix.lower() in FILES and not out.is_dir():
            raise UsageError(f"--out {out} is a file for one study; name a folder for several")
        if as_json:
            raise UsageError("--json prints one study; several are files in the folder of --out")
        if html is not None or figures is not None:
            raise UsageError("--html and --figures draw one study; isoscope report draws several")
        folder = StudyFolder(out or USUAL)
        watch = Watch(progress, quiet)
        if shares and len(studies) > 1:
            run_shared(studies, sources, asked, folder, watch, (engine, workers), again=again)
        else:
            asked |= {"engine": engine, "workers": workers}
            run_many(studies, sources, asked, folder, watch, again=again)
        return
    if again:
        raise UsageError("--again is about a folder of studies; name one with --out")
    if out is not None:
        check_writable(out)
    asked |= {"engine": engine, "workers": workers}
    with Watch(progress, quiet).shown() as report:
        run = run_study(studies[0], sources, progress=report, **asked)
    if out is not None:
        run.save(out)
    pictures.draw([run.result])
    if as_json:
        print_json(run.result)
    else:
        show_run(run, console())


@dataclass(frozen=True)
class Watch:
    """What is shown on standard error while studies run."""

    mode: Mode | None
    quiet: bool

    @contextmanager
    def shown(self) -> Iterator[Progress | None]:
        """Show warnings and progress for a while."""
        with (
            warnings_shown(quiet=self.quiet),
            progress_bar(quiet=self.quiet, mode=self.mode) as report,
        ):
            yield report


def parted(names: Sequence[str]) -> tuple[list[Study], list[str]]:
    """Part ids, which come first, from sources."""
    known = {study.id.casefold() for study in all_studies()}
    if names[0].casefold() == ALL:
        return list(all_studies()), list(names[1:])
    for name in names:
        if LIKE_AN_ID.fullmatch(name) and not Path(name).exists():
            find_study(name)  # which says what there is
    count = next((k for k, name in enumerate(names) if name.casefold() not in known), len(names))
    if count == 0:
        find_study(names[0])  # which says what there is
    late = [name for name in names[count:] if name.casefold() in known]
    if late:
        raise UsageError(f"{late[0]} is a study: ids come before sources")
    studies = [find_study(name) for name in names[:count]]
    return list({study.id: study for study in studies}.values()), list(names[count:])


def is_folder(out: Path | None) -> bool:
    """Whether results go into a folder, a file each."""
    return out is not None and (out.is_dir() or not out.suffix)


def run_many(
    studies: Sequence[Study],
    sources: Sequence[str],
    asked: dict[str, Any],
    folder: StudyFolder,
    watch: Watch,
    *,
    again: bool,
) -> None:
    """Run one study after the other; one that cannot run does not keep the others from it."""
    screen = console()
    folder.prepare()
    failed: list[str] = []
    for number, study in enumerate(studies, start=1):
        screen.print(f"[{number}/{len(studies)}] {study.id}  {study.title}", style="bold")
        there = folder.file_of(study).is_file()
        try:
            with watch.shown() as report:
                run, known = folder.run(study, sources, again=again, progress=report, **asked)
        except IsoscopeError as error:
            if len(studies) == 1:
                raise
            failed.append(study.id)
            indented(screen, str(error), style="red")
            continue
        if there and not known and not again:
            indented(screen, "replaces a result of other sources or options", style="yellow")
        show_outcomes(run, known=known)
    close(folder, studies, failed)


def run_shared(
    studies: Sequence[Study],
    sources: Sequence[str],
    asked: dict[str, Any],
    folder: StudyFolder,
    watch: Watch,
    who: tuple[str, int | None],
    *,
    again: bool,
) -> None:
    """Run several studies at a time; they are shown as they are done."""
    from isoscope.studies.spread import run_spread

    screen = console()
    folder.prepare()
    failed: list[str] = []
    count = len(studies)
    with (
        watch.shown() as report,
        open_pool(*who, accelerators=on_accelerators(asked["device"])) as pool,
    ):
        outcomes = run_spread(studies, sources, folder, pool, again=again, **asked)
        for number, outcome in enumerate(outcomes, start=1):
            study = outcome.study
            screen.print(f"[{number}/{count}] {study.id}  {study.title}", style="bold")
            if outcome.run is None:
                failed.append(study.id)
                indented(screen, outcome.failure, style="red")
            else:
                show_outcomes(outcome.run, known=outcome.known)
            if report is not None:
                report("studies", number, count)
    close(folder, studies, failed)


def close(folder: StudyFolder, studies: Sequence[Study], failed: Sequence[str]) -> None:
    """Say where results are, and which studies have none."""
    if len(failed) < len(studies):
        where = folder.path
        console().print(f"results: {where}; isoscope study compare {where} lays them side by side")
    if failed:
        listed = ", ".join(failed)
        raise UsageError(f"{len(failed)} of {len(studies)} studies did not run: {listed}")


def show_outcomes(run: StudyRun, *, known: bool) -> None:
    """Print a line for every claim."""
    screen = console()
    if known:
        indented(screen, "finished before", style="dim")
    for verdict in run.verdicts:
        show_outcome(verdict, screen)
