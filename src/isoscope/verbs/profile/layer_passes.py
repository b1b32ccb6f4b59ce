"""What a worker does with a shard of texts: a pilot, and the two reads of all layers.

The first read takes moments, a sample, and what depends on the context of tokens. The second read
projects vectors that were spooled, or that the model computes again. The states of both reads merge
with those of other shards, and a journal keeps them.

In decoders the first token often has a norm a hundred times as large as that of others, and a
handful of such tokens determines the variances and ranks of a whole layer. So every layer is summed
in two parts, ordinary tokens and massive ones, which together are all tokens:

    x is massive  ⇔  ‖x‖ > m · median ‖x‖,  with m = 5

Which tokens are massive must be known from the first batch on: the pilot finds the median norm of
some tokens of every layer.

References
----------
Sun, Chen, Kolter & Liu (2024), Massive activations in large language models.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from isoscope.compute.in_order import Turn
from isoscope.compute.memory import MEASURED, check_matrices
from isoscope.compute.pool import Tick
from isoscope.compute.stage import Entry
from isoscope.data.arrays import at_least_single, is_tensor, norms, on_host
from isoscope.data.base import Array, Batch
from isoscope.data.blocks import Dealer
from isoscope.data.sampling import Sample, SampleTaker, lowest, row_keys
from isoscope.data.texts.base import Text, TextSource
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
from isoscope.measures.kernels.working_memory import WorkingMemory
from isoscope.measures.reads.moments import Moments
from isoscope.measures.reads.passes import (
    FirstRead,
    SecondState,
    by_kind_and_name,
    merged_by_name,
    named_arrays,
)
from isoscope.measures.reads.projections import ProjectionPlan, Projections
from isoscope.models.layer_names import EVERYTHING, ORDINARY
from isoscope.models.layers import LayerClouds, ReadSoFar, TextBatch
from isoscope.models.runtime import library
from isoscope.models.tokens import TOKEN_BUDGET, TokenizedText, Truncation, batched
from isoscope.registry import load
from isoscope.typing import Arrays, Doubles, Mask
from isoscope.verbs.profile.spool import Spool

if TYPE_CHECKING:
    import torch

    from isoscope.data.blocks import Dealt
    from isoscope.models.model import Model
    from isoscope.verbs.profile.profile_options import ProfileOptions


ORDINARY_SUMS, MASSIVE, SAMPLE = "ordinary", "massive", "sample"
CONTEXT = "contextual|"
SPOOL = "spool"

# A layer, and which of its tokens.
Key = tuple[str, str]

# The layers of a batch out of a spool, and how its rows are dealt.
Spooled: TypeAlias = "tuple[dict[str, torch.Tensor], Dealt | None]"


@dataclass(frozen=True)
class LayerSums:
    """The first read of all layers over some texts."""

    moments: Mapping[Key, Moments]
    """Sums over the ordinary and over the massive tokens of each layer."""
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
            merged_by_name(self.moments, other.moments, Moments.merge),
            merged_by_name(self.samples, other.samples, lambda one, two: lowest([one, two], size)),
            size,
            context,
            self.met.merge(other.met),
        )

    def layers(self, rule: MassiveRule) -> dict[str, dict[str, FirstRead]]:
        """Return the reads of every layer: of all tokens, and of ordinary ones if some are not."""
        return {name: self._layer(name, rule.limits[name]) for name in self.samples}

    def _layer(self, name: str, limit: float) -> dict[str, FirstRead]:
        ordinary, massive = (self.moments.get((name, which)) for which in (ORDINARY_SUMS, MASSIVE))
        found = [moments for moments in (ordinary, massive) if moments is not None]
        everything = reduce(Moments.merge, found) if found else None
        if everything is None or everything.rows < 2:
            raise DataError(f"{name}: fewer than two tokens are left to measure")
        sample = self.samples[name]
        reads = {EVERYTHING: FirstRead(everything, sample)}
        # A single ordinary token has no variance, so that there is nothing to compare.
        if massive is not None and ordinary is not None and ordinary.rows >= 2:
            rest = sample.where(np.linalg.norm(sample.vectors, axis=1) <= limit)
            reads[ORDINARY] = FirstRead(ordinary, rest)
        return reads

    def to_entry(self) -> Entry:
        """Return arrays and facts."""
        samples = {(name, SAMPLE): sample for name, sample in self.samples.items()}
        arrays = named_arrays({**self.moments, **samples})
        facts: dict[str, Any] = {"sample_size": self.sample_size, "met": asdict(self.met)}
        if self.contextual is not None:
            facts["contextual"] = self.contextual.facts()
            for key, array in self.contextual.to_arrays().items():
                arrays[f"{CONTEXT}{key}"] = array
        return arrays, facts

    @classmethod
    def from_entry(cls, arrays: Arrays, facts: Mapping[str, Any]) -> LayerSums:
        """Rebuild what ``to_entry`` took apart."""
        context, others = {}, {}
        for key, array in arrays.items():
            if key.startswith(CONTEXT):
                context[key.removeprefix(CONTEXT)] = array
            else:
                others[key] = array
        parts = by_kind_and_name(others)
        samples = {name: Sample(**found) for name, found in parts.pop(SAMPLE, {}).items()}
        moments = {
            (name, which): Moments.from_arrays(found)
            for which, by_layer in parts.items()
            for name, found in by_layer.items()
        }
        about, met = facts.get("contextual"), facts["met"]
        contextual = None if about is None else ContextualTaker.from_arrays(context, about)
        counts = ReadSoFar(**{**met, "truncation": Truncation(**met["truncation"])})
        return cls(moments, samples, int(facts["sample_size"]), contextual, counts)

    def __reduce__(self) -> tuple[Any, ...]:
        # As a journal keeps it: the contextual sums hold tensors that may be on a device.
        return LayerSums.from_entry, self.to_entry()


class FirstPass:
    """Sums over the layers of a model, batch by batch."""

    def __init__(self, options: ProfileOptions, rule: MassiveRule, group: LayerClouds) -> None:
        self._request, self._rule = options.request(None), rule
        dimensions = dict(zip(group.names, group.widths, strict=True))
        size = self._request.sample_size
        self._parts = self._request.parts
        if self._parts.scatter:
            # Every layer has a sum of its own; they are decomposed one after the other.
            check_matrices(
                max(group.widths), len(group.names) + MEASURED, f"profiling {group.model.name}",
                "name fewer layers with --layers",
            )  # fmt: skip
        self._kernels: dict[Key, MomentsKernel] = {}
        self._threads = threading.local()
        self._samples = {
            name: SampleTaker(dimension, size, options.seed)
            for name, dimension in dimensions.items()
        }
        self._contextual: ContextualTaker | None = None
        if options.chosen[1]:
            self._contextual = ContextualTaker(
                dimensions, subwords=options.subwords, limit_bytes=options.group_limit,
                seed=options.seed,
            )  # fmt: skip

    def add(self, batches: Mapping[str, Batch], turn: Turn) -> Dealt | None:
        """Add one batch of every layer; returns how its rows were dealt to blocks."""
        dealt = None if self._request.dealer is None else dealt_as(batches)
        for name, batch in batches.items():
            norms = norms_of(batch.vectors)
            if not bool(np.isfinite(norms).all()):
                raise DataError(not_finite(name, batch, norms))
            ordinary = self._rule.ordinary(name, norms)
            # A layer is a stage of its own: threads that are at different batches seldom wait.
            with turn.at(name):
                self._add_layer(name, batch, dealt, ordinary)
        if self._contextual is not None:
            with turn.at(CONTEXT):
                self._contextual.add(batches)
        return dealt

    def _add_layer(
        self, name: str, batch: Batch, dealt: Dealt | None, ordinary: Mask | None
    ) -> None:
        """Add one batch of one layer."""
        x = batch.vectors
        # Almost every batch is ordinary as a whole: no rows are copied.
        sets = [(ORDINARY_SUMS, x, dealt)]
        if ordinary is not None:
            masks = {ORDINARY_SUMS: ordinary, MASSIVE: ~ordinary}
            sets = [(key, *masked(x, dealt, mask)) for key, mask in masks.items() if mask.any()]
        for which, some, blocks in sets:
            if (name, which) not in self._kernels:
                self._kernels[name, which] = self._kernel_for(some)
            self._kernels[name, which].add(some, dealt=blocks)
        self._samples[name].add(batch, dealt)

    def _kernel_for(self, vectors: Array) -> MomentsKernel:
        double = self._request.double
        if is_tensor(vectors):
            return moments_kernel_for(vectors, self._parts, double=double)
        kind = load("isoscope.measures.kernels.text_moments:TextMoments")  # which imports torch
        kernel: MomentsKernel = kind(self._parts, self._memory, double=double)
        return kernel

    def _memory(self) -> WorkingMemory:
        """Return the working memory of this thread, which all layers share."""
        memory: WorkingMemory = self._threads.__dict__.setdefault("memory", WorkingMemory())
        return memory

    def sums(self, met: ReadSoFar) -> LayerSums:
        """Return what was found, over the texts that were met."""
        found = {key: kernel.result() for key, kernel in self._kernels.items()}
        return LayerSums(
            {key: moments for key, moments in found.items() if moments is not None},
            {name: taker.result() for name, taker in self._samples.items()},
            self._request.sample_size,
            self._contextual,
            met,
        )


def norms_of(x: Array) -> Doubles:
    """Return the norm of every row, on the host."""
    return on_host(norms(x), slice(None))


def masked(x: Array, dealt: Dealt | None, mask: Mask) -> tuple[Array, Dealt | None]:
    """Return the rows that a mask chooses, with the blocks that they are dealt to."""
    rows = np.flatnonzero(mask)
    chosen = library("torch").from_numpy(rows).to(x.device) if is_tensor(x) else rows
    return x[chosen], None if dealt is None else dealt.part(rows)


def by_processor(x: torch.Tensor) -> Array:
    """Return vectors as an array where the processor computes on them, in single at least.

    There numpy and its BLAS take less time than torch does with one thread, and nothing is copied.
    """
    return at_least_single(x).numpy() if x.device.type == "cpu" else x


def not_finite(name: str, batch: Batch, norms: Doubles) -> str:
    """Return the message about the first token whose vector is not finite."""
    row = int(np.flatnonzero(~np.isfinite(norms))[0])
    token, text = batch.labels["token"][row], batch.labels["sentence"][row]
    return (
        f"{name}: the vector of token {token!r} of text {text} holds NaN or an infinity; "
        "half precision may be too narrow for this model: --dtype float32"
    )


# Tokens whose norm exceeds this many median norms of their layer are massive.
MULTIPLE = 5.0

# Texts of the pilot: a median needs few, and the model runs over them once more. It takes fewer
# where they have enough tokens: 64 texts would be a twentieth of a profile of 1,200 sentences.
PILOT_TEXTS = 64
PILOT_TOKENS = 1_024


@dataclass(frozen=True)
class MassiveRule:
    """From which norm on a token of a layer is massive."""

    limits: Mapping[str, float]

    def ordinary(self, layer: str, norms: Doubles) -> Mask | None:
        """Return a mask of the ordinary rows; None if all are."""
        far = norms > self.limits[layer]
        return ~far if far.any() else None


def median_norms(group: LayerClouds) -> dict[str, float]:
    """Return the median norm of tokens in each layer, from some of the first texts.

    The texts are drawn from the first window by a hash of their number, so that the answer does
    not depend on the size of batches.
    """
    drawn = pilot_texts(group)
    found: dict[str, list[Doubles]] = {name: [] for name in group.names}

    def run(texts: list[TokenizedText], turn: Turn) -> dict[str, Doubles]:
        del turn
        kept = [group.rule.counts(text) for text in texts]
        if not any(mask.any() for mask in kept):
            return {}
        vectors = group.forward(texts, kept)
        return {name: norms_of(by_processor(vectors[name])) for name in group.names}

    # Always the same batches, or rounding would make the limits depend on the user's budget.
    for of_batch in group.in_threads(batched(drawn, group.tokenizer, TOKEN_BUDGET), run):
        for name, some in of_batch.items():
            found[name].append(some)
    if not all(found.values()):
        raise DataError(
            f"{group.texts.name}: all tokens were excluded ({group.rule}); texts may be too short"
        )
    return {name: float(np.median(np.concatenate(found[name]))) for name in group.names}


def pilot_texts(group: LayerClouds) -> list[Text]:
    """Return texts of the first window in a random order, until they have enough tokens."""
    window = next(windows(group.texts.texts()), [])
    keys = row_keys(np.array([text.index for text in window], dtype=np.int64), seed=0)
    drawn = [window[k] for k in np.argsort(keys, kind="stable")[:PILOT_TEXTS]]
    if not drawn:
        return []
    counted = np.cumsum([group.rule.counts(text).sum() for text in group.tokenizer(drawn)])
    return drawn[: int(np.searchsorted(counted, PILOT_TOKENS)) + 1]


def on_processor(batches: Mapping[str, Batch]) -> dict[str, Batch]:
    """Return batches of all layers, as arrays where the processor computes on them."""
    return {
        name: batch._replace(vectors=by_processor(batch.vectors)) for name, batch in batches.items()
    }


def dealt_as(batches: Mapping[str, Batch]) -> Dealt:
    """Return how the rows of a batch are dealt to blocks, which is the same in every layer."""
    # A dealer remembers the last labels that it met, so that threads cannot share one.
    return Dealer().deal(next(iter(batches.values())))


# Room for the numbers of a shard's tokens: only reading tells how many there are.
# Samples draw tokens by a hash of their number, which so must not depend on the other shards.
TOKENS_PER_SHARD = 1 << 40


def surveyed(file: TextSource, tick: Tick, size: int | None) -> FileSurvey:
    """Count the texts of a file; ``size`` is the number of texts of a shard."""
    return survey_file(file, lambda _, done, __: tick(done), size)


def layer_clouds(model: Model, texts: TextSource, options: ProfileOptions) -> LayerClouds:
    """Return the layers of a model over some texts, as the options want them."""
    return LayerClouds(
        model, texts, options.rule,
        layers=options.layers, budget=options.budget, longest=options.longest,
    )  # fmt: skip


@dataclass
class ModelWork:
    """Base of works with a model; the reader and the clouds are made in the worker."""

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
        # A reader has a file open, which cannot be sent to another process.
        return {name: value for name, value in vars(self).items() if name != "reader"}


@dataclass
class Pilot(ModelWork):
    """Finds median norms on some of the first texts."""

    def __call__(self, shard: TextShard, tick: Tick) -> dict[str, Any]:
        """Return the median norm of the tokens of each layer, and how the model computes."""
        del tick
        medians = median_norms(self.of_shard(shard))
        return {"medians": medians, "device": self.model.device, "dtype": self.model.dtype}


@dataclass
class ReadingWork(ModelWork):
    """Base of both reads."""

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

    def __call__(self, shard: TextShard, tick: Tick) -> LayerSums:
        """Read one shard."""
        group = self.of_shard(shard)
        taker = FirstPass(self.options, self.rule, group)
        with self.spool_of(shard) as spool:

            def take(texts: TextBatch, turn: Turn) -> int:
                batches = group.run(texts)
                dealt = taker.add(on_processor(batches), turn)
                with turn.at(SPOOL):
                    spool.write({name: batch.vectors for name, batch in batches.items()}, dealt)
                return texts.read

            for done in group.in_threads(group.prepared(shard.number * TOKENS_PER_SHARD), take):
                tick(done)
        return taker.sums(group.so_far)


@dataclass
class SecondWork(ReadingWork):
    """The second read of a shard, from what was spooled or from a second run of the model."""

    plans: Mapping[Key, ProjectionPlan] = field(default_factory=dict)

    def __call__(self, shard: TextShard, tick: Tick) -> SecondState:
        """Project the layers of one shard, batch by batch."""
        request = self.options.request(None)
        projectors: dict[Key, Projector] = {}
        found: dict[Key, Projections] = {}
        group = self.of_shard(shard)

        def project(item: Spooled | TextBatch, turn: Turn) -> int:
            if isinstance(item, TextBatch):
                batches = group.run(item)
                blocks = None if request.dealer is None else dealt_as(batches)
                layers = {name: batch.vectors for name, batch in batches.items()}
            else:
                layers, blocks = item
            # A spool has the blocks even where only the first read needs them.
            dealt = blocks if request.deals_variances else None
            for key, plan in self.plans.items():
                x, of_blocks = self.rows_of(key, by_processor(layers[key[0]]), dealt)
                with turn.at(key):
                    if not len(x):
                        continue
                    if key not in projectors:
                        projectors[key] = projector_for(x, plan)
                    some = projectors[key](x, of_blocks)
                    found[key] = found[key].merge(some) if key in found else some
            return item.read if isinstance(item, TextBatch) else 0

        spool = self.spool_of(shard)
        # A worker on another machine, or a shard beyond the limit, finds no spool.
        items: Iterable[Spooled | TextBatch] = (
            spool.read() if spool.complete else group.prepared(shard.number * TOKENS_PER_SHARD)
        )
        for done in group.in_threads(items, project):
            if done:  # a spool does not say how many texts its batches are of
                tick(done)
        return SecondState(found)

    def rows_of(self, key: Key, x: Array, dealt: Dealt | None) -> tuple[Array, Dealt | None]:
        """Return the rows of a layer that one set of its tokens has."""
        ordinary = self.rule.ordinary(key[0], norms_of(x)) if key[1] == ORDINARY else None
        return (x, dealt) if ordinary is None else masked(x, dealt, ordinary)
