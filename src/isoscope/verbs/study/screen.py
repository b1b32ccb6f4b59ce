"""What ``isoscope study`` shows: studies, what a run found, several runs side by side.

Everything is given out line by line, so that a person sees a study as soon as it is done; a list of
lists is a table.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.compute.execution import on_accelerators, open_pool, ray_address
from isoscope.errors import IsoscopeError, UsageError
from isoscope.results.render import Line
from isoscope.results.result import Result, Row
from isoscope.verbs.study.folder import USUAL, StudyFolder, run_spread
from isoscope.verbs.study.registry import Study, all_studies, find_study
from isoscope.verbs.study.text import (
    DESCRIPTIVE,
    beside_printed,
    case_lines,
    figure_number,
    figures,
    last_verdict,
    misprint_lines,
    outcome_table,
    study_notes,
    verdict_line,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from contextlib import AbstractContextManager

    from isoscope.progress import Progress
    from isoscope.verbs.study.api import StudyRun

    Lines: TypeAlias = Iterator[Line | list[list[str]]]
    Watching: TypeAlias = Callable[[], AbstractContextManager[Progress | None]]
    """Shows progress for as long as a ``with`` block lasts."""

OUTCOME_STYLES = {
    "holds": "green",
    "fails": "red",
    "reversed": "magenta",
    "undecided": "yellow",
    "not applicable": "dim",
    "not run": "dim",
}
ALL = "all"
LIKE_AN_ID = re.compile(r"[BRDLP]-[A-Z][\w.]*", re.IGNORECASE)


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


def run_lines(run: StudyRun) -> Lines:
    """Show figures, remarks and claims."""
    yield heading(run.study)
    yield Line(run.study.paper)
    yield figures(run.result)
    for remark in study_notes(run.study, run.result):
        yield Line(remark, "dim")
    for verdict in run.verdicts:
        yield Line(verdict_line(verdict), OUTCOME_STYLES[verdict.outcome])
        for line in case_lines(verdict):
            yield below(line)
    if not run.verdicts:
        yield Line(DESCRIPTIVE)


def run_several(
    studies: Sequence[Study],
    sources: Sequence[str],
    folder: StudyFolder,
    watching: Watching,
    **options: Any,
) -> Lines:
    """Run studies into a folder, several at a time where workers share them; show each when done.

    Raises
    ------
    UsageError
        At the end, where some of them did not run.
    """
    folder.prepare()
    workers = options["workers"] is not None or ray_address(options["engine"]) is not None
    run = run_shared if workers and len(studies) > 1 else run_one_by_one
    failed = yield from run(studies, sources, folder, watching, **options)
    if len(failed) < len(studies):
        where = folder.path
        yield Line(f"results: {where}; isoscope study compare {where} lays them side by side")
    if failed:
        listed = ", ".join(failed)
        raise UsageError(f"{len(failed)} of {len(studies)} studies did not run: {listed}")


def run_one_by_one(
    studies: Sequence[Study], sources: Sequence[str], folder: StudyFolder, watching: Watching,
    **options: Any,
) -> Generator[Line, None, list[str]]:  # fmt: skip
    """Run one study after the other; one that cannot run does not keep the others from it."""
    failed: list[str] = []
    for number, study in enumerate(studies, start=1):
        yield heading(study, f"[{number}/{len(studies)}] ")
        there = folder.file_of(study).is_file()
        try:
            with watching() as report:
                run, known = folder.run(study, sources, progress=report, **options)
        except IsoscopeError as error:
            if len(studies) == 1:
                raise
            failed.append(study.id)
            yield below(str(error), "red")
            continue
        if there and not known and not options["again"]:
            yield below("replaces a result of other sources or options", "yellow")
        yield from outcome_lines(run, known=known)
    return failed


def run_shared(
    studies: Sequence[Study], sources: Sequence[str], folder: StudyFolder, watching: Watching,
    **options: Any,
) -> Generator[Line, None, list[str]]:  # fmt: skip
    """Run several studies at a time."""
    failed: list[str] = []
    # A study that has a worker to itself does not share its texts out once more.
    who = options.pop("engine"), options.pop("workers")
    accelerators = on_accelerators(options["device"])
    with watching() as report, open_pool(*who, accelerators=accelerators) as pool:
        outcomes = run_spread(studies, sources, folder, pool, **options)
        for number, outcome in enumerate(outcomes, start=1):
            yield heading(outcome.study, f"[{number}/{len(studies)}] ")
            if outcome.run is None:
                failed.append(outcome.study.id)
                yield below(outcome.failure, "red")
            else:
                yield from outcome_lines(outcome.run, known=outcome.known)
            if report is not None:
                report("studies", number, len(studies))
    return failed


def outcome_lines(run: StudyRun, *, known: bool = False) -> Iterator[Line]:
    """Show every claim in a line, with what became of it."""
    if known:
        yield below("finished before", "dim")
    for verdict in run.verdicts:
        yield below(verdict_line(verdict), OUTCOME_STYLES[verdict.outcome])


def list_lines(last: dict[str, str]) -> Lines:
    """Show every study with what it needs, and what became of it last."""
    for study in all_studies():
        yield heading(study)
        yield below(f"{study.paper}; needs {study.needs}")
        if study.id in last:
            yield below(f"last: {last[study.id]}")


def list_facts(last: dict[str, str]) -> list[dict[str, Any]]:
    """Return the same as plain dictionaries."""
    return [{**describe(study), "last_verdict": last.get(study.id)} for study in all_studies()]


def last_verdicts(folder: Path | None) -> dict[str, str]:
    """Return what became of every study that a folder has; the usual one need not be there."""
    runs = StudyFolder(USUAL).sound_runs() if folder is None else StudyFolder(folder).runs()
    return {run.study.id: last_verdict(run) for run in runs}


def study_lines(study: Study) -> Lines:
    """Show one study: what is done, what it needs and claims, and the numbers that it prints."""
    yield heading(study)
    models = ", ".join(name.replace("|", " or ") for name in study.models)
    for line in (
        study.paper,
        f"what is done: {study.does}",
        *(f"formula: {measure} = {formula}" for measure, formula in study.formulas.items()),
        f"needs: {study.needs}",
        f"models in the paper: {models or 'none'}",
        *([f"sets to choose from with --tasks: {', '.join(study.tasks)}"] if study.tasks else []),
        *(
            f"--scale {scale} without sources: {', '.join(taken.sources) or 'nothing'}"
            for scale, taken in study.scales.items()
        ),
        *(f"claim: {claim.text}" for claim in study.claims),
        *([] if study.claims else [DESCRIPTIVE]),
        *(f"misprint: {line}" for line in misprint_lines(study)),
    ):
        yield below(line)
    printed = study.printed()
    if printed:
        yield Line("printed:")
        yield figures(Result([Row(*key, value=value) for key, value in printed.items()]))


def compared_lines(runs: Sequence[StudyRun]) -> Lines:
    """Show finished studies side by side: claims with verdicts, measured and printed numbers."""
    # What studies look at stands below, and would take a screen's width.
    yield [[line[0], *line[2:]] for line in outcome_table(runs)]
    for run in runs:
        yield heading(run.study)
        yield from outcome_lines(run)
        for one in beside_printed(run):
            yield below(
                f"{one.what}: measured {figure_number(one.measured)}, printed {one.printed:g}, "
                f"difference {figure_number(one.difference)}"
            )


def heading(study: Study, before: str = "") -> Line:
    """Return the id and the title of a study."""
    return Line(f"{before}{study.id}  {study.title}", "bold")


def below(text: str, style: str = "") -> Line:
    """Return a line with room before it."""
    return Line(text, style, indented=True)


def describe(study: Study) -> dict[str, Any]:
    """Return what is known about a study as a plain dictionary."""
    names = ("id", "title", "document", "paper", "does", "formulas", "needs")
    return {
        **{name: getattr(study, name) for name in names},
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
