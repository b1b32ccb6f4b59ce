"""What ``isoscope study`` shows: studies, what a run found, several runs side by side.

Everything is given out line by line, so that a person sees a study as soon as it is done; a list of
lists is a table.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.compute.execution import on_accelerators, open_pool, ray_address
from isoscope.errors import DataError, IsoscopeError, UsageError
from isoscope.results.line import Line
from isoscope.results.result import Result, Row
from isoscope.verbs.study.api import as_subject
from isoscope.verbs.study.inputs import one_model_kept
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.verdicts import NOT_APPLICABLE, NOT_RUN, Verdict
from isoscope.verbs.study.records.costs import cost_lines, in_words, measured_costs
from isoscope.verbs.study.records.provenance import MADE, available_memory
from isoscope.verbs.study.registry import Study, all_studies, find_study
from isoscope.verbs.study.runs.folder import USUAL, Outcome, StudyFolder
from isoscope.verbs.study.runs.needs import memory_needed, needs_line
from isoscope.verbs.study.runs.pieces import WHOLE, Piece, fitting_sources, pieces_of
from isoscope.verbs.study.runs.spread import run_spread
from isoscope.verbs.study.text import (
    DESCRIPTIVE,
    beside_printed,
    case_lines,
    command_for,
    counted,
    figure_number,
    figures,
    given_source,
    last_verdict,
    misprint_lines,
    not_applicable_lines,
    outcome_table,
    scope_words,
    study_notes,
    verdict_line,
)

# How often a study is repeated whose process was killed, before the rest runs one by one.
RETRIES = 1

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
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

# Seconds of work before anything is said about the time that is left.
SHORT_WORK = 10
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
        if verdict.outcome == NOT_APPLICABLE:
            continue
        yield Line(verdict_line(verdict), OUTCOME_STYLES[verdict.outcome])
        for line in case_lines(verdict):
            yield below(line)
    for said in not_applicable_lines(run.verdicts):
        yield Line(said, OUTCOME_STYLES[NOT_APPLICABLE])
    for command in missing_commands(run, run.verdicts):
        yield Line(command, OUTCOME_STYLES[NOT_RUN])
    if not run.verdicts:
        yield Line(DESCRIPTIVE)


def run_several(
    studies: Sequence[Study],
    sources: Sequence[str],
    folder: StudyFolder,
    watching: Watching,
    *,
    brief: bool = False,
    **options: Any,
) -> Lines:
    """Run studies into a folder, several at a time where workers share them; show each when done.

    With ``brief`` there is a line for each, for those who watch; a screen about all of them follows
    elsewhere.

    Raises
    ------
    UsageError
        At the end, where some of them did not run on any model.
    """
    folder.prepare()
    wanted = {study.id: fitting_sources(study, studies, sources) for study in studies}
    pieces, refused = planned(studies, wanted, options)
    if len(studies) == 1 and refused:
        raise UsageError(refused[0].failure)
    for outcome in refused:
        yield heading(outcome.study)
        yield below(outcome.failure, "red")
        subjects = tuple(map(as_subject, wanted[outcome.study.id]))
        folder.keep_failure(outcome.study, subjects, outcome.failure, options)
    options["several"] = len(studies) > 1
    if brief and (needs := needs_line(pieces, options["workers"] or 1)):
        yield Line(needs, "dim")
    telling = Telling(len(pieces), brief)
    workers = options["workers"] is not None or ray_address(options["engine"]) is not None
    run = run_shared if workers and len(pieces) > 1 else run_one_by_one
    outcomes = yield from run(pieces, wanted, folder, watching, telling, **options)
    ran = {outcome.study.id for outcome in outcomes if not outcome.failure}
    missing = [study.id for study in studies if study.id not in ran]
    if len(studies) == 1 and missing:
        raise UsageError(outcomes[0].failure)
    partly = [one for one in outcomes if one.failure and one.study.id in ran]
    if partly:
        listed = ", ".join(f"{one.study.id} on {one.name}" for one in partly)
        yield Line(f"did not run: {listed}", "yellow")
    if ran and not brief:
        where = folder.path
        yield Line(f"results: {where}; isoscope study compare {where} compares them")
    if missing:
        listed = ", ".join(missing)
        raise UsageError(f"{len(missing)} of {len(studies)} studies did not run: {listed}")


def planned(
    studies: Sequence[Study], wanted: Mapping[str, Sequence[str]], options: Mapping[str, Any]
) -> tuple[list[Piece], list[Outcome]]:
    """Return studies model by model, all of one model together; and those that cannot run at all.

    A model that was opened for one study is there for the next.
    """
    found: list[Piece] = []
    refused: list[Outcome] = []
    for study in studies:
        try:
            found += pieces_of(study, wanted[study.id], options)
        except IsoscopeError as error:
            refused.append(Outcome(study, None, failure=str(error)))
    names = list(dict.fromkeys(piece.name for piece in found))
    return sorted(found, key=lambda piece: names.index(piece.name)), refused


def run_one_by_one(
    pieces: Sequence[Piece], wanted: Mapping[str, Sequence[str]], folder: StudyFolder,
    watching: Watching, telling: Telling, **options: Any,
) -> Generator[Line, None, list[Outcome]]:  # fmt: skip
    """Run one study after the other; one that cannot run does not keep the others from it."""
    del wanted
    found: list[Outcome] = []
    again = options.pop("again")
    with one_model_kept():
        for piece in pieces:
            with watching() as report:
                outcome = folder.run_piece(piece, again=again, progress=report, **options)
            found.append(outcome)
            yield from telling.lines(outcome, pieces, found)
    return found


def run_shared(
    pieces: Sequence[Piece], wanted: Mapping[str, Sequence[str]], folder: StudyFolder,
    watching: Watching, telling: Telling, **options: Any,
) -> Generator[Line, None, list[Outcome]]:  # fmt: skip
    """Run several studies at a time."""
    found: list[Outcome] = []
    # A study that has a worker to itself does not share its texts out once more.
    engine, workers = options.pop("engine"), options.pop("workers")
    accelerators = on_accelerators(options["device"])
    if ray_address(engine) is None:
        fitting = workers_that_fit(pieces, workers)
        if fitting < workers:
            yield Line(f"{fitting} of {workers} workers: more would not fit into memory", "yellow")
        workers = fitting
    with watching() as report:
        try:
            with open_pool(engine, workers, accelerators=accelerators, retries=RETRIES) as pool:
                for outcome in run_spread(pieces, wanted, folder, pool, **options):
                    found.append(outcome)
                    yield from telling.lines(outcome, pieces, found)
                    if report is not None:
                        report("studies", len(found), len(pieces))
        except DataError as error:
            if ray_address(engine) is not None:
                raise
            yield Line(f"{error}; the rest runs one by one", "yellow")
            done = {(outcome.study.id, outcome.name) for outcome in found}
            for piece in pieces:
                if (piece.study.id, piece.name) not in done:
                    found.append(run_apart(piece, wanted, folder, options))
                    yield from telling.lines(found[-1], pieces, found)
    return found


def run_apart(
    piece: Piece, wanted: Mapping[str, Sequence[str]], folder: StudyFolder,
    options: Mapping[str, Any],
) -> Outcome:  # fmt: skip
    """Run a study on a model in a process of its own, whose death is the end of this study only."""
    try:
        with open_pool(workers=1, retries=0) as pool:
            (outcome,) = run_spread([piece], wanted, folder, pool, **options)
    except DataError:
        why = "its process was killed or ran out of memory"
        folder.keep_failure(piece.study, piece.taken.subjects, why, options)
        return Outcome(piece.study, None, failure=why, name=piece.name)
    return outcome


def workers_that_fit(pieces: Sequence[Piece], workers: int) -> int:
    """Return as many workers as there is memory for, at least one."""
    free = available_memory()
    if free is None:
        return workers
    fitting = [k for k in range(1, workers + 1) if memory_needed(pieces, k) <= free]
    return max(fitting, default=1)


class Telling:
    """Tells what became of each study on a model, and how long the rest takes.

    Parameters
    ----------
    total : int
        How many there are.
    brief : bool
        Whether each gets one line, instead of one for every claim.
    """

    def __init__(self, total: int, brief: bool = False) -> None:
        self.total = total
        self.brief = brief
        self.started = time.monotonic()

    def left(self, outcomes: Sequence[Outcome]) -> str:
        """Return the time that is left, in words; empty where there is little to say."""
        done = sum(not outcome.known for outcome in outcomes)
        seconds = time.monotonic() - self.started
        rest = self.total - len(outcomes)
        if not done or not rest or seconds < SHORT_WORK:
            return ""
        return f"{rest} left, about {in_words(seconds / done * rest)}"

    def lines(
        self, outcome: Outcome, pieces: Sequence[Piece], found: Sequence[Outcome]
    ) -> Iterator[Line]:
        """Show what became of a study on a model, and how much is left."""
        several = len({piece.name for piece in pieces}) > 1 and outcome.name != WHOLE
        model = f", {outcome.name}" if several else ""
        line = heading(outcome.study, f"[{len(found)}/{len(pieces)}] ")
        left = self.left(found)
        if self.brief:
            yield self._in_a_line(outcome, pieces, found, left)
            return
        yield Line(f"{line.text}{model}", line.style)
        if outcome.failure or outcome.run is None:
            yield below(outcome.failure, "red")
        else:
            if outcome.replaced:
                yield below(REPLACES, "yellow")
            verdicts = self._verdicts(outcome, pieces, found)
            yield from outcome_lines(outcome.run, verdicts, known=outcome.known)
        if left:
            yield below(left, "dim")

    def _verdicts(
        self, outcome: Outcome, pieces: Sequence[Piece], found: Sequence[Outcome]
    ) -> list[Verdict]:
        assert outcome.run is not None
        done = sum(one.study.id == outcome.study.id for one in found)
        last = done == sum(piece.study.id == outcome.study.id for piece in pieces)
        return verdicts_of(outcome.run, outcome.name, last=last)

    def _in_a_line(
        self, outcome: Outcome, pieces: Sequence[Piece], found: Sequence[Outcome], left: str
    ) -> Line:
        """Return the study, its model, and how many claims hold, fail and so on."""
        model = "" if outcome.name == WHOLE else f", {outcome.name}"
        before = f"[{len(found)}/{len(pieces)}] {outcome.study.id}{model}: "
        if outcome.failure or outcome.run is None:
            return Line(f"{before}did not run: {outcome.failure}", "red")
        counts = Counter(one.outcome for one in self._verdicts(outcome, pieces, found))
        words = [counted(counts) or "shows figures and makes no claim"]
        words += ["finished before"] if outcome.known else []
        words += [REPLACES] if outcome.replaced else []
        words += [left] if left else []
        return Line(before + "; ".join(words))


REPLACES = "replaces a result of other sources or options"


def verdicts_of(run: StudyRun, name: str, *, last: bool) -> list[Verdict]:
    """Return the verdicts about one model; those about all models come with the last one."""
    others = {*run.result.extra.get(MADE, {})} - {name, WHOLE}
    others |= set() if last else {ALL_MODELS}
    return [verdict for verdict in run.verdicts if verdict.subject not in others]


def outcome_lines(
    run: StudyRun, verdicts: Sequence[Verdict] | None = None, *, known: bool = False
) -> Iterator[Line]:
    """Show every claim in a line, with what became of it; what does not apply is counted."""
    if known:
        yield below("finished before", "dim")
    shown = run.verdicts if verdicts is None else verdicts
    for verdict in shown:
        if verdict.outcome != NOT_APPLICABLE:
            yield below(verdict_line(verdict), OUTCOME_STYLES[verdict.outcome])
    for said in not_applicable_lines(shown):
        yield below(said, OUTCOME_STYLES[NOT_APPLICABLE])
    for command in missing_commands(run, shown):
        yield below(command, OUTCOME_STYLES[NOT_RUN])


def missing_commands(run: StudyRun, verdicts: Sequence[Verdict]) -> list[str]:
    """Return the commands that run what was not run, one for each model."""
    names = dict.fromkeys(
        one.subject for one in verdicts if one.outcome == NOT_RUN and one.subject != ALL_MODELS
    )
    return [
        f"to run it on {name}: {command_for(run.study, given_source(run.result, name))}"
        for name in names
        if name
    ]


def needs_of(
    studies: Sequence[Study], wanted: Mapping[str, Sequence[str]], options: Mapping[str, Any]
) -> str:
    """Say what studies will need, in a line; empty where it is little, or they cannot run."""
    pieces, refused = planned(studies, wanted, options)
    return "" if refused else needs_line(pieces)


def of_paper(letter: str) -> list[Study]:
    """Return the studies of a paper, by the letter before their ids, or all."""
    return [study for study in all_studies() if study.id.startswith(letter)]


def list_lines(last: Mapping[str, str], paper: str = "") -> Lines:
    """Show every study with what it needs, and what became of it last."""
    for study in of_paper(paper):
        yield heading(study)
        yield below(f"{study.paper}; needs {study.needs}")
        if study.id in last:
            yield below(f"last: {last[study.id]}")


def list_facts(last: Mapping[str, str], paper: str = "") -> list[dict[str, Any]]:
    """Return the same as plain dictionaries."""
    return [{**describe(study), "last_verdict": last.get(study.id)} for study in of_paper(paper)]


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
        *(f"claim: {claim.text} (about {scope_words(claim.about)})" for claim in study.claims),
        *([] if study.claims else [DESCRIPTIVE]),
        *(f"misprint: {line}" for line in misprint_lines(study)),
        *cost_lines(study),
        f"command: {command_for(study)}",
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
        "scopes": [scope_words(claim.about) for claim in study.claims],
        "costs": measured_costs(study.id),
        "command": command_for(study),
        "misprints": study.misprints,
        "printed": [
            dict(zip(("subject", "part", "correction", "measure"), key, strict=True), value=value)
            for key, value in study.printed().items()
        ],
    }
