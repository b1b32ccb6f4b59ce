"""The layers of one model over one text: pilot, both reads over all shards, and their rows.

A text is surveyed and cut into shards once, and all models of a profile share them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from isoscope.compute.pool import BadShard, Pool, Work, no_tick
from isoscope.compute.stage import OnError, Stage, StoredState
from isoscope.data.texts.shards import FileSurvey, TextShard, cut_texts, sources_of, whole_survey
from isoscope.errors import DataError
from isoscope.measures.context.definitions import Contextual, persistence
from isoscope.measures.diagnosis import judge
from isoscope.measures.intervals import IntervalEstimator
from isoscope.measures.reads.passes import SecondState
from isoscope.measures.registry import choose_measures
from isoscope.measures.space import Dimensions
from isoscope.measures.views import NONE
from isoscope.models.layer_names import EMBEDDING, EVERYTHING, ORDINARY, SUFFIX, without_suffix
from isoscope.progress import Progress, report
from isoscope.results.model_rows import norm_ranks
from isoscope.results.result import Result, Row, Table
from isoscope.results.spaces import add
from isoscope.verbs.profile.layer_passes import (
    MULTIPLE,
    FirstWork,
    LayerSums,
    MassiveRule,
    Pilot,
    SecondWork,
    layer_clouds,
    surveyed,
)
from isoscope.verbs.profile.spool import spool_folder
from isoscope.verbs.profile.text import MOVED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.compute.journal import Journal
    from isoscope.data.texts.base import TextSource, TextSurvey
    from isoscope.measures.reads.request import Described
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
    """Number of massive tokens."""


class LayerProfile:
    """Reads the layers of a model over a text, twice where measures require it.

    Parameters
    ----------
    model : Model
        The model that reads.
    run : TextRun
        The text, its readers, and the journal of their states.
    options : ProfileOptions
        What is measured.
    """

    def __init__(self, model: Model, run: TextRun, options: ProfileOptions) -> None:
        self.group = layer_clouds(model, run.texts, options)
        self.model, self.options, self._run = model, options, run
        self.request = options.request(run.progress)
        self.met = self.group.so_far
        """What the first read met."""
        self._stages: list[Stage[TextShard, Any]] = []

    def run(self) -> list[Layer]:
        """Do both reads."""
        spooled = self._run.spools and self.request.needs_second_read
        limit = self.options.spool_limit if spooled else 0
        characters = sum(shard.characters for shard in self._run.shards)
        with spool_folder(limit) as folder:
            rule = self._pilot()
            # Every shard may spool in proportion to its characters, whoever reads it and when.
            share = limit / max(characters, 1)
            reading = (self.model, self._run.texts, self.options, rule, folder, share)
            sums = self._read(FIRST, LayerSums, FirstWork(*reading))
            self.met = sums.met
            found = sums.layers(rule)
            # A state out of a journal may list the layers in another order.
            reads = {name: found[name] for name in self.group.names}
            stored = dict(zip(self.group.names, self.group.dtypes, strict=True))
            plans = {
                (name, which): self.request.plan(first, stored[name])
                for name, several in reads.items()
                for which, first in several.items()
            }
            wanted = {key: plan.second.plan for key, plan in plans.items() if plan.second}
            projections = {}
            if wanted:
                work = SecondWork(*reading, wanted)
                projections = dict(self._read(SECOND, SecondState, work).found)
        contextual = {}
        if sums.contextual is not None:
            contextual = sums.contextual.result(
                {name: several[EVERYTHING].moments.mean_cosine for name, several in reads.items()}
            )
        layers = []
        for name, several in reads.items():
            described = {}
            for which, first in several.items():
                second = projections.get((name, which))
                plan = plans[name, which]
                projected = {} if second is None else {name: second}
                both = self.request.describe(name, first, plan, projected)
                described[which] = both, plan.protocol
            whole, ordinary = several[EVERYTHING], several.get(ORDINARY, several[EVERYTHING])
            massive = whole.moments.rows - ordinary.moments.rows
            layers.append(Layer(name, described, contextual.get(name), massive))
        return layers

    def forget(self) -> None:
        """Delete the states of the reads from the journal, once the result is in it."""
        for stage in self._stages:
            stage.forget()
        if self._run.journal is not None:
            self._run.journal.forget(self._step(PILOT))

    def _pilot(self) -> MassiveRule:
        """Find the norms from which on tokens are massive."""
        journal, step = self._run.journal, self._step(PILOT)
        kept = None if journal is None else journal.load(step)
        found = self._first_readable() if kept is None else kept.facts
        if kept is None and journal is not None:
            journal.save(step, {}, found)
        # Workers and a resumed run compute as the pilot did, or the limits would be others.
        self.model.settle(found["device"], found["dtype"])
        multiple = self.options.max_norm_multiple or MULTIPLE
        return MassiveRule({name: multiple * median for name, median in found["medians"].items()})

    def _first_readable(self) -> dict[str, Any]:
        """Return the pilot of the first shard that can be read."""
        work, why = Pilot(self.model, self._run.texts, self.options), ""
        for shard in self._run.shards:
            ((_, found),) = self._run.pool.run(work, [(0, shard)], no_tick)
            if not isinstance(found, BadShard):
                return found
            why = found.message
            if self._run.on_error == "stop":
                break
        raise DataError(why)

    def _read(
        self, name: str, kind: type[StoredState], work: Work[TextShard, StoredState]
    ) -> StoredState:
        """Read all shards once; those that an earlier read left out are left out again."""
        run = self._run

        # The journal tells the reads of several models apart, which people see one by one.
        def tell(_: str, done: int, total: int | None) -> None:
            report(run.progress, name, done, total)

        sizes = [shard.stop - shard.start for shard in run.shards]
        step = self._step(name)
        stage = Stage(step, run.shards, sizes, kind, run.journal, run.on_error, tell)
        self._stages.append(stage)
        stage.leave_out(run.skipped)
        found = stage.run(run.pool, work)
        run.skipped.update(found.skipped)
        return found.state

    def _step(self, step: str) -> str:
        return f"{self.group.model.name} {step}"


SURVEY = "survey"
# Stands for a file that is left out.
NO_TEXTS = FileSurvey(0, 0, 0, "", (), ())


@dataclass
class TextRun:
    """A text, its readers, and where their states are kept; ``cut`` makes it ready to be read."""

    texts: TextSource
    pool: Pool
    journal: Journal | None = None
    on_error: OnError = "stop"
    progress: Progress | None = None
    spools: bool = True
    """Whether vectors are kept on disk between the reads: workers must be on this machine."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Files and shards that were left out, and why; at first files that could not be opened."""
    survey: TextSurvey = field(init=False)
    shards: Sequence[TextShard] = ()

    def cut(self, size: int | None = None) -> TextRun:
        """Count the texts of every file, on any worker, and cut them into shards.

        What a journal has counted is not counted again.
        """
        kept = None if self.journal is None else self.journal.load(SURVEY)
        if kept is not None:
            surveys = [FileSurvey.from_dict(facts) for facts in kept.facts["files"]]
            self.skipped = dict(kept.facts["skipped"])
        else:
            surveys = self._count(size)
            if self.journal is not None:
                facts = {"files": [one.to_dict() for one in surveys], "skipped": self.skipped}
                self.journal.save(SURVEY, {}, facts)
        if self.skipped and not any(one.texts for one in surveys):
            raise DataError(f"no file could be read: {next(iter(self.skipped.values()))}")
        self.survey = whole_survey(self.texts, surveys)
        self.shards = cut_texts(self.texts, surveys, size)
        return self

    def _count(self, size: int | None) -> list[FileSurvey]:
        files, work = sources_of(self.texts), partial(surveyed, size=size)
        found: dict[int, FileSurvey] = {}
        counted = 0

        def tick(done: int) -> None:
            report(self.progress, "counting texts", counted + done)

        for number, one in self.pool.run(work, list(enumerate(files)), tick):
            if isinstance(one, BadShard):
                if self.on_error == "stop":
                    raise DataError(one.message)
                self.skipped[files[number].where] = one.message
                one = NO_TEXTS
            found[number] = one
            counted += one.texts
            tick(0)
        # Workers finish in any order; shards are numbered in the order of the files.
        return [found[number] for number in range(len(files))]


# Measures by which it is judged whether massive tokens matter, and whether by their ratio.
JUDGED = {
    "mean_cosine": False,
    "top_variance_share": False,
    "effective_rank": True,
    "participation_ratio": True,
    "mean_norm": True,
}
# Change of a number, or of its share, from which on massive tokens matter.
TENTH = 0.1
# Outlier dimensions that are looked up in every norm.
RANKED = 8


def layer_rows(profile: LayerProfile, layers: Sequence[Layer], protocol: str) -> Result:
    """Evaluate every measure on every layer."""
    found = Result([])
    model, options = profile.group.model.name, profile.options
    names, context = options.chosen
    items = choose_measures(names) if names else ()
    dimensions: dict[str, Dimensions] = {}
    main = EVERYTHING if options.max_norm_multiple is None else ORDINARY
    for layer in layers:
        # Without massive tokens there is one set of tokens only, whatever it is called.
        chosen = main if main in layer.described else EVERYTHING
        for which, (described, reads) in layer.described.items():
            part = layer.name if which == chosen else layer.name + SUFFIX[which]
            estimator = IntervalEstimator(
                described.reads, profile.request.dealer is not None, given=options.intervals
            )
            words = f"{protocol}; {reads}"
            if profile.request.dealer is not None:
                words += "; intervals over documents, whose tokens are counted together"
            for space in described.spaces:
                for item in items:
                    add(item, space, estimator, (model, part), words, found.rows, found.tables)
                if space.correction != NONE or which != chosen:
                    continue
                if space.dimensions is not None:
                    dimensions[layer.name] = space.dimensions
                if space.spectrum is not None and space.dimensions is not None:
                    verdict = judge(space, estimator).to_dict()
                    found.verdicts.append({"subject": model, "part": part, **verdict})
        add_context(layer, context, model, protocol, found)
    # As in an explanation: what the input has need not be the work of any block.
    dimensions = {name: one for name, one in dimensions.items() if not name.endswith(EMBEDDING)}
    if dimensions and "persistence" in context:
        table = persistence(dimensions)
        note = f"{table.note}; without the input"
        found.tables.append(Table(model, "", NONE, "persistence", table.rows, note))
        outliers = [row["dimension"] for row in table.rows[:RANKED]]
        if outliers:
            found.tables.append(norm_ranks(profile.group.model, outliers))
    return found


def add_context(
    layer: Layer, wanted: Sequence[str], model: str, protocol: str, found: Result
) -> None:
    """Add the requested measures of context of a layer to the result."""
    if layer.contextual is None:
        return
    for name, value in layer.contextual.values.items():
        if name.split("/")[0] in wanted:
            found.rows.append(
                Row.of(
                    value, model, layer.name, NONE, name,
                    n=value.rows, protocol=protocol, extra=dict(value.extra),
                )
            )  # fmt: skip
    for name, table in layer.contextual.tables.items():
        if name.split("/")[0] in wanted:
            found.tables.append(Table(model, layer.name, NONE, name, table.rows, table.note))


def flag_moved(rows: Sequence[Row]) -> list[Row]:
    """Mark the rows of layers that massive tokens move by more than a tenth.

    Both sets of tokens are in the result either way; the mark says which ones to show.
    """
    moved = moved_layers(rows)
    return [
        replace(row, extra={**row.extra, MOVED: True})
        if (row.subject, without_suffix(row.part)) in moved
        else row
        for row in rows
    ]


def moved_layers(rows: Sequence[Row]) -> set[tuple[str, str]]:
    """Return models and layers where the other set of tokens gives quite another value."""
    known = {
        (row.subject, row.part, row.measure): row.value
        for row in rows
        if row.measure in JUDGED and row.correction == NONE and row.value is not None
    }
    moved = set()
    for (subject, part, measure), value in known.items():
        for suffix in SUFFIX.values():
            other = known.get((subject, part + suffix, measure), value)
            scale = max(abs(value), abs(other)) if JUDGED[measure] else 1
            if abs(value - other) > TENTH * scale:
                moved.add((subject, part))
    return moved
