"""How often words and tokens are in a text."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.data.texts.base import TextSource


WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
"""A word, with apostrophes inside, or one mark of punctuation."""

AT_ONCE = 1_000
"""Texts that are tokenized together."""


def word_counts(texts: TextSource) -> Counter[str]:
    """Count words as they are written, and marks of punctuation."""
    counts: Counter[str] = Counter()
    for text in texts.texts():
        counts.update(WORD.findall(text.text))
    return counts


def token_counts(tokenizer: Any, texts: TextSource, size: int | None = None) -> NDArray[np.int64]:
    """Count the tokens of a vocabulary in texts; none is cut, and none is added.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerFast
        Of a model.
    texts : TextSource
        What is counted.
    size : int, optional
        Rows of the vocabulary's matrix, where it has more than the tokenizer has tokens.
    """
    counts = np.zeros(max(len(tokenizer), size or 0), np.int64)
    for some in in_batches(texts):
        found = tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"]
        counts += np.bincount([token for ids in found for token in ids], minlength=len(counts))
    return counts


def in_batches(texts: TextSource) -> Iterator[list[str]]:
    """Yield texts, some at a time."""
    some: list[str] = []
    for text in texts.texts():
        some.append(text.text)
        if len(some) == AT_ONCE:
            yield some
            some = []
    if some:
        yield some
