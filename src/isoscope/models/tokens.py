"""Texts as token ids, with what each token is a part of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.data.texts.base import Text


NO_WORD = -1
"""The word of a token that belongs to none, such as a separator."""


@dataclass(frozen=True)
class TokenizedText:
    """One text as a model reads it."""

    text: Text
    ids: NDArray[np.int64]
    special: NDArray[np.bool_]
    """Tokens that the tokenizer added, such as [CLS]."""
    words: NDArray[np.int64]
    """Which word of the text each token is a part of; −1 for none."""
    word_starts: NDArray[np.int64]
    word_ends: NDArray[np.int64]
    """Where in the text each word stands, in characters."""
    lost: int
    """Tokens beyond the limit of the model."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def word_texts(self) -> NDArray[np.object_]:
        """The words as they stand in the text, without the space that byte-level BPE joins."""
        spans = zip(self.word_starts.tolist(), self.word_ends.tolist(), strict=True)
        found = np.empty(len(self.word_starts), dtype=object)
        found[:] = [self.text.text[start:end].strip() for start, end in spans]
        return found


@dataclass
class Truncation:
    """How much of the texts was beyond the limit of the model."""

    texts: int = 0
    tokens: int = 0

    def add(self, text: TokenizedText) -> None:
        """Take one text into account."""
        self.texts += text.lost > 0
        self.tokens += text.lost


@dataclass(frozen=True)
class TextTokenizer:
    """A fast tokenizer with a limit."""

    tokenizer: Any = field(repr=False)
    longest: int | None

    def __call__(self, texts: Sequence[Text]) -> list[TokenizedText]:
        """Tokenize several texts at once, as the tokenizer's own threads like it."""
        found = self.tokenizer(
            [text.text for text in texts],
            truncation=self.longest is not None,
            max_length=self.longest,
            return_attention_mask=False,
            # What is cut off is wanted only for its length, and comes with each encoding.
            verbose=False,
        )
        return [
            tokenized(text, encoding) for text, encoding in zip(texts, found.encodings, strict=True)
        ]

    def token_texts(self, ids: NDArray[np.int64]) -> NDArray[np.object_]:
        """Return tokens as the vocabulary writes them."""
        distinct, where = np.unique(ids, return_inverse=True)
        names = np.empty(len(distinct), dtype=object)
        names[:] = [str(token) for token in self.tokenizer.convert_ids_to_tokens(distinct.tolist())]
        return names[where]


def tokenized(text: Text, encoding: Any) -> TokenizedText:
    """Take what matters out of an encoding, which holds far more."""
    special = np.asarray(encoding.special_tokens_mask, dtype=np.bool_)
    given = [NO_WORD if word is None else word for word in encoding.word_ids]
    words = np.asarray(given, dtype=np.int64)
    words[special] = NO_WORD
    offsets = np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2)
    # Tokens of a word stand side by side, so that a word ends where another number begins.
    changes = np.flatnonzero(np.diff(words, prepend=NO_WORD - 1, append=NO_WORD - 1))
    firsts, lasts = changes[:-1], changes[1:] - 1
    inside = words[firsts] != NO_WORD
    numbers = np.where(inside, np.cumsum(inside) - 1, NO_WORD)
    words = np.repeat(numbers, np.diff(changes))
    starts, ends = offsets[firsts[inside], 0], offsets[lasts[inside], 1]
    lost = sum(len(rest.ids) - sum(rest.special_tokens_mask) for rest in encoding.overflowing)
    return TokenizedText(
        text, np.asarray(encoding.ids, dtype=np.int64), special, words, starts, ends, lost
    )
