"""The arithmetic of one layer of one batch, in torch's own threads.

With u = x / ‖x‖ these are Σ u by token type and by word, from which the mean cosine within each,
(‖Σ u‖² − n) / (n² − n), follows, and (Σ u)·(Σ x) / (n ‖Σ x‖) of every text (Ethayarajh 2019).

Vectors are taken to float64 once and everything else happens there: sums then do not depend on
how rows are batched, and an ``index_add_`` straight into the running sums is faster in float64 than
a sorted reduction or a sparse product (0.5 ms against 0.9 and more for 4,096 × 384 on two cores),
and no slower than in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from isoscope.measures.context.keyed_sums import LEFT_OUT
from isoscope.measures.context.token_groups import BatchGroups
from isoscope.typing import Doubles, Ids


@dataclass(frozen=True)
class RowIndex:
    """Where each row of a batch goes, as tensors: the same for all layers."""

    sentences: torch.Tensor
    """Which text of the batch, from 0."""
    sentence_count: int
    types: torch.Tensor
    words: torch.Tensor
    """The slot of the word that a row stands for; other rows go where nothing is read."""
    joined_rows: torch.Tensor
    """Rows of words whose vector is the mean of several rows."""
    joined_words: torch.Tensor
    """Which of those words each such row belongs to, from 0."""
    joined_slots: torch.Tensor
    """The slot of each of those words."""

    @classmethod
    def of(cls, groups: BatchGroups, types: Ids, words: Ids) -> RowIndex:
        """Spread the slots of token types and of word occurrences over the rows of a batch."""
        several = groups.occurrences.counts > 1
        joined = groups.occurrences.at(several)
        word_of_row = np.full(groups.rows, LEFT_OUT)
        word_of_row[groups.occurrences.first[~several]] = words[~several]
        return cls(
            sentences=torch.from_numpy(groups.sentences.numbers()),
            sentence_count=len(groups.sentences),
            types=torch.from_numpy(types),
            words=torch.from_numpy(word_of_row),
            joined_rows=torch.from_numpy(joined.rows()),
            joined_words=torch.from_numpy(joined.numbers()),
            joined_slots=torch.from_numpy(words[several]),
        )


@dataclass(frozen=True)
class LayerNumbers:
    """What is known about the rows, texts and words of one layer of a batch."""

    norms: Doubles
    """Length of each row."""
    sentence_counts: Ids
    """Rows of each text that are not zero."""
    sentence_cosines: Doubles
    """Mean cosine of a text's rows with their sum; NaN where that is zero."""
    joined_norms: Doubles
    """Length of the sum of rows for each word of several rows."""


class LayerKernel:
    """Takes one layer of a batch after the other, in working memory that it keeps."""

    def __init__(self) -> None:
        self._memory: dict[tuple[str, int], torch.Tensor] = {}

    @torch.no_grad()
    def add(
        self,
        vectors: Any,
        index: RowIndex,
        type_sums: Doubles,
        word_sums: Doubles,
    ) -> LayerNumbers:
        """Add the unit vectors of a layer to the running sums by token type and by word.

        The vectors are scaled in place, so the order matters: sums of the vectors as they are
        first, then of unit vectors. The few words of several rows are summed by themselves.
        """
        x = self._in_double(vectors)
        norms = torch.linalg.vector_norm(x, dim=1)
        sentence_sums = self._summed("sums", x, index.sentences, index.sentence_count)
        joined = self._space("joined", len(index.joined_rows), x.shape[1])
        torch.index_select(x, 0, index.joined_rows, out=joined)
        joined_sums = self._summed("words", joined, index.joined_words, len(index.joined_slots))
        joined_norms = torch.linalg.vector_norm(joined_sums, dim=1)
        x *= _inverse(norms)[:, None]
        sentence_units = self._summed("units", x, index.sentences, index.sentence_count)
        torch.from_numpy(type_sums).index_add_(0, index.types, x)
        words = torch.from_numpy(word_sums)
        words.index_add_(0, index.words, x)
        joined_sums *= _inverse(joined_norms)[:, None]
        words.index_add_(0, index.joined_slots, joined_sums)

        counts = torch.bincount(
            index.sentences, weights=(norms > 0).double(), minlength=index.sentence_count
        )
        products = torch.einsum("ij,ij->i", sentence_sums, sentence_units)
        lengths = torch.linalg.vector_norm(sentence_sums, dim=1) * counts
        return LayerNumbers(
            norms=norms.numpy(),
            sentence_counts=counts.long().numpy(),
            sentence_cosines=torch.where(lengths > 0, products / lengths, torch.nan).numpy(),
            joined_norms=joined_norms.numpy(),
        )

    def _in_double(self, vectors: Any) -> torch.Tensor:
        """Copy vectors from wherever they are."""
        given = vectors if isinstance(vectors, torch.Tensor) else torch.as_tensor(vectors)
        return self._space("vectors", *given.shape).copy_(given)

    def _summed(
        self, purpose: str, rows: torch.Tensor, groups: torch.Tensor, count: int
    ) -> torch.Tensor:
        return self._space(purpose, count, rows.shape[1]).zero_().index_add_(0, groups, rows)

    def _space(self, purpose: str, rows: int, width: int) -> torch.Tensor:
        """Return memory that was used before: fresh pages cost as much as the sums."""
        memory = self._memory.get((purpose, width))
        if memory is None or len(memory) < rows:
            memory = torch.empty(rows + rows // 8, width, dtype=torch.float64)
            self._memory[purpose, width] = memory
        return memory[:rows]


def _inverse(lengths: torch.Tensor) -> torch.Tensor:
    """Return 1 / length, or 0 for a zero vector, which then stays one."""
    return torch.where(lengths > 0, 1 / lengths, 0.0)
