"""``isoscope study``: experiments of papers, run on one's own models."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import isoscope
from isoscope.cli import options
from isoscope.cli.deadline import deadline
from isoscope.cli.output import draw, print_lines, print_screen, watching
from isoscope.cli.streams import command_line, console, error_console, print_facts, print_text
from isoscope.data.output import write_atomically
from isoscope.errors import UsageError
from isoscope.results.destination import ENDINGS, check_writable

# Where studies are looked for, and several are kept, unless a user says otherwise.
USUAL = "studies"

EXAMPLES = """Examples:

isoscope study run B-T1

isoscope study run B-T1 B-F6 --model package:minilm --out studies

isoscope study run L-F3.2 L-F3.3 --model RoBERTa=roberta-base --text sentences.txt --out studies

isoscope study run all --scale mini --data benchmarks --out studies
"""

study_app = options.command_group("Run an experiment of a paper on your own models.")


def room(module: str) -> Any:
    """Return a module of this room: they load all studies, which no help needs."""
    return import_module(f"isoscope.verbs.study.{module}")


Ascii = Annotated[bool, typer.Option("--ascii", help="Draw with plain ASCII characters.")]


def shown_screen(found: Any, *, ascii_only: bool) -> None:
    """Print a screen on standard output."""
    print_screen(found, console(), plain=ascii_only)


@study_app.command("list", epilog="Examples: isoscope study list; isoscope study list B")
def list_studies(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAPER]",
            help=(
                "List only the studies of this paper, with their titles: the letter before their "
                "ids, or an author."
            ),
            show_default=False,
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of finished studies, whose verdicts are shown. Default: "
            f"{USUAL}, if it exists."
        ),
    ] = None,
    details: options.Details = False,
    as_json: options.PrintJson = False,
    ascii_only: Ascii = False,
) -> None:
    """List the papers' studies, with the last verdicts on their claims."""
    chosen = "" if paper is None else room("reference").find_paper(paper)
    finished = results is not None or Path(USUAL).exists()
    last = room("screen").last_verdicts(results) if finished else {}
    if as_json:
        print_facts(room("screen").list_facts(last, chosen))
    elif details:
        print_lines(room("screen").list_lines(last, chosen))
    else:
        shown_screen(room("listing").list_screen(last, chosen), ascii_only=ascii_only)


@study_app.command("show", epilog="Example: isoscope study show B-T1")
def show_study(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a study, such as B-T1.", show_default=False)
    ],
    details: options.Details = False,
    as_json: options.PrintJson = False,
    ascii_only: Ascii = False,
) -> None:
    """Show one study: its method, what it needs, its claims, and the numbers that it prints."""
    screen, study = room("screen"), room("registry").find_study(name)
    if as_json:
        print_facts(screen.describe(study))
    elif details:
        print_lines(screen.study_lines(study))
    else:
        shown_screen(room("answer").study_screen(study), ascii_only=ascii_only)


@dataclass(frozen=True, kw_only=True)
class RunOptions(options.Options):
    """What ``isoscope study run`` takes."""

    names: list[str] = options.argument(
        "ID… [[NAME=]SOURCE…]",
        "Ids of studies, such as B-T1, or all. Then vectors, as for isoscope measure, or models, "
        "as for isoscope profile; with NAME=, claims about a model of the paper are judged for "
        "it. Default sources: those of --scale.",
    )
    sources: list[str] | None = options.option(
        None, "A source, given as an option. May be repeated.", "--model", metavar="[NAME=]SOURCE"
    )
    data: options.Data = None
    column: str | None = options.option(None, "Array or tensor, if a file has several.")
    lookup: options.WordLookup
    text: str | None = options.option(
        None,
        "Texts that models read, as for isoscope profile. Default: those of the paper, if they "
        "are in the folder of --data.",
    )
    text_column: options.TextColumn = None
    sample: int | None = options.option(
        None,
        "Read a random sample of this many texts (of R-T2 and R-T6: pairs per set; of R-T4: "
        "occurrences of verbs).",
        min=1,
    )
    revisions: str | None = options.option(
        None, "Checkpoints for studies of a training, such as 'step*'.", metavar="PATTERN"
    )
    checkpoints: options.Checkpoints
    compute: options.Compute
    last_unused: int | None = options.option(
        None, "Treat this many of the last rows as unused tokens (B-F3).", min=1
    )
    tasks: str | None = options.option(
        None,
        "Comma-separated data sets, such as rte,mrpc, for studies that use several. Default: "
        "those that are in the folder of --data.",
    )
    scale: str | None = options.option(
        None,
        "Models if no source is given, and size of trainings: packaged and small (mini), or as in "
        "the paper (paper). Default: mini.",
        metavar="mini|paper",
        show_default=False,
    )
    reuse: list[Path] | None = options.option(
        None,
        "Use the finished runs of isoscope train --out instead of training. May be repeated.",
        "--from",
        metavar="RESULT.json",
        show_default=False,
    )
    again: bool = options.flag("Run studies again that are already in the folder of --out.")
    seed: options.Seed = 0
    seeds: int = options.option(
        1,
        "Number of seeds, starting at --seed; needs a folder as --out. Figures get their spread "
        "over the seeds, and a claim is decided only if all seeds agree.",
        min=1,
    )
    shown: options.Shown
    out: Path | None = options.option(
        None,
        "A .json or .md file for one study; or a folder, where every study has its file, "
        f"and what is finished is not run again. Default for several: {USUAL}.",
    )
    engine: options.Engine = "local"
    workers: int | None = options.option(
        None,
        "Studies to run at the same time, each in a process or Ray actor with one thread; for a "
        "single study, workers that read its texts.",
        min=1,
        panel=options.SCALE,
    )
    watch: options.Watch
    debug: options.Debug = False


@study_app.command("run", epilog=EXAMPLES)
@options.command
def run_command(given: RunOptions) -> None:
    """Run studies and judge their claims."""
    asked = given.arguments()
    names, sources, out, again = (asked.pop(name) for name in ("names", "sources", "out", "again"))
    screen = room("screen")
    studies, later = screen.parted(names)
    sources = [*later, *(sources or [])]
    asked |= {"reuse": given.reuse or [], "command": command_line()}
    if len(studies) > 1 or is_folder(out):
        check_several(given)
        folder = room("runs.folder").StudyFolder(out or USUAL)
        several = partial(screen.run_several, studies, sources, folder, again=again, **asked)
        with deadline(given.watch.timeout):  # one for all studies
            run_into(folder, [study.id for study in studies], given, several)
        return
    if again:
        raise UsageError("--again is about a folder of studies; name one with --out")
    if asked.pop("seeds") > 1:
        raise UsageError("--seeds is about a folder of studies; name one with --out")
    if out is not None:
        check_writable(out)
    with watching(given.watch) as report:
        if not given.watch.quiet:
            announce(screen.needs_of([studies[0]], {studies[0].id: sources}, asked))
        found = isoscope.run_study(studies[0], sources, progress=report, **asked)
    if out is not None:
        found.save(out)
    draw([found.result], given.shown.pictures)
    if given.shown.as_json:
        print_text(found.result.to_json())
    elif given.shown.details:
        print_lines(screen.run_lines(found))
    else:
        shown_screen(room("answer").run_screen(found), ascii_only=given.shown.ascii)


def run_into(folder: Any, ids: list[str], given: RunOptions, several: Any) -> None:
    """Run several studies into a folder: each is told when it is done, and all of them at the end.

    What is told on the way is no result, and goes where progress does.
    """
    watch = partial(watching, given.watch)
    if given.shown.details:
        print_lines(several(watch))
        return
    failed: UsageError | None = None
    try:
        for line in several(watch, brief=True):
            if not given.watch.quiet:
                error_console().print(line.text, style=line.style, soft_wrap=True)
    except UsageError as error:  # some did not run; what the others found is shown all the same
        failed = error
    except KeyboardInterrupt:
        said = f"{folder.path} keeps the finished studies; run the same command again to continue"
        error_console().print(said, soft_wrap=True)
        raise
    runs = [run for run in folder.sound_runs() if run.study.id in ids and run.result.rows]
    if runs:
        found = room("answer").several_screen(runs, str(folder.path))
        shown_screen(found, ascii_only=given.shown.ascii)
    if failed is not None:
        raise failed


def announce(needs: str) -> None:
    """Say what a long run will need before it starts, where progress is shown."""
    if needs:
        error_console().print(needs, style="dim", soft_wrap=True)


def is_folder(out: Path | None) -> bool:
    """Whether results go into a folder, a file each."""
    return out is not None and (out.is_dir() or not out.suffix)


def check_several(given: RunOptions) -> None:
    """Refuse what is for a single study."""
    out = given.out
    if out is not None and out.suffix.lower() in ENDINGS and not out.is_dir():
        raise UsageError(f"--out {out} is a file for one study; name a folder for several")
    if given.shown.as_json:
        raise UsageError("--json prints one study; several are files in the folder of --out")
    if given.shown.pictures.wanted:
        raise UsageError("--html and --figures draw one study; isoscope report draws several")


@study_app.command(
    "compare",
    epilog="Examples: isoscope study compare studies; isoscope study compare studies --out "
    "studies.md",
)
def compare_studies(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder written by isoscope study run --out.", show_default=False
        ),
    ],
    note: Annotated[
        str, typer.Option(help="A sentence for the page, such as the machine and the date.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Also write a page to this .md or .json file.")
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(help="Write a summary and a page for each study to this folder."),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="Write a small record of each study to this folder."),
    ] = None,
    details: options.Details = False,
    as_json: options.PrintJson = False,
    ascii_only: Ascii = False,
) -> None:
    """Compare finished studies: verdicts on claims, and measured beside printed numbers."""
    if out is not None:
        check_writable(out)
    text = room("text")
    runs = list(room("runs.folder").StudyFolder(folder).runs())
    as_text = json.dumps([text.summary(run) for run in runs], indent=2, ensure_ascii=False)
    if out is not None:
        is_json = out.suffix.lower() == ".json"
        page = as_text if is_json else text.compared_markdown(runs, note)
        write_atomically(out, page + "\n")
    if records is not None:
        for run in runs:
            room("records.store").save_record(run, records)
    if pages is not None:
        # From the records, where there are any: pages and records cannot differ then.
        kept = runs if records is None else list(room("runs.folder").StudyFolder(records).runs())
        room("records.pages").write_pages(kept, pages)
    if as_json:
        print_text(as_text)
    elif details:
        print_lines(room("screen").compared_lines(runs))
    else:
        found = room("answer").several_screen(runs, str(folder), compared=True)
        shown_screen(found, ascii_only=ascii_only)
