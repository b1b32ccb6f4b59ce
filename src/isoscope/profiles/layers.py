"""The layers of one model over one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.compute.pool import BadShard, no_tick
from isoscope.compute.stage import Stage
from isoscope.errors import DataError
from isoscope.measures.reads.passes import LayerProjections
from isoscope.profiles.layer_sums import LayerSums
from isoscope.profiles.massive import MULTIPLE, MassiveRule
from isoscope.profiles.second_pass import EVERYTHING, ORDINARY
from isoscope.profiles.spool import SpoolFolder
from isoscope.profiles.works import FirstWork, Pilot, PilotRead, SecondWork, layer_clouds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.data.texts.base import TextSource
    from isoscope.data.texts.shards import TextShard
    from isoscope.measures.context.definitions import Contextual
    from isoscope.measures.reads.passes import FirstRead
    from isoscope.measures.reads.projections import Projections
    from isoscope.models.layers import ReadSoFar
    from isoscope.models.model import Model
    from isoscope.profiles.layer_sums import LayerRead
    from isoscope.profiles.request import ProfileOptions
    from isoscope.profiles.second_pass import Key
    from isoscope.profiles.text_run import TextRun
    from isoscope.results.request import Described, Plan, Request


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
        self._stages: list[Stage[TextShard, LayerSums] | Stage[TextShard, LayerProjections]] = []

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
        contextual = {} if taker is None else taker.result(mean_cosines(reads))
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
        stage = self._run.stage(self._step(SECOND), LayerProjections, SECOND)
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


def mean_cosines(reads: Mapping[str, LayerRead]) -> dict[str, float | None]:
    """Return the mean cosine of each layer, by which measures of context are corrected."""
    found: dict[str, float | None] = {}
    for name, read in reads.items():
        moments = read.everything.moments
        pairs = moments.unit_weight**2 - moments.unit_weight_squares
        square = float(moments.unit_sum @ moments.unit_sum) - moments.unit_weight_squares
        found[name] = square / pairs if pairs > 0 else None
    return found


def variants(read: LayerRead) -> dict[str, FirstRead]:
    """Return what was read of all tokens, and of ordinary ones where that differs."""
    found = {EVERYTHING: read.everything}
    return found if read.ordinary is None else {**found, ORDINARY: read.ordinary}
