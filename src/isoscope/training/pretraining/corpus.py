"""A text as blocks of tokens to learn from, and others to be judged on.

Texts are joined with an end between them and cut into blocks of one length, each with a begin
before it. One text in twenty is kept for validation, unless there is another file for that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.texts.open import open_texts
from isoscope.errors import DataError
from isoscope.training.made_model import SPECIAL, byte_pair_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.training.pretraining.plan import Size


HELD_OUT = 20
"""One text in so many is for validation."""

FEWEST_BATCHES = 2
"""Batches that a text must have: fewer are no text to learn a language from."""

AT_ONCE = 10_000
"""Texts that are tokenized together."""


@dataclass(frozen=True)
class Corpus:
    """Blocks of tokens.

    Attributes
    ----------
    tokenizer : PreTrainedTokenizerFast
        Learned from the training texts.
    train, validation : array
        Blocks × tokens.
    counts : array
        How often each token of the vocabulary is in the training blocks.
    digest : str
        Of all texts.
    words : str
        What it is, in a line.
    held_texts : tuple of str
        The texts for validation.
    """

    tokenizer: Any
    train: NDArray[np.int32]
    validation: NDArray[np.int32]
    counts: NDArray[np.int64]
    digest: str
    words: str
    held_texts: tuple[str, ...] = ()

    def batch(self, step: int, size: int, seed: int) -> NDArray[np.int64]:
        """Return the blocks of a step, from 0; every epoch has an order of its own."""
        places = np.arange(step * size, (step + 1) * size)
        epochs = places // len(self.train)
        found = np.empty((size, self.train.shape[1]), np.int64)
        for epoch in np.unique(epochs):
            order = np.random.default_rng([seed, int(epoch)]).permutation(len(self.train))
            here = epochs == epoch
            found[here] = self.train[order[places[here] % len(self.train)]]
        return found


def make_corpus(
    text: Any, shape: Size, *, validation: Any = None, column: str | None = None
) -> Corpus:
    """Learn a vocabulary from texts, and cut them into blocks.

    Parameters
    ----------
    text : str, Path, list of str or TextSource
        What ``open_texts`` takes.
    shape : Size
        Says how large vocabulary, blocks and batches are.
    validation : optional
        The same, for what is judged on.
    column : str, optional
        Which column of a table holds the texts.
    """
    learned, judged, name = split_texts(text, validation, column)
    tokenizer = byte_pair_tokenizer(learned, shape.vocabulary, shape.context)
    if len(tokenizer) < shape.vocabulary:
        raise DataError(
            f"{name} is too small for a vocabulary of {shape.vocabulary:,}: it has pairs for "
            f"{len(tokenizer):,}; name a smaller --vocabulary, or give more text"
        )
    train = blocks(tokenizer, learned, shape.context)
    held = blocks(tokenizer, judged, shape.context)
    needed = FEWEST_BATCHES * shape.batch_size
    if len(train) < needed:
        raise DataError(
            f"{name} is too small: {len(train):,} blocks of {shape.context} tokens, and "
            f"{FEWEST_BATCHES} batches of {shape.batch_size} have {needed:,}; give more text"
        )
    if not len(held):
        raise DataError(
            f"the texts for validation have less than {shape.context} tokens; give more text"
        )
    digest = hashlib.sha256()
    for texts in (learned, judged):
        digest.update(b"%d texts\n" % len(texts))
        for one in texts:
            content = one.encode()
            digest.update(b"%d\n" % len(content))
            digest.update(content)
    return Corpus(
        tokenizer, train, held, np.bincount(train.ravel(), minlength=len(tokenizer)),
        digest.hexdigest(),
        f"{name}: {train.size:,} tokens to learn from, {held.size:,} for validation, vocabulary "
        f"{len(tokenizer):,}",
        tuple(judged),
    )  # fmt: skip


def split_texts(text: Any, validation: Any, column: str | None) -> tuple[list[str], list[str], str]:
    """Return texts to learn from, texts to be judged on, and what the first are called."""
    source = open_texts(text, column)
    texts = [one.text for one in source.texts()]
    if validation is None:
        kept = [k % HELD_OUT == HELD_OUT - 1 for k in range(len(texts))]
        learned = [one for one, held in zip(texts, kept, strict=True) if not held]
        return learned, [one for one, held in zip(texts, kept, strict=True) if held], source.name
    others = [one.text for one in open_texts(validation, column).texts()]
    return texts, others, source.name


def blocks(tokenizer: Any, texts: list[str], length: int) -> NDArray[np.int32]:
    """Join texts, and cut them into blocks; what is left over at the end is left out."""
    begin, end = (tokenizer.convert_tokens_to_ids(SPECIAL[k]) for k in (0, 2))
    stream: list[int] = []
    for first in range(0, len(texts), AT_ONCE):
        some = texts[first : first + AT_ONCE]
        for found in tokenizer.backend_tokenizer.encode_batch_fast(some, add_special_tokens=False):
            stream += found.ids
            stream.append(end)
    inner = length - 1
    count = len(stream) // inner
    found = np.full((count, length), begin, np.int32)
    found[:, 1:] = np.array(stream[: count * inner], np.int32).reshape(count, inner)
    return found
