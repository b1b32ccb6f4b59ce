"""What a worker does with a shard of texts: the pilot, the first read and the second."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.data.texts.base import TextSource
from isoscope.data.texts.shards import ShardReader, survey_file
from isoscope.measures.context.sums import ContextualTaker
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import LayerProjections
from isoscope.models.layers import LayerClouds
from isoscope.profiles.first_pass import FirstPass
from isoscope.profiles.layer_sums import LayerSums
from isoscope.profiles.massive import MassiveRule, median_lengths
from isoscope.profiles.second_pass import SecondPass
from isoscope.profiles.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isoscope.compute.pool import Tick
    from isoscope.data.texts.base import Text, TextRow
    from isoscope.data.texts.shards import FileSurvey, TextShard
    from isoscope.measures.reads.projections import ProjectionPlan
    from isoscope.models.model import Model
    from isoscope.profiles.request import ProfileOptions
    from isoscope.profiles.second_pass import Key


TOKENS_PER_SHARD = 1 << 40
"""Room for the numbers of a shard's tokens: only reading tells how many there are."""


@dataclass(frozen=True)
class File:
    """One of the files of a source."""

    source: TextSource

    @property
    def name(self) -> str:
        """Where it is."""
        return self.source.where


@dataclass(frozen=True)
class Survey:
    """Counts the texts of a file."""

    size: int | None
    """Texts of a shard."""

    def __call__(self, file: File, tick: Tick) -> FileSurvey:
        """Survey one file."""
        return survey_file(file.source, lambda _, done, __: tick(done), self.size)


class ShardTexts(TextSource):
    """The texts of one shard, under the numbers that they have in the whole source."""

    def __init__(self, whole: TextSource, reader: ShardReader, shard: TextShard) -> None:
        super().__init__(whole.name, shard.name)
        self._reader, self._shard = reader, shard

    def rows(self) -> Iterator[TextRow]:
        """Yield the texts as rows, for those who want them so."""
        for text in self.texts():
            yield text.text, text.document

    def texts(self) -> Iterator[Text]:
        """Yield the texts."""
        return self._reader.read(self._shard)


def layer_clouds(model: Model, texts: TextSource, options: ProfileOptions) -> LayerClouds:
    """Return the layers of a model over some texts, as the options want them."""
    return LayerClouds(
        model, texts, options.rule,
        layers=options.layers, budget=options.budget, longest=options.longest,
    )  # fmt: skip


@dataclass
class ModelWork:
    """What every work with a model has; its reader and its clouds are made where it is done."""

    model: Model
    texts: TextSource
    options: ProfileOptions

    @cached_property
    def reader(self) -> ShardReader:
        """Reads the shards that come to this worker."""
        return ShardReader(self.texts)

    def of_shard(self, shard: TextShard) -> LayerClouds:
        """Return the layers over the texts of a shard."""
        return layer_clouds(self.model, ShardTexts(self.texts, self.reader, shard), self.options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "reader"}


@dataclass(frozen=True)
class PilotRead:
    """What some of the first texts tell."""

    medians: Mapping[str, float]
    """Median length of the tokens of each layer."""
    device: str
    dtype: str


@dataclass
class Pilot(ModelWork):
    """Looks at some of the first texts."""

    def __call__(self, shard: TextShard, tick: Tick) -> PilotRead:
        """Find the median lengths."""
        del tick
        medians = median_lengths(self.of_shard(shard))
        return PilotRead(medians, self.model.device, self.model.dtype)


@dataclass
class ReadingWork(ModelWork):
    """What both reads have."""

    rule: MassiveRule
    spool: str | None = None
    """Folder of spooled vectors."""
    spool_per_character: float = 0.0
    """Bytes that a shard may spool for each character of its texts."""

    def spool_of(self, shard: TextShard) -> Spool:
        """Return where the vectors of a shard are spooled."""
        path = None if self.spool is None else Path(self.spool) / f"shard-{shard.number}"
        return Spool(path, int(self.spool_per_character * shard.characters))


@dataclass
class FirstWork(ReadingWork):
    """The first read of a shard."""

    kind: type[LayerSums] = field(default=LayerSums, init=False)

    def __call__(self, shard: TextShard, tick: Tick) -> LayerSums:
        """Read one shard."""
        options = self.options
        request = options.request(None)
        group = self.of_shard(shard)
        widths = dict(zip(group.names, group.widths, strict=True))
        contextual = None
        if options.chosen[1]:
            contextual = ContextualTaker(
                widths, subwords=options.subwords, limit_bytes=options.group_limit,
                seed=options.seed,
            )  # fmt: skip
        taker = FirstPass(
            widths,
            MomentParts(
                request.needs_scatter,
                "dimensions" in request.needs,
                mean="mean" in request.needs,
            ),
            self.rule,
            dealer=request.dealer,
            contextual=contextual,
            sample_size=request.sample_size,
            seed=options.seed,
            double=request.double,
        )
        with self.spool_of(shard) as spool:
            for batches in group.batches(shard.number * TOKENS_PER_SHARD):
                dealt = taker.add(batches)
                spool.write({name: batch.vectors for name, batch in batches.items()}, dealt)
                tick(group.so_far.texts)
        return taker.sums(group.so_far)


@dataclass
class SecondWork(ReadingWork):
    """The second read of a shard, from what was spooled or from a second run of the model."""

    plans: Mapping[Key, ProjectionPlan] = field(default_factory=dict)
    kind: type[LayerProjections] = field(default=LayerProjections, init=False)

    def __call__(self, shard: TextShard, tick: Tick) -> LayerProjections:
        """Read one shard."""
        request = self.options.request(None)
        taker = SecondPass(self.plans, self.rule, deal=request.deals_variances)
        spool = self.spool_of(shard)
        if spool.complete:
            for layers, dealt in spool.read():
                taker.add(layers, dealt)
            return LayerProjections(taker.found)
        group = self.of_shard(shard)
        for batches in group.batches(shard.number * TOKENS_PER_SHARD):
            dealer = request.dealer
            dealt = None if dealer is None else dealer.deal(next(iter(batches.values())))
            taker.add({name: batch.vectors for name, batch in batches.items()}, dealt)
            tick(group.so_far.texts)
        return LayerProjections(taker.found)
