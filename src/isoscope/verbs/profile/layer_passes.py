"""What a worker does with a shard of texts: a pilot, and the two reads of all layers.

The first read takes moments, a sample, and what depends on the context of tokens; the second
projects vectors that were spooled, or that the model computes again. What either comes to merges
with that of other shards, and a journal keeps it.

In decoders the first token often has a vector a hundred times as long as others, and a handful of
such tokens decides variances and ranks of a whole layer (Sun et al. 2024 call them massive
activations). So every layer is summed in two parts, ordinary tokens and massive ones, which
together are all tokens. Which tokens are massive must be known from the first batch on: the pilot
finds the median length of some tokens of every layer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.pool import Tick
from isoscope.compute.stage import Entry
from isoscope.data.base import Batch
from isoscope.data.blocks import Dealer, Dealt
from isoscope.data.sampling import Sample, SampleTaker, lowest, row_keys
from isoscope.data.texts.base import TextSource
from isoscope.data.texts.shards import (
    FileSurvey,
    ShardReader,
    ShardTexts,
    TextShard,
    survey_file,
    windows,
)
from isoscope.errors import DataError
from isoscope.measures.context.sums import ContextualTaker
from isoscope.measures.kernels import MomentsKernel, Projector, moments_kernel_for, projector_for
from isoscope.measures.reads.moments import MomentParts, Moments
from isoscope.measures.reads.passes import (
    FirstRead,
    SecondState,
    by_kind_and_name,
    merged_by_name,
)
from isoscope.measures.reads.projections import ProjectionPlan, Projections
from isoscope.models.layer_names import EVERYTHING, ORDINARY
from isoscope.models.layers import LayerClouds, ReadSoFar
from isoscope.models.runtime import library
from isoscope.models.tokens import TOKEN_BUDGET, Truncation, batched
from isoscope.typing import Mask
from isoscope.verbs.profile.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from isoscope.models.model import Model
    from isoscope.typing import Arrays
    from isoscope.verbs.profile.profile_options import ProfileOptions


ORDINARY_SUMS, MASSIVE, SAMPLE = "ordinary", "massive", "sample"
CONTEXT = "contextual|"


@dataclass(frozen=True)
class LayerRead:
    """What the first read of one layer gave, for all tokens and for ordinary ones."""

    everything: FirstRead
    ordinary: FirstRead | None
    """None where no token is massive."""


@dataclass(frozen=True)
class LayerSums:
    """The first read of all layers over some texts."""

    ordinary: Mapping[str, Moments]
    """Sums over the ordinary tokens of each layer."""
    massive: Mapping[str, Moments]
    """Sums over the massive tokens of each layer."""
    samples: Mapping[str, Sample]
    sample_size: int
    contextual: ContextualTaker | None
    met: ReadSoFar

    def merge(self, other: LayerSums) -> LayerSums:
        """Combine the reads of two disjoint sets of texts; neither is used again."""
        size, context = self.sample_size, self.contextual
        if context is not None and other.contextual is not None:
            context = context.merge(other.contextual)
        return LayerSums(
            merged_by_name(self.ordinary, other.ordinary, Moments.merge),
            merged_by_name(self.massive, other.massive, Moments.merge),
            merged_by_name(self.samples, other.samples, lambda one, two: lowest([one, two], size)),
            size,
            context,
            self.met.merge(other.met),
        )

    def layers(self, rule: MassiveRule) -> dict[str, LayerRead]:
        """Return what was found in every layer."""
        return {name: self._layer(name, rule.limits[name]) for name in self.samples}

    def _layer(self, name: str, limit: float) -> LayerRead:
        found = [sums[name] for sums in (self.ordinary, self.massive) if name in sums]
        everything = reduce(Moments.merge, found) if found else None
        if everything is None or everything.rows < 2:
            raise DataError(f"{name}: fewer than two tokens are left to measure")
        sample = self.samples[name]
        whole = FirstRead(everything, sample)
        if name not in self.massive or name not in self.ordinary or self.ordinary[name].rows < 2:
            return LayerRead(whole, None)
        rest = sample.where(np.linalg.norm(sample.vectors, axis=1) <= limit)
        return LayerRead(whole, FirstRead(self.ordinary[name], rest))

    def to_entry(self) -> Entry:
        """Return arrays and facts."""
        parts: dict[str, Mapping[str, Moments | Sample]] = {
            ORDINARY_SUMS: self.ordinary, MASSIVE: self.massive, SAMPLE: self.samples,
        }  # fmt: skip
        arrays = {
            f"{kind}|{key}|{name}": array
            for kind, by_layer in parts.items()
            for name, part in by_layer.items()
            for key, array in part.to_arrays().items()
        }
        facts: dict[str, Any] = {"sample_size": self.sample_size, "met": asdict(self.met)}
        if self.contextual is not None:
            facts["contextual"] = self.contextual.facts()
            for key, array in self.contextual.to_arrays().items():
                arrays[f"{CONTEXT}{key}"] = array
        return arrays, facts

    @classmethod
    def from_entry(cls, arrays: Arrays, facts: Mapping[str, Any]) -> LayerSums:
        """Rebuild what ``to_entry`` took apart."""
        context = {
            key.removeprefix(CONTEXT): array
            for key, array in arrays.items()
            if key.startswith(CONTEXT)
        }
        parts = by_kind_and_name(
            {key: array for key, array in arrays.items() if not key.startswith(CONTEXT)}
        )
        ordinary, massive = (
            {name: Moments.from_arrays(found) for name, found in parts.get(kind, {}).items()}
            for kind in (ORDINARY_SUMS, MASSIVE)
        )
        samples = {name: Sample(**found) for name, found in parts.get(SAMPLE, {}).items()}
        about, met = facts.get("contextual"), facts["met"]
        contextual = None if about is None else ContextualTaker.from_arrays(context, about)
        counts = ReadSoFar(**{**met, "truncation": Truncation(**met["truncation"])})
        return cls(ordinary, massive, samples, int(facts["sample_size"]), contextual, counts)

    def __reduce__(self) -> tuple[Any, ...]:
        return LayerSums.from_entry, self.to_entry()


class FirstPass:
    """Sums over the layers of a model, batch by batch."""

    def __init__(
        self,
        widths: Mapping[str, int],
        parts: MomentParts,
        rule: MassiveRule,
        *,
        dealer: Dealer | None,
        contextual: ContextualTaker | None,
        sample_size: int,
        seed: int,
        double: bool,
    ) -> None:
        self._parts, self._rule, self._dealer, self._double = parts, rule, dealer, double
        self.contextual = contextual
        self._kernels: dict[tuple[str, str], MomentsKernel] = {}
        self._size = sample_size
        self._samples = {
            name: SampleTaker(width, sample_size, seed) for name, width in widths.items()
        }

    def add(self, batches: Mapping[str, Batch]) -> Dealt | None:
        """Take one batch of every layer; returns how its rows were dealt to blocks."""
        dealt = None
        for name, batch in batches.items():
            x = batch.vectors
            norms = norms_of(x)
            if not bool(norms.isfinite().all()):
                raise DataError(not_finite(name, batch, norms))
            dealt = None if self._dealer is None else self._dealer.deal(batch)
            ordinary = self._rule.ordinary(name, norms)
            if ordinary is None:
                self._kernel(name, ORDINARY_SUMS, x).add(x, dealt=dealt)
            else:
                for which, mask in ((ORDINARY_SUMS, ordinary), (MASSIVE, ~ordinary)):
                    if mask.any():
                        some, blocks = masked(x, dealt, mask)
                        self._kernel(name, which, some).add(some, dealt=blocks)
            self._samples[name].add(batch, dealt)
        if self.contextual is not None:
            self.contextual.add(batches)
        return dealt

    def sums(self, met: ReadSoFar) -> LayerSums:
        """Return what was found, over the texts that were met."""
        found: dict[str, dict[str, Moments]] = {ORDINARY_SUMS: {}, MASSIVE: {}}
        for (name, which), kernel in self._kernels.items():
            moments = kernel.result()
            if moments is not None:
                found[which][name] = moments
        samples = {name: taker.result() for name, taker in self._samples.items()}
        return LayerSums(
            found[ORDINARY_SUMS], found[MASSIVE], samples, self._size, self.contextual, met
        )

    def _kernel(self, name: str, which: str, x: torch.Tensor) -> MomentsKernel:
        if (name, which) not in self._kernels:
            self._kernels[name, which] = moments_kernel_for(x, self._parts, double=self._double)
        return self._kernels[name, which]


def norms_of(x: torch.Tensor) -> torch.Tensor:
    """Return the norm of every row."""
    found: torch.Tensor = library("torch").linalg.vector_norm(x, dim=1)
    return found


def masked(x: torch.Tensor, dealt: Dealt | None, mask: Mask) -> tuple[torch.Tensor, Dealt | None]:
    """Return the rows that a mask chooses, with the blocks that they are dealt to."""
    rows = np.flatnonzero(mask)
    chosen = library("torch").from_numpy(rows).to(x.device)
    return x[chosen], None if dealt is None else dealt.part(rows)


def not_finite(name: str, batch: Batch, norms: torch.Tensor) -> str:
    """Name the first token whose vector is not finite."""
    row = int((~norms.isfinite()).nonzero()[0])
    token, text = batch.labels["token"][row], batch.labels["sentence"][row]
    return (
        f"{name}: the vector of token {token!r} of text {text} holds NaN or an infinity; "
        "half precision may be too narrow for this model: --dtype float32"
    )


MULTIPLE = 5.0
"""Tokens longer than this many median lengths of their layer are massive."""

PILOT_TEXTS = 64


@dataclass(frozen=True)
class MassiveRule:
    """From which length on a token of a layer is massive."""

    limits: Mapping[str, float]

    def ordinary(self, layer: str, norms: torch.Tensor) -> Mask | None:
        """Tell which rows are ordinary; None when all are, the case that must be fast."""
        far = norms > self.limits[layer]
        return None if not bool(far.any()) else np.asarray((~far).cpu().numpy())


def median_lengths(group: LayerClouds) -> dict[str, float]:
    """Return the median length of tokens in each layer, from some of the first texts.

    The texts are drawn from the first window by a hash of their number, so that the answer does
    not depend on the size of batches.
    """
    window = next(windows(group.texts.texts()), [])
    keys = row_keys(np.array([text.index for text in window], dtype=np.int64), seed=0)
    drawn = [window[k] for k in np.sort(np.argsort(keys, kind="stable")[:PILOT_TEXTS])]
    lengths: dict[str, list[torch.Tensor]] = {name: [] for name in group.names}
    # Always the same batches, or rounding would make the limits depend on the user's budget.
    for texts in batched(drawn, group.tokenizer, TOKEN_BUDGET):
        kept = [group.rule.counts(text) for text in texts]
        if any(mask.any() for mask in kept):
            for name, vectors in group.forward(texts, kept).items():
                lengths[name].append(norms_of(vectors.double()))
    if not all(lengths.values()):
        raise DataError(
            f"{group.texts.name}: no token is left to measure ({group.rule}); "
            "texts may be too short"
        )
    return {name: float(library("torch").cat(found).median()) for name, found in lengths.items()}


Key = tuple[str, str]
"""A layer, and which of its tokens."""


class SecondPass:
    """Projects the layers of a model, batch by batch."""

    def __init__(
        self, plans: Mapping[Key, ProjectionPlan], rule: MassiveRule, *, deal: bool
    ) -> None:
        self._plans, self._rule, self._deal = plans, rule, deal
        self._projectors: dict[Key, Projector] = {}
        self.found: dict[Key, Projections] = {}

    def add(self, layers: Mapping[str, torch.Tensor], dealt: Dealt | None) -> None:
        """Take one batch of every layer."""
        if not self._deal:
            dealt = None
        for name, x in layers.items():
            if (name, EVERYTHING) in self._plans:
                self._project((name, EVERYTHING), x, dealt)
            if (name, ORDINARY) in self._plans:
                ordinary = self._rule.ordinary(name, norms_of(x))
                if ordinary is None:
                    self._project((name, ORDINARY), x, dealt)
                elif ordinary.any():
                    self._project((name, ORDINARY), *masked(x, dealt, ordinary))

    def _project(self, key: Key, x: torch.Tensor, dealt: Dealt | None) -> None:
        if key not in self._projectors:
            self._projectors[key] = projector_for(x, self._plans[key])
        found = self._projectors[key](x, dealt)
        known = self.found.get(key)
        self.found[key] = found if known is None else known.merge(found)


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
    kind: type[SecondState] = field(default=SecondState, init=False)

    def __call__(self, shard: TextShard, tick: Tick) -> SecondState:
        """Read one shard."""
        request = self.options.request(None)
        taker = SecondPass(self.plans, self.rule, deal=request.deals_variances)
        spool = self.spool_of(shard)
        if spool.complete:
            for layers, dealt in spool.read():
                taker.add(layers, dealt)
            return SecondState(taker.found)
        group = self.of_shard(shard)
        for batches in group.batches(shard.number * TOKENS_PER_SHARD):
            dealer = request.dealer
            dealt = None if dealer is None else dealer.deal(next(iter(batches.values())))
            taker.add({name: batch.vectors for name, batch in batches.items()}, dealt)
            tick(group.so_far.texts)
        return SecondState(taker.found)
