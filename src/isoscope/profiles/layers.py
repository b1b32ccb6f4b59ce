"""The layers of one model over one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.engines.checkpoints import Checkpoints
from isoscope.measures.contextual import ContextualTaker
from isoscope.measures.moments import MomentParts
from isoscope.models.layers import LayerClouds
from isoscope.profiles.first_pass import FirstPass, LayerRead, contextual_arrays
from isoscope.profiles.massive import MULTIPLE, MassiveRule, median_lengths
from isoscope.profiles.second_pass import EVERYTHING, ORDINARY, SecondPass
from isoscope.profiles.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.clouds.texts import TextSource
    from isoscope.engines.checkpoints import State
    from isoscope.engines.journal import Journal
    from isoscope.engines.journal_entry import Entry
    from isoscope.measures.contextual import Contextual
    from isoscope.measures.projections import Projections
    from isoscope.measures.reading import FirstRead, Progress
    from isoscope.models.opening import Model
    from isoscope.profiles.request import ProfileOptions
    from isoscope.profiles.second_pass import Key
    from isoscope.results.request import Described, Plan, Request

FIRST, SECOND = "first read", "second read"


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
    model, texts
        What is read.
    options : ProfileOptions
        What is measured.
    total : int
        Number of texts, for progress.
    journal : Journal, optional
        Where the state is kept, so that a killed run can go on.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    """

    def __init__(
        self,
        model: Model,
        texts: TextSource,
        options: ProfileOptions,
        *,
        total: int,
        journal: Journal | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.group = LayerClouds(
            model, texts, options.rule,
            layers=options.layers, budget=options.budget, longest=options.longest,
        )  # fmt: skip
        self.options, self._total = options, total
        self._journal, self._progress = journal, progress
        if journal is not None:
            self._checkpoints = {
                step: Checkpoints(journal, self._step(step)) for step in (FIRST, SECOND)
            }
        self.request: Request = options.request(progress)

    def run(self) -> list[Layer]:
        """Do both reads."""
        with Spool(self.options.spool_limit if self.request.needs_second_read else 0) as spool:
            rule, reads, taker = self._first(spool)
            plans: dict[Key, Plan] = {}
            stored = dict(zip(self.group.names, self.group.dtypes, strict=True))
            for name, read in reads.items():
                for which, found in variants(read).items():
                    plans[name, which] = self.request.plan(found, stored[name])
            projections = self._second(rule, plans, spool)
        contextual = {} if taker is None else taker.result(mean_cosines(reads))
        return [
            self._layer(name, read, plans, projections, contextual) for name, read in reads.items()
        ]

    def forget(self) -> None:
        """Delete the states of the reads from the journal, once the result is in it."""
        if self._journal is not None:
            for step in (FIRST, SECOND):
                self._journal.forget(self._step(step))

    def _first(
        self, spool: Spool
    ) -> tuple[MassiveRule, dict[str, LayerRead], ContextualTaker | None]:
        kept = self._kept(FIRST)
        facts: dict[str, Any] = {} if kept is None else dict(kept.facts)
        request, options = self.request, self.options
        multiple = options.max_norm_multiple or MULTIPLE
        limits = facts.get("limits") or {
            name: multiple * median for name, median in median_lengths(self.group).items()
        }
        rule = MassiveRule(limits)
        widths = dict(zip(self.group.names, self.group.widths, strict=True))
        contextual = None
        if options.chosen[1] and kept is None:
            contextual = ContextualTaker(
                widths, subwords=options.subwords, limit_bytes=options.group_limit,
                seed=options.seed,
            )  # fmt: skip
        elif options.chosen[1] and kept is not None:
            contextual = ContextualTaker.from_arrays(
                contextual_arrays(kept.arrays), facts["contextual"]
            )
        taker = FirstPass(
            widths,
            MomentParts(
                request.needs_scatter,
                "dimensions" in request.needs,
                mean="mean" in request.needs,
            ),
            rule,
            dealer=request.dealer,
            contextual=contextual,
            sample_size=request.sample_size,
            seed=options.seed,
            double=request.double,
        )
        done = 0
        if kept is not None:
            taker.resume(kept.arrays)
            done = int(facts["batches"])
            spool.give_up()  # what the killed run spooled is gone

        def state() -> State:
            context = {} if contextual is None else contextual.facts()
            return taker.to_arrays(), {"batches": done, "limits": limits, "contextual": context}

        for batches in self.group.batches(skip=done):
            dealt = taker.add(batches)
            spool.write({name: batch.vectors for name, batch in batches.items()}, dealt)
            done = self.group.batch_number
            self._keep(FIRST, state)
        self._keep(FIRST, state, now=True)
        return rule, taker.result(), contextual

    def _second(
        self, rule: MassiveRule, plans: Mapping[Key, Plan], spool: Spool
    ) -> dict[Key, Projections]:
        wanted = {key: plan.second.plan for key, plan in plans.items() if plan.second is not None}
        if not wanted:
            return {}
        taker = SecondPass(wanted, rule, deal=self.request.deals_variances)
        done = 0
        kept = self._kept(SECOND)
        if kept is not None:
            taker.resume(kept.arrays)
            done = int(kept.facts["batches"])

        def state() -> State:
            return taker.to_arrays(), {"batches": done}

        if spool.complete:
            for layers, dealt in spool.read():
                taker.add(layers, dealt)
            return taker.found
        for batches in self.group.batches(skip=done):
            dealer = self.request.dealer
            dealt = None if dealer is None else dealer.deal(next(iter(batches.values())))
            taker.add({name: batch.vectors for name, batch in batches.items()}, dealt)
            done = self.group.batch_number
            self._keep(SECOND, state)
        return taker.found

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

    def _keep(self, step: str, state: Callable[[], State], *, now: bool = False) -> None:
        """Report progress, and put the state into the journal when it is time."""
        if self._progress is not None:
            self._progress(step, self.group.so_far.texts, self._total)
        if self._journal is None:
            return
        if now:
            self._journal.save(self._step(step), *state())
        else:
            self._checkpoints[step].offer(state)

    def _kept(self, step: str) -> Entry | None:
        return None if self._journal is None else self._journal.load(self._step(step))

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
