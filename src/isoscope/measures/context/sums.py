"""The sums behind all measures of context: all layers in one read, merged and stored.

How close the n tokens x of a text are to their mean vector is (Σ u)·(Σ x) / (n ‖Σ x‖) with
u = x / ‖x‖, averaged over texts (Ethayarajh 2019); the other sums are in modules of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stage import Summed
from isoscope.compute.threads import in_parallel
from isoscope.data.arrays import is_tensor
from isoscope.data.base import Array, Batch, Labels
from isoscope.errors import DataError, UsageError, require, unknown_name
from isoscope.measures.context import definitions
from isoscope.measures.context.definitions import Contextual
from isoscope.measures.context.keyed_sums import (
    LEFT_OUT,
    GroupedSums,
    KeyedSums,
    merge_sums,
    rooms,
    share_memory,
    tally,
)
from isoscope.measures.context.massive_tokens import (
    LongestTokens,
    texts_from_arrays,
    texts_to_arrays,
)
from isoscope.measures.context.occurrences import Fetch, OccurrencePool
from isoscope.measures.context.token_groups import BatchGroups, Subwords, type_hashes, word_hashes
from isoscope.typing import Arrays, Doubles, Ids

if TYPE_CHECKING:
    from isoscope.measures.context.context_kernel import LayerKernel


@dataclass
class SentenceCosines(Summed):
    """Sum over texts of the mean cosine between tokens and their mean."""

    total: float = 0.0
    sentences: int = 0
    one_token: int = 0
    """Texts left out because they have fewer than two vectors that are not zero."""
    no_mean: int = 0
    """Texts left out because their mean vector is zero."""
    tokens: int = 0

    def add(self, cosines: Doubles, counts: Ids) -> None:
        """Add the texts of one batch; a cosine is NaN where the mean vector is zero."""
        long_enough = counts >= 2
        defined = long_enough & ~np.isnan(cosines)
        self.total += float(cosines[defined].sum())
        self.sentences += int(defined.sum())
        self.one_token += int((~long_enough).sum())
        self.no_mean += int((long_enough & ~defined).sum())
        self.tokens += int(counts[defined].sum())

    @property
    def mean(self) -> float | None:
        """Mean over the texts that count."""
        return min(self.total / self.sentences, 1.0) if self.sentences else None


COUNTS = ("sentences", "one_token", "no_mean", "tokens")


def sentences_to_arrays(layers: Sequence[SentenceCosines]) -> dict[str, NDArray[Any]]:
    """Return the sums of all layers as two arrays."""
    return {
        "sentences.total": np.array([layer.total for layer in layers], np.float64),
        "sentences.counts": np.array(
            [[getattr(layer, name) for name in COUNTS] for layer in layers], np.int64
        ),
    }


def sentences_from_arrays(arrays: Arrays) -> list[SentenceCosines]:
    """Rebuild the sums that ``sentences_to_arrays`` took apart."""
    return [
        SentenceCosines(total, **dict(zip(COUNTS, counts, strict=True)))
        for total, counts in zip(
            arrays["sentences.total"].tolist(), arrays["sentences.counts"].tolist(), strict=True
        )
    ]


DEFAULT_LIMIT = 2**30

# One in this many bytes of the limit holds vectors of word occurrences, the rest sums.
OCCURRENCE_SHARE = 4


class ContextualTaker:
    """Reads batches of all layers and tells how contextual their vectors are.

    Parameters
    ----------
    layers : mapping of str to int
        Name and width of each layer.
    subwords : {"mean", "first", "last"}
        Which vector stands for a word of several tokens.
    limit_bytes : int
        Memory over all layers: three quarters for sums by token type and by word, one for vectors
        of word occurrences. What does not fit is sampled by hash, and the values say so. Texts of
        words and hashes come on top, about 200 bytes a word.
    seed : int
        Decides which are sampled.
    """

    def __init__(
        self,
        layers: Mapping[str, int],
        *,
        subwords: Subwords = "mean",
        limit_bytes: int = DEFAULT_LIMIT,
        seed: int = 0,
    ) -> None:
        if subwords not in get_args(Subwords):
            raise unknown_name("way to join subwords", str(subwords), get_args(Subwords))
        self._layers = dict(layers)
        self._subwords: Subwords = subwords
        self._limit = limit_bytes
        self._seed = seed
        self._occurrence_bytes = limit_bytes // OCCURRENCE_SHARE
        sum_bytes = limit_bytes - self._occurrence_bytes
        self._groups = sum_bytes // GroupedSums.bytes_per_group(self._layers)
        if not self._layers or self._groups < 2:
            needed = 2 * OCCURRENCE_SHARE * GroupedSums.bytes_per_group(self._layers)
            raise UsageError(
                f"contextual measures of {len(self._layers)} layers do not fit into "
                f"{limit_bytes:,} bytes; give at least {needed:,}"
            )
        self._types = KeyedSums[int](self._layers, lambda ids: type_hashes(ids, seed))
        self._words = KeyedSums[str](self._layers, lambda texts: word_hashes(texts, seed))
        self._sentences = {name: SentenceCosines() for name in self._layers}
        self._longest = {name: LongestTokens() for name in self._layers}
        places = self._occurrence_bytes // OccurrencePool.bytes_per_occurrence(self._layers)
        random = min(definitions.RANDOM_OCCURRENCES, places // 8)
        self._per_word = definitions.occurrences_per_word(places - random)
        self._occurrences = OccurrencePool(
            self._layers, places - random, self._per_word, definitions.WORDS, definitions.MINIMUM
        )
        self._random = OccurrencePool(self._layers, random, random, 1, 1)
        self._kernel: LayerKernel | None = None

    def add(self, batches: Mapping[str, Batch]) -> None:
        """Add one batch of every layer."""
        vectors, labels = self._checked(batches)
        groups = BatchGroups.of(labels, self._subwords, self._seed)
        for name, found in vectors.items():
            if len(found) != groups.rows:
                raise DataError(
                    f"layer {name!r} has {len(found):,} vectors for {groups.rows:,} labels"
                )
        if not groups.rows:
            return
        types, words = self._slots(groups)
        self._add_sums(vectors, labels, groups, types, words)
        self._add_occurrences(vectors, groups, words)

    def _checked(self, batches: Mapping[str, Batch]) -> tuple[dict[str, Array], Labels]:
        missing = [name for name in self._layers if name not in batches]
        if missing:
            raise DataError(f"a batch has no vectors of layer {missing[0]!r}")
        vectors = {name: _detached(batches[name].vectors) for name in self._layers}
        for name, width in self._layers.items():
            if vectors[name].shape[1] != width:
                raise DataError(
                    f"layer {name!r} has vectors of width {vectors[name].shape[1]}, not {width}"
                )
        return vectors, batches[next(iter(self._layers))].labels

    def _slots(self, groups: BatchGroups) -> tuple[Ids, Ids]:
        """Return the slot of each row's token type and of each word occurrence."""
        ids, inverse = np.unique(groups.token_ids, return_inverse=True)
        keys = ids.tolist()
        self._types.table.admit(keys)
        self._words.table.admit(groups.words)
        share_memory(self._types, self._words, self._groups)
        return self._types.table.slots_of(keys)[inverse], self._words.table.slots_of(groups.words)

    def _add_sums(
        self,
        vectors: Mapping[str, Array],
        labels: Labels,
        groups: BatchGroups,
        types: Ids,
        words: Ids,
    ) -> None:
        kernel_module = require(
            "isoscope.measures.context.context_kernel",
            "contextual measures need PyTorch; install it with: pip install 'isoscope[models]'",
        )
        self._kernel = self._kernel or kernel_module.LayerKernel()
        index = kernel_module.RowIndex.of(groups, types, words)
        type_tally, word_tally = tally(types), tally(words)
        first = groups.occurrences.first
        joined = groups.occurrences.counts > 1
        token_texts = cache(lambda: labels["token"])
        for name, given in vectors.items():
            found = self._kernel.add(given, index, self._types.sums(name), self._words.sums(name))
            self._sentences[name].add(found.sentence_cosines, found.sentence_counts)
            self._longest[name].add(found.norms, given, labels, token_texts)
            zero = found.norms == 0
            empty_words = zero[first] & ~joined
            empty_words[joined] = found.joined_norms == 0
            self._types.count(name, tally(types[~zero]) if zero.any() else type_tally)
            self._words.count(name, tally(words[~empty_words]) if empty_words.any() else word_tally)

    def _add_occurrences(
        self, vectors: Mapping[str, Array], groups: BatchGroups, words: Ids
    ) -> None:
        def fetch_from(known: Ids) -> Fetch:
            return lambda name, chosen: groups.occurrences.at(known[chosen]).means(vectors[name])

        everywhere = np.arange(len(words))
        self._random.offer(np.zeros(len(words), np.uint64), groups.keys, fetch_from(everywhere))
        self._occurrences.lower(self._words.table.highest)
        known = np.flatnonzero(words != LEFT_OUT)
        self._occurrences.offer(
            self._words.table.hashes_of(words[known]), groups.keys[known], fetch_from(known)
        )

    def merge(self, other: ContextualTaker) -> ContextualTaker:
        """Take over what another has read of other texts, and return this one.

        Its state is then that of one taker that had read all texts: what is kept follows from the
        hashes of all that was read, in whatever order and parts it came, and sums are the same but
        for rounding. The other is left as it is.

        Raises
        ------
        ValueError
            The two were made for other layers, subwords, memory or seeds.
        """
        own, others = self.facts(), other.facts()
        differing = [name for name in own if own[name] != others[name]]
        if differing:
            raise ValueError(f"takers that differ in {', '.join(differing)} cannot be merged")
        merge_sums(self._types, self._words, other._types, other._words, self._groups)
        self._random.add(other._random)
        self._occurrences.lower(self._words.table.highest)
        self._occurrences.add(other._occurrences)
        for name in self._layers:
            self._sentences[name] = self._sentences[name].merge(other._sentences[name])
            self._longest[name] = self._longest[name].merge(other._longest[name])
        return self

    def result(self, mean_cosines: Mapping[str, float | None]) -> dict[str, Contextual]:
        """Return the measures of every layer.

        Parameters
        ----------
        mean_cosines : mapping of str to float or None
            The mean cosine of each layer, which corrected values are less of.
        """
        # Thousands of small matrices: threads of BLAS would wait for each other far longer than a
        # thread takes for a layer.
        calls = [partial(self._of_layer, name, mean_cosines.get(name)) for name in self._layers]
        return dict(zip(self._layers, in_parallel(calls), strict=True))

    def _of_layer(self, name: str, mean_cosine: float | None) -> Contextual:
        types, words, sample = self._types, self._words, self._random.groups(name)
        explained = definitions.explained_variance(
            self._occurrences.groups(name),
            sample[0] if sample else np.empty((0, self._layers[name])),
        )
        return Contextual(
            values={
                **definitions.intra_sim(types.within(name), types.table.share),
                **definitions.self_similarity(
                    words.within(name), words.table.share, self._subwords, mean_cosine
                ),
                **definitions.intra_sentence_similarity(self._sentences[name], mean_cosine),
                **definitions.max_explainable_variance(
                    explained, self._subwords, self._per_word, self._occurrence_bytes
                ),
                **definitions.massive_activations(self._longest[name]),
            },
            tables={"massive_activations": definitions.massive_table(self._longest[name])},
        )

    def facts(self) -> dict[str, Any]:
        """Return what ``from_arrays`` needs beside the arrays, as JSON can hold it."""
        return {
            "layers": dict(self._layers),
            "subwords": self._subwords,
            "limit_bytes": self._limit,
            "seed": self._seed,
        }

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays, for a file."""
        types, words = self._types.table, self._words.table
        arrays: dict[str, NDArray[Any]] = {
            "highest": np.array([types.highest, words.highest], np.uint64),
            "types.ids": np.array(types.keys(), np.int64),
            **texts_to_arrays(words.keys(), "words.texts"),
            **self._types.to_arrays("types"),
            **self._words.to_arrays("words"),
            **self._occurrences.to_arrays("occurrences"),
            **self._random.to_arrays("random"),
            **sentences_to_arrays(list(self._sentences.values())),
        }
        for number, longest in enumerate(self._longest.values()):
            arrays |= longest.to_arrays(f"longest.{number}")
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, facts: Mapping[str, Any]) -> ContextualTaker:
        """Rebuild the state that ``to_arrays`` and ``facts`` took apart."""
        taker = cls(**facts)
        type_highest, word_highest = (int(number) for number in arrays["highest"])
        ids = arrays["types.ids"].tolist()
        texts = texts_from_arrays(arrays, "words.texts")
        type_room, word_room = rooms(len(ids), len(texts), taker._groups)
        taker._types.load("types", arrays, ids, type_highest, type_room)
        taker._words.load("words", arrays, texts, word_highest, word_room)
        taker._occurrences.load("occurrences", arrays)
        taker._random.load("random", arrays)
        taker._sentences = dict(zip(taker._layers, sentences_from_arrays(arrays), strict=True))
        taker._longest = {
            name: LongestTokens.from_arrays(f"longest.{number}", arrays)
            for number, name in enumerate(taker._layers)
        }
        return taker


def _detached(vectors: Array) -> Array:
    return vectors.detach() if is_tensor(vectors) else np.asarray(vectors)
