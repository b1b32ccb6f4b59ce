"""Texts in shards that any worker takes through a model.

In what batch a text goes decides the last bits of its vector. So shards are cut from all entries of
a call by their order alone, whatever is known already and however many workers there are, and a
shard is computed whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.pool import BadShard
from isoscope.errors import DataError, UsageError
from isoscope.models.entries import Entries
from isoscope.models.opening import reopened
from isoscope.models.pooling import pooled_spaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.compute.pool import Pool, Tick
    from isoscope.data.texts.base import Progress
    from isoscope.models.mentions import Mention
    from isoscope.models.opening import Model


SHARD_TEXTS = 1_024
"""Texts of a shard: enough that neighbours have a length, few enough that small sets are shared."""


@dataclass(frozen=True)
class EncodingShard:
    """Some of the texts of a call, and the words that are wanted of them."""

    first: int
    """Number of its first text in the call."""
    texts: list[str]
    mentions: list[Mention] | None
    places: NDArray[np.intp]
    """Where its vectors belong among the entries of the call."""

    @property
    def name(self) -> str:
        """What people call it."""
        return f"texts {self.first + 1:,} to {self.first + len(self.texts):,}"


def cut_entries(wanted: Entries, missing: NDArray[np.bool_]) -> list[EncodingShard]:
    """Cut entries into shards, and return those of which any entry is missing.

    All words of a text are in one shard, so that it goes through the model once.
    """
    numbers: dict[str, int] = {}
    of_entry = np.array(
        [numbers.setdefault(text, len(numbers)) for text, _, _ in wanted.entries], np.intp
    )
    shard_of_entry = of_entry // SHARD_TEXTS
    in_order = np.argsort(shard_of_entry, kind="stable")
    ends = np.cumsum(np.bincount(shard_of_entry))
    shards = []
    for number, places in enumerate(np.split(in_order, ends[:-1])):
        if missing[places].any():
            entries = [wanted.entries[place] for place in places]
            texts, mentions = Entries.of(entries, words=wanted.words).inputs()
            shards.append(EncodingShard(number * SHARD_TEXTS, texts, mentions, places))
    return shards


@dataclass
class EncodingWork:
    """Takes shards through a model; a worker has one copy of it."""

    model: Model
    layers: tuple[str, ...]
    pooling: str
    special_tokens: bool
    longest: int | None
    dtype: str = field(init=False)
    """In what all workers compute."""

    def __post_init__(self) -> None:
        self.dtype = self.model.dtype

    def __call__(self, shard: EncodingShard, tick: Tick) -> dict[str, NDArray[Any]]:
        """Return the vectors of one shard in every layer."""
        if self.model.dtype != self.dtype:
            raise UsageError(
                f"a worker cannot compute in {self.dtype}; name a --dtype that all workers have"
            )
        found = pooled_spaces(
            self.model, shard.texts, self.layers, self.pooling, self.special_tokens, {},
            mentions=shard.mentions, longest=self.longest,
            progress=lambda _, done, __: tick(done),
        )  # fmt: skip
        return {layer: spaces[""] for layer, spaces in found.items()}

    def __getstate__(self) -> dict[str, Any]:
        # With device and type as they are here: vectors are kept under these.
        model = self.model
        return {**vars(self), "model": (model.source, model.dtype, model.device)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, model=reopened(*state["model"]))


def encoded_shards(
    pool: Pool, work: EncodingWork, shards: Sequence[EncodingShard], progress: Progress | None
) -> Iterator[tuple[NDArray[np.intp], dict[str, NDArray[Any]]]]:
    """Yield places and vectors of the shards, in the order in which they are done."""
    done, total = 0, sum(len(shard.texts) for shard in shards)

    def tick(within: int) -> None:
        if progress is not None:
            progress("texts", done + within, total)

    tick(0)
    for number, found in pool.run(work, list(enumerate(shards)), tick):
        if isinstance(found, BadShard):
            raise DataError(found.message)
        yield shards[number].places, found
        done += len(shards[number].texts)
        tick(0)
