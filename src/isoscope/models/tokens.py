"""Texts as tokens: ids, the words that they are parts of, and which texts go through together.

Texts of a length fill a batch without padding, so they are sorted; not all of them, which would
have to be held in memory, but those of a window. Windows are cut by the texts alone: the order of
rows does not depend on the size of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.texts.base import Text
from isoscope.data.texts.shards import WINDOW_CHARACTERS, WINDOW_TEXTS, windows
from isoscope.errors import DataError
from isoscope.typing import Ids, Mask

__all__ = [
    "TOKEN_BUDGET",
    "WINDOW_CHARACTERS",
    "WINDOW_TEXTS",
    "batched",
    "usual_budget",
    "windows",
]

# Tokens in one forward pass, padding included. With one thread for each pass, MiniLM took 22 %
# less processor time with 1,024 than with 4,096 (once, on a busy machine): what stands between two
# operations stays in the cache of the core.
TOKEN_BUDGET = 1_024

# An accelerator has thousands of threads to keep busy; this was not measured.
ACCELERATOR_BUDGET = 4_096


def usual_budget(device: str) -> int:
    """Return the tokens of a batch on a device."""
    return TOKEN_BUDGET if device == "cpu" else ACCELERATOR_BUDGET


def batched(
    texts: Iterable[Text],
    tokenize: Callable[[Sequence[Text]], list[TokenizedText]],
    budget: int = TOKEN_BUDGET,
) -> Iterator[list[TokenizedText]]:
    """Yield texts of about the same length whose padded size stays within the budget.

    A text that is longer than the budget goes alone. Texts without a token are passed over.
    """
    for window in windows(texts):
        ready = sorted(
            (text for text in tokenize(window) if len(text)),
            # By length first, so that hardly any padding is computed; by number among equals, so
            # that the order never depends on anything but the texts.
            key=lambda text: (len(text), text.text.index),
        )
        batch: list[TokenizedText] = []
        for text in ready:
            # Texts come by length: the new one would be the longest, to which all are padded.
            if batch and (len(batch) + 1) * len(text) > budget:
                yield batch
                batch = []
            batch.append(text)
        if batch:
            yield batch


@dataclass(frozen=True)
class Mention:
    """A word where it stands.

    Attributes
    ----------
    text : int
        Which text of a list.
    start, end : int
        Where the word begins and ends in it, in characters.
    """

    text: int
    start: int
    end: int


def by_text(mentions: Sequence[Mention], texts: Sequence[str]) -> dict[int, list[int]]:
    """Return the numbers of the mentions in every text; each must lie inside its text."""
    found: dict[int, list[int]] = {}
    for number, mention in enumerate(mentions):
        if not 0 <= mention.text < len(texts):
            raise DataError(f"mention {number}: there is no text {mention.text}")
        if not 0 <= mention.start < mention.end <= len(texts[mention.text]):
            raise DataError(
                f"mention {number}: characters {mention.start} to {mention.end} are not in "
                f"{texts[mention.text][:40]!r}"
            )
        found.setdefault(mention.text, []).append(number)
    return found


def mentioned_tokens(
    batch: Sequence[TokenizedText],
    kept: Sequence[Mask],
    mentions: Sequence[Mention],
    of_text: Mapping[int, Sequence[int]],
) -> tuple[Ids, Ids, Ids]:
    """Find the tokens of every mention in some texts.

    A token belongs to a mention where the tokenizer's word that it is a part of overlaps the
    mention's characters: a mention such as *mother-in-law* may be several of those words.

    Returns
    -------
    tuple of array
        The numbers of the mentions that have tokens, how many each has, and the places of these
        among all tokens that count.
    """
    numbers: list[int] = []
    counts: list[int] = []
    places: list[Ids] = []
    before = 0
    for text, keep in zip(batch, kept, strict=True):
        words = text.words[keep]
        for number in of_text.get(text.text.index, ()):
            mention = mentions[number]
            overlaps = (text.word_starts < mention.end) & (text.word_ends > mention.start)
            tokens = np.flatnonzero(np.isin(words, np.flatnonzero(overlaps)))
            if len(tokens):
                numbers.append(number)
                counts.append(len(tokens))
                places.append(before + tokens)
        before += len(words)
    chosen = np.concatenate(places) if places else np.empty(0, np.int64)
    return np.array(numbers, np.int64), np.array(counts, np.int64), chosen


# The word of a token that belongs to none, such as a separator.
NO_WORD = -1


@dataclass(frozen=True)
class TokenizedText:
    """One text as a model reads it."""

    text: Text
    ids: Ids
    special: Mask
    """Tokens that the tokenizer added, such as [CLS]."""
    words: Ids
    """Which word of the text each token is a part of; −1 for none."""
    word_starts: Ids
    word_ends: Ids
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

    def token_texts(self, ids: Ids) -> NDArray[np.object_]:
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
    # Numbered anew from 0 on, without gaps: word_starts and word_ends have an entry for each word
    # that has a token, and are looked up by these numbers.
    numbers = np.where(inside, np.cumsum(inside) - 1, NO_WORD)
    words = np.repeat(numbers, np.diff(changes))
    starts, ends = offsets[firsts[inside], 0], offsets[lasts[inside], 1]
    lost = sum(len(rest.ids) - sum(rest.special_tokens_mask) for rest in encoding.overflowing)
    return TokenizedText(
        text, np.asarray(encoding.ids, dtype=np.int64), special, words, starts, ends, lost
    )
