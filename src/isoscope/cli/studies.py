"""Studies on a screen: what there is, what a run found, several runs side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.cli.output import draw, show_table, watching
from isoscope.cli.streams import command_line, console, indented, print_facts, print_text
from isoscope.compute.execution import on_accelerators, open_pool, ray_address
from isoscope.data.output import write_atomically
from isoscope.errors import IsoscopeError, UsageError
from isoscope.results.result import Result, Row, check_writable
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.comparison import (
    beside_printed,
    compared_markdown,
    last_verdict,
    outcome_table,
    summary,
)
from isoscope.verbs.study.folder import USUAL, StudyFolder, run_spread
from isoscope.verbs.study.registry import all_studies, find_study
from isoscope.verbs.study.text import (
    DESCRIPTIVE,
    case_lines,
    figure_number,
    figures,
    study_notes,
    verdict_line,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from isoscope.cli.options import Watch
    from isoscope.verbs.study.api import StudyRun
    from isoscope.verbs.study.claims import Verdict
    from isoscope.verbs.study.cli import RunOptions
    from isoscope.verbs.study.registry import Study

OUTCOME_STYLES = {"holds": "green", "fails": "red", "cannot be judged": "yellow"}
ALL = "all"
LIKE_AN_ID = re.compile(r"[BRDLP]-[A-Z][\w.]*", re.IGNORECASE)
FILES = (".json", ".md")


def run_studies(given: RunOptions) -> None:
    """Run studies and judge their claims: one to the screen, several into a folder."""
    asked = given.arguments()
    names, sources, out, again = (asked.pop(name) for name in ("names", "sources", "out", "again"))
    studies, later = parted(names)
    sources = [*later, *(sources or [])]
    asked |= {"reuse": given.reuse or [], "command": command_line()}
    pictures = given.shown.pictures
    if len(studies) > 1 or is_folder(out):
        if out is not None and out.suffix.lower() in FILES and not out.is_dir():
            raise UsageError(f"--out {out} is a file for one study; name a folder for several")
        if given.shown.as_json:
            raise UsageError("--json prints one study; several are files in the folder of --out")
        if pictures.wanted:
            raise UsageError("--html and --figures draw one study; isoscope report draws several")
        folder = StudyFolder(out or USUAL)
        shares = given.workers is not None or ray_address(given.engine) is not None
        run = run_shared if shares and len(studies) > 1 else run_many
        run(studies, sources, asked, folder, given.watch, again=again)
        return
    if again:
        raise UsageError("--again is about a folder of studies; name one with --out")
    if out is not None:
        check_writable(out)
    with watching(given.watch) as report:
        found = run_study(studies[0], sources, progress=report, **asked)
    if out is not None:
        found.save(out)
    draw([found.result], pictures)
    if given.shown.as_json:
        print_text(found.result.to_json())
    else:
        show_run(found, console())


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


def show_outcome(verdict: Verdict, screen: Console) -> None:
    """Print a claim in a line, with what became of it."""
    said = f"{verdict.outcome}: {verdict.text} ({verdict.reason})"
    indented(screen, said, style=OUTCOME_STYLES[verdict.outcome])


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
            with watching(watch) as report:
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
    *,
    again: bool,
) -> None:
    """Run several studies at a time; they are shown as they are done."""
    screen = console()
    folder.prepare()
    failed: list[str] = []
    count = len(studies)
    # A study that has a worker to itself does not share its texts out once more.
    who = asked.pop("engine"), asked.pop("workers")
    with (
        watching(watch) as report,
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


def list_studies(results: Path | None, *, as_json: bool) -> None:
    """Print every study with what it needs, and what became of it last."""
    known = last_verdicts(results)
    if as_json:
        print_facts(
            [{**describe(study), "last_verdict": known.get(study.id)} for study in all_studies()]
        )
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


def show_study(name: str, *, as_json: bool) -> None:
    """Print one study: what is done, what it needs and claims, and the numbers that it prints."""
    study = find_study(name)
    if as_json:
        print_facts(describe(study))
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


def compare_studies(folder: Path, note: str, out: Path | None, *, as_json: bool) -> None:
    """Print finished studies side by side: claims with verdicts, measured and printed numbers."""
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
                f"{one.what}: measured {figure_number(one.measured)}, printed {one.printed:g}, "
                f"difference {figure_number(one.difference)}",
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
