"""A folder of studies: a result each, so that what was finished is not run again.

A result is taken again where the same was asked: the same study, sources, options and seed, by the
same version of isoscope. Files and folders that a user names are known by sizes and times. Several
studies can run at a time, each by one worker.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isoscope.compute.pool import BadShard, Pool, Tick, no_tick
from isoscope.data.output import cannot_be_written
from isoscope.errors import DataError, IsoscopeError, UsageError
from isoscope.results.result import Result, load_result
from isoscope.tasks.registry import data_folder
from isoscope.verbs.study.api import StudyRun, as_subject, judged, run_study
from isoscope.verbs.study.inputs import stamp
from isoscope.verbs.study.records import ENDING, MADE, load_record, provenance
from isoscope.verbs.study.registry import Study, chosen_scale, find_study, turn
from isoscope.version import __version__

# Where studies are looked for, and several are kept, unless a user says otherwise.
USUAL = "studies"

# Field of a result that says what was asked for.
ASKED = "asked"

# Folder inside for what trainings leave.
WORK = "work"

# Options that change no number, or not on purpose.
NOT_ASKED = ("progress", "command", "device", "engine", "workers")


class StudyFolder:
    """Results of studies in a folder, a file each.

    Parameters
    ----------
    path : str or Path
        The folder; it is made when the first result is kept.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def file_of(self, study: Study) -> Path:
        """Return where the result of a study is kept."""
        return self.path / f"{study.id}.json"

    def run(
        self, study: Study, sources: Sequence[Any], *, again: bool = False, **options: Any
    ) -> tuple[StudyRun, bool]:
        """Run a study, or take what the same question gave before.

        Returns
        -------
        tuple of StudyRun and bool
            What was found, and whether it was there already.
        """
        asked = described(sources, options, study)
        self.prepare()
        if not again:
            found = self.finished(study, asked)
            if found is not None:
                return found, True
        started = time.perf_counter()
        run = run_study(study, sources, folder=self.path / WORK, again=again, **options)
        made = provenance(time.perf_counter() - started)
        extra = {**run.result.extra, ASKED: asked, MADE: made}
        run = replace(run, result=replace(run.result, extra=extra))
        run.save(self.file_of(study))
        return run, False

    def prepare(self) -> None:
        """Make the folder, before any work is done for it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(cannot_be_written(self.path, error)) from error

    def finished(self, study: Study, asked: Mapping[str, Any]) -> StudyRun | None:
        """Return what was found before, if the same was asked."""
        if not self.file_of(study).is_file():
            return None
        try:
            run = load_run(self.file_of(study))
        except DataError:
            return None  # what is damaged is made anew
        return run if run.result.extra.get(ASKED) == asked else None

    def sound_runs(self) -> Iterator[StudyRun]:
        """Give out every result that can be read."""
        for path in filter(is_study, self.path.glob("*.json")):
            with suppress(DataError):
                yield load_run(path)

    def runs(self) -> Iterator[StudyRun]:
        """Give out every result, paper by paper; other files are passed over."""
        if not self.path.is_dir():
            raise UsageError(f"{self.path}: there is no such folder of studies")
        files = [*self.path.glob("*.json"), *self.path.glob(f"*{ENDING}")]
        found = [load_run(path) for path in files if is_study(path)]
        if not found:
            raise UsageError(
                f"{self.path} holds no results of studies; isoscope study run ID… --out "
                f"{self.path} makes them"
            )
        yield from sorted(found, key=lambda run: turn(run.study))


def is_study(path: Path) -> bool:
    """Whether a file is the result of a study, by its name."""
    try:
        find_study(path.name.removesuffix(".gz").removesuffix(".json"))
    except UsageError:
        return False
    return True


def load_run(path: Path) -> StudyRun:
    """Read a result that a study wrote; its claims are judged anew, on the figures."""
    result = read_record(path) if path.name.endswith(ENDING) else load_result(path)
    about = result.extra.get("study")
    if not isinstance(about, dict):
        raise DataError(f"{path} is no result of isoscope study run")
    return judged(find_study(str(about.get("id"))), result)


def read_record(path: Path) -> Result:
    """Read a compressed record; one that is damaged or half written is refused in a line."""
    try:
        return load_record(path)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"{path} is not a complete record: {error}") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def described(
    sources: Sequence[Any], options: Mapping[str, Any], study: Study | None = None
) -> dict[str, Any]:
    """Return all that decides what a study computes, as JSON holds it."""
    # The folder of data may be named by the environment.
    whole = {**options, "data": data_folder(options.get("data"))}
    given = {name: stamp(value) for name, value in whole.items() if name not in NOT_ASKED and value}
    named = [as_subject(source) for source in sources]
    taken = [[subject.name, stamp(subject.source)] for subject in named]
    if not taken and study is not None and not options.get("reuse"):
        scale = study.scales.get(chosen_scale(study, options.get("scale")))
        taken = [] if scale is None else [[source, source] for source in scale.at_hand[0]]
    return {"isoscope": __version__, "sources": taken, **given}


@dataclass(frozen=True)
class StudyShard:
    """A study on its way to a worker."""

    name: str
    """Its id."""


@dataclass(frozen=True)
class Outcome:
    """What became of a study."""

    study: Study
    run: StudyRun | None
    """None where it did not run."""
    known: bool = False
    """Whether its result was there already."""
    failure: str = ""


@dataclass(frozen=True)
class StudyWork:
    """Runs a study into a folder, which all workers see."""

    folder: str
    sources: Sequence[Any]
    again: bool
    options: Mapping[str, Any]

    def __call__(self, shard: StudyShard, tick: Tick) -> tuple[str, bool, str]:
        """Return the result as JSON, whether it was known, and why there is none."""
        del tick
        study = find_study(shard.name)
        try:
            run, known = StudyFolder(self.folder).run(
                study, self.sources, again=self.again, **self.options
            )
        except IsoscopeError as error:
            return "", False, str(error)
        return run.result.to_json(), known, ""


def run_spread(
    studies: Sequence[Study],
    sources: Sequence[Any],
    folder: StudyFolder,
    pool: Pool,
    *,
    again: bool,
    **options: Any,
) -> Iterator[Outcome]:
    """Run studies on a pool; yields them as they are done.

    The numbers are those of one thread, whatever the number of workers.
    """
    work = StudyWork(str(folder.path.absolute()), list(sources), again, options)
    shards = list(enumerate(StudyShard(study.id) for study in studies))
    for number, found in pool.run(work, shards, no_tick):
        study = studies[number]
        if isinstance(found, BadShard):
            found = "", False, found.message
        # A result travels as JSON: the functions of a study cannot be pickled.
        content, known, failure = found
        if failure:
            yield Outcome(study, None, failure=failure)
            continue
        run = judged(study, Result.from_json(content))
        if not folder.file_of(study).is_file():  # the worker's folder is not this one
            run.save(folder.file_of(study))
        yield Outcome(study, run, known)
