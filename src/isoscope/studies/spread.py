"""Several studies at a time, each by one worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.compute.pool import BadShard, no_tick
from isoscope.errors import IsoscopeError
from isoscope.results.result import Result
from isoscope.studies.folder import StudyFolder
from isoscope.studies.registry import find_study
from isoscope.studies.running import judged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isoscope.compute.pool import Pool, Tick
    from isoscope.studies.registry import Study
    from isoscope.studies.running import StudyRun


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
            yield Outcome(study, None, failure=found.message)
            continue
        content, known, failure = found
        if failure:
            yield Outcome(study, None, failure=failure)
            continue
        run = judged(study, Result.from_json(content))
        if not folder.file_of(study).is_file():  # the worker's folder is not this one
            run.save(folder.file_of(study))
        yield Outcome(study, run, known)
