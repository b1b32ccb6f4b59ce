"""A text in shards, and who reads them: what all models of a profile share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.compute.pool import BadShard
from isoscope.compute.stage import OnError, Shard, Stage
from isoscope.data.texts.shards import FileSurvey, cut_texts, sources_of, whole_survey
from isoscope.errors import DataError
from isoscope.profiles.works import File, Survey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.compute.journal import Journal
    from isoscope.compute.pool import Pool, Work
    from isoscope.compute.stage import Progress, StoredState
    from isoscope.data.texts.base import TextSource, TextSurvey
    from isoscope.data.texts.shards import TextShard


SURVEY = "survey"
NO_TEXTS = FileSurvey(0, 0, 0, "", (), ())
"""Stands for a file that is left out."""


@dataclass
class TextRun:
    """A text that was surveyed and cut, its readers, and where their states are kept."""

    texts: TextSource
    survey: TextSurvey
    shards: Sequence[TextShard]
    pool: Pool
    journal: Journal | None = None
    on_error: OnError = "stop"
    progress: Progress | None = None
    spools: bool = True
    """Whether vectors are kept on disk between the reads: workers must be on this machine."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Files and shards that were left out, and why."""

    def stage(
        self, step: str, kind: type[StoredState], shown: str
    ) -> Stage[TextShard, StoredState]:
        """Make one read of all shards: what the journal calls it, and what people see."""

        def report(_: str, done: int, total: int | None) -> None:
            if self.progress is not None:
                self.progress(shown, done, total)

        sizes = [shard.stop - shard.start for shard in self.shards]
        return Stage(step, self.shards, sizes, kind, self.journal, self.on_error, report)

    def gathered(
        self, stage: Stage[Shard, StoredState], work: Work[Shard, StoredState]
    ) -> StoredState:
        """Do a read; shards that an earlier one left out are left out again."""
        stage.leave_out(self.skipped)
        found = stage.run(self.pool, work)
        self.skipped.update(found.skipped)
        return found.state


def surveyed(
    texts: TextSource,
    pool: Pool,
    *,
    size: int | None,
    journal: Journal | None = None,
    on_error: OnError = "stop",
    progress: Progress | None = None,
    spools: bool = True,
    bad: Mapping[str, str] | None = None,
) -> TextRun:
    """Count the texts of every file, on any worker, and cut them into shards.

    What a journal has counted is not counted again; ``bad`` are files that could not be opened.
    """
    files = [File(source) for source in sources_of(texts)]
    kept = None if journal is None else journal.load(SURVEY)
    skipped: dict[str, str] = dict(bad or {})
    if kept is not None:
        surveys = [FileSurvey.from_dict(facts) for facts in kept.facts["files"]]
        skipped = dict(kept.facts["skipped"])
    else:
        found: dict[int, FileSurvey] = {}
        counted = 0

        def tick(done: int) -> None:
            if progress is not None:
                progress("counting texts", counted + done, None)

        for number, one in pool.run(Survey(size), list(enumerate(files)), tick):
            if isinstance(one, BadShard):
                if on_error == "stop":
                    raise DataError(one.message)
                skipped[files[number].name] = one.message
                one = NO_TEXTS
            found[number] = one
            counted += one.texts
            tick(0)
        surveys = [found[number] for number in range(len(files))]
        if journal is not None:
            facts = {"files": [one.to_dict() for one in surveys], "skipped": skipped}
            journal.save(SURVEY, {}, facts)
    if skipped and not any(one.texts for one in surveys):
        raise DataError(f"no file could be read: {next(iter(skipped.values()))}")
    whole = whole_survey(texts, surveys)
    shards = cut_texts(texts, surveys, size)
    return TextRun(texts, whole, shards, pool, journal, on_error, progress, spools, skipped)
