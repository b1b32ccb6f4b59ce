"""How the rows of one batch fall into texts and word occurrences, once for all layers.

Words, token types and occurrences have random-looking numbers that decide which of them are
sampled. A number depends on what a thing is (the text of a word, the id of a type, the place of an
occurrence) and on the seed, never on when it was read. So what has the lowest numbers is a random
sample that any order and any batching of the texts agree on.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.data.arrays import is_tensor
from isoscope.data.sampling import row_keys
from isoscope.errors import DataError
from isoscope.typing import Ids, Mask, Single

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from isoscope.data.base import Array, Labels


HIGHEST = 2**64 - 1


def word_hashes(words: Iterable[str], seed: int) -> list[int]:
    """Return 64 bits of each word's UTF-8 bytes; lone surrogates count as they are."""
    key = (seed % 2**64).to_bytes(8, "little")
    digests = (
        blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for word in words
    )
    return [int.from_bytes(digest, "little") for digest in digests]


def type_hashes(token_ids: Iterable[int], seed: int) -> list[int]:
    """Return 64 bits of each token id."""
    found: list[int] = row_keys(np.array(list(token_ids), np.int64), seed).tolist()
    return found


def occurrence_keys(sentences: Ids, positions: Ids, seed: int) -> NDArray[np.uint64]:
    """Return 64 bits for the place of each occurrence: its text, and its position there."""
    return row_keys(row_keys(sentences, seed).view(np.int64) + positions, seed)


# Which vector stands for a word of several tokens.
Subwords = Literal["first", "mean", "last"]

NEEDED_LABELS = ("token id", "word", "word index", "sentence", "position")


@dataclass(frozen=True)
class Stretches:
    """Rows that follow each other and belong together."""

    first: Ids
    """First row of each stretch."""
    counts: Ids
    """Rows of each stretch."""

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of(cls, labels: Ids) -> Stretches:
        """Cut rows where the label changes."""
        edges = np.flatnonzero(np.diff(labels)) + 1
        first = np.concatenate((np.zeros(min(len(labels), 1), np.int64), edges))
        return cls(first, np.diff(np.append(first, len(labels))))

    def at(self, chosen: Ids | Mask) -> Stretches:
        """Return some of the stretches, by their numbers or by a mask."""
        return Stretches(self.first[chosen], self.counts[chosen])

    def means(self, vectors: Array) -> Single:
        """Return the mean vector of each stretch."""
        found = in_single(vectors, self.first)
        several = np.flatnonzero(self.counts > 1)
        if len(several):
            # Words have few tokens: one addition for all second tokens, one for all third ones.
            sums = found[several].astype(np.float64)
            for step in range(1, int(self.counts.max())):
                longer = self.counts[several] > step
                sums[longer] += in_single(vectors, self.first[several[longer]] + step)
            found[several] = sums / self.counts[several, None]
        return found

    def numbers(self) -> Ids:
        """Return the number of the stretch for each of its rows, one stretch after the other."""
        return np.repeat(np.arange(len(self.first)), self.counts)

    def rows(self) -> Ids:
        """Return the rows of all stretches, one stretch after the other."""
        within = np.arange(int(self.counts.sum())) - np.repeat(
            np.cumsum(self.counts) - self.counts, self.counts
        )
        return np.repeat(self.first, self.counts) + within


@dataclass(frozen=True)
class BatchGroups:
    """The texts and the word occurrences of a batch."""

    rows: int
    token_ids: Ids
    sentences: Stretches
    occurrences: Stretches
    """Rows whose vectors make the vector of a word occurrence: one, unless subwords are averaged.
    """
    words: list[str]
    """The word of each occurrence."""
    keys: NDArray[np.uint64]
    """Random-looking bits of the place of each occurrence."""

    @classmethod
    def of(cls, labels: Labels, subwords: Subwords, seed: int) -> BatchGroups:
        """Read the labels of a batch."""
        missing = [name for name in NEEDED_LABELS if name not in labels]
        if missing:
            raise DataError(
                f"contextual measures need the label {missing[0]!r} of every vector; read the "
                "vectors from a model and a text"
            )
        token_ids = np.asarray(labels["token id"], np.int64)
        sentence = np.asarray(labels["sentence"], np.int64)
        position = np.asarray(labels["position"], np.int64)
        word_index = np.asarray(labels["word index"], np.int64)
        spans = Stretches.of(word_index)
        spans = spans.at(word_index[spans.first] >= 0)
        first = spans.first
        if subwords == "mean":
            occurrences = spans
        else:
            row = first if subwords == "first" else first + spans.counts - 1
            occurrences = Stretches(row, np.ones_like(row))
        return cls(
            rows=len(token_ids),
            token_ids=token_ids,
            sentences=Stretches.of(sentence),
            occurrences=occurrences,
            words=np.asarray(labels["word"], object)[first].tolist(),
            keys=occurrence_keys(sentence[first], position[first], seed),
        )


def in_single(vectors: Array, rows: Ids) -> Single:
    """Return a copy of the chosen rows as float32, from wherever they are."""
    chosen = vectors[rows]
    if is_tensor(chosen):
        chosen = chosen.float().cpu().numpy()
    return np.asarray(chosen, np.float32)
