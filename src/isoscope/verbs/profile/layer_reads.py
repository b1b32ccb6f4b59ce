"""The layers of one model over one text: pilot, first and second read over all shards.

A text is surveyed and cut into shards once, and all models of a profile share them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.compute.pool import BadShard, Pool, Work, no_tick
from isoscope.compute.stage import OnError, Shard, Stage, StoredState
from isoscope.data.texts.base import TextSource, TextSurvey
from isoscope.data.texts.shards import FileSurvey, TextShard, cut_texts, sources_of, whole_survey
from isoscope.errors import DataError
from isoscope.measures.context.definitions import Contextual
from isoscope.measures.reads.passes import FirstRead, SecondState
from isoscope.measures.reads.projections import Projections
from isoscope.models.layer_names import EVERYTHING, ORDINARY
from isoscope.models.layers import ReadSoFar
from isoscope.progress import Progress
from isoscope.verbs.profile.layer_passes import (
    MULTIPLE,
    File,
    FirstWork,
    Key,
    LayerRead,
    LayerSums,
    MassiveRule,
    Pilot,
    PilotRead,
    SecondWork,
    Survey,
    layer_clouds,
)
from isoscope.verbs.profile.spool import SpoolFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.compute.journal import Journal
    from isoscope.measures.reads.request import Described, Plan, Request
    from isoscope.models.model import Model
    from isoscope.verbs.profile.profile_options import ProfileOptions


FIRST, SECOND, PILOT = "first read", "second read", "pilot"


@dataclass(frozen=True)
class Layer:
    """One layer after both reads: all its tokens, and its ordinary ones where some are massive."""

    name: str
    described: dict[str, tuple[Described, str]]
    """By which tokens: the spaces, and the protocol of the reads."""
    contextual: Contextual | None
    massive: int
    """Tokens that are massive."""


class LayerProfile:
    """Reads the layers of a model over a text, twice where measures ask for it.

    Parameters
    ----------
    model : Model
        What reads.
    run : TextRun
        What is read, by which workers, and where the state is kept.
    options : ProfileOptions
        What is measured.
    """

    def __init__(self, model: Model, run: TextRun, options: ProfileOptions) -> None:
        self.group = layer_clouds(model, run.texts, options)
        self.model, self.options, self._run = model, options, run
        self.request: Request = options.request(run.progress)
        self.met: ReadSoFar = self.group.so_far
        """What the first read met."""
        self._stages: list[Stage[TextShard, LayerSums] | Stage[TextShard, SecondState]] = []

    def run(self) -> list[Layer]:
        """Do both reads."""
        spooled = self._run.spools and self.request.needs_second_read
        with SpoolFolder(self.options.spool_limit if spooled else 0) as spool:
            rule = self._pilot()
            sums = self._first(rule, spool)
            self.met, taker = sums.met, sums.contextual
            found = sums.layers(rule)
            reads = {name: found[name] for name in self.group.names}
            plans: dict[Key, Plan] = {}
            stored = dict(zip(self.group.names, self.group.dtypes, strict=True))
            for name, read in reads.items():
                for which, one in variants(read).items():
                    plans[name, which] = self.request.plan(one, stored[name])
            projections = self._second(rule, plans, spool)
        cosines = {name: read.everything.moments.mean_cosine for name, read in reads.items()}
        contextual = {} if taker is None else taker.result(cosines)
        return [
            self._layer(name, read, plans, projections, contextual) for name, read in reads.items()
        ]

    def forget(self) -> None:
        """Delete the states of the reads from the journal, once the result is in it."""
        for stage in self._stages:
            stage.forget()
        if self._run.journal is not None:
            self._run.journal.forget(self._step(PILOT))

    def _pilot(self) -> MassiveRule:
        """Find the lengths from which on tokens are massive."""
        journal, step = self._run.journal, self._step(PILOT)
        kept = None if journal is None else journal.load(step)
        if kept is not None:
            found = PilotRead(**kept.facts)
        else:
            found = self._piloted(Pilot(self.model, self._run.texts, self.options))
            if journal is not None:
                journal.save(step, {}, vars(found))
        self.model.settle(found.device, found.dtype)
        multiple = self.options.max_norm_multiple or MULTIPLE
        return MassiveRule({name: multiple * median for name, median in found.medians.items()})

    def _piloted(self, work: Pilot) -> PilotRead:
        """Look at the first shard that can be read."""
        why = ""
        for shard in self._run.shards:
            ((_, found),) = self._run.pool.run(work, [(0, shard)], no_tick)
            if not isinstance(found, BadShard):
                return found
            why = found.message
            if self._run.on_error == "stop":
                break
        raise DataError(why)

    def _first(self, rule: MassiveRule, spool: SpoolFolder) -> LayerSums:
        stage = self._run.stage(self._step(FIRST), LayerSums, FIRST)
        self._stages.append(stage)
        return self._run.gathered(stage, FirstWork(*self._reading(rule, spool)))

    def _second(
        self, rule: MassiveRule, plans: Mapping[Key, Plan], spool: SpoolFolder
    ) -> Mapping[Key, Projections]:
        wanted = {key: plan.second.plan for key, plan in plans.items() if plan.second is not None}
        if not wanted:
            return {}
        stage = self._run.stage(self._step(SECOND), SecondState, SECOND)
        self._stages.append(stage)
        work = SecondWork(*self._reading(rule, spool), wanted)
        return self._run.gathered(stage, work).found

    def _reading(
        self, rule: MassiveRule, spool: SpoolFolder
    ) -> tuple[Model, TextSource, ProfileOptions, MassiveRule, str | None, float]:
        characters = sum(shard.characters for shard in self._run.shards)
        share = spool.limit / max(characters, 1)
        return self.model, self._run.texts, self.options, rule, spool.path, share

    def _layer(
        self,
        name: str,
        read: LayerRead,
        plans: Mapping[Key, Plan],
        projections: Mapping[Key, Projections],
        contextual: Mapping[str, Contextual],
    ) -> Layer:
        described = {}
        for which, found in variants(read).items():
            plan = plans[name, which]
            second = projections.get((name, which))
            both = self.request.describe(
                name, found, plan, {} if second is None else {name: second}
            )
            described[which] = both, plan.protocol
        ordinary = read.everything if read.ordinary is None else read.ordinary
        massive = read.everything.moments.rows - ordinary.moments.rows
        return Layer(name, described, contextual.get(name), massive)

    def _step(self, step: str) -> str:
        return f"{self.group.model.name} {step}"


def variants(read: LayerRead) -> dict[str, FirstRead]:
    """Return what was read of all tokens, and of ordinary ones where that differs."""
    found = {EVERYTHING: read.everything}
    return found if read.ordinary is None else {**found, ORDINARY: read.ordinary}


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
