"""From a model and texts to what is explored: tokens in every layer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import unknown_name
from isoscope.explore.explored import Colouring, Explored
from isoscope.results.measuring import listed

if TYPE_CHECKING:
    from isoscope.compute.stage import Progress
    from isoscope.explain.token_sample import TokenSample


MOST_TOKENS = 20_000
"""Tokens that are read, unless another number is asked for."""

AROUND = 6
"""Tokens on either side of one that its context shows."""

BEGINNING = re.compile(r"^[Ġ▁]")
"""What vocabularies write before a token that begins a word."""


def read_model(
    model: str,
    text: Any,
    *,
    column: str | None = None,
    layers: str | None = None,
    tokens: int = MOST_TOKENS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Explored:
    """Read texts with a model, and keep its tokens in every layer.

    Parameters
    ----------
    model : str
        What ``open_model`` takes.
    text : str, Path or list of str
        What ``open_texts`` takes.
    column : str, optional
        Which column of a table holds the texts.
    layers : str, optional
        Names with commas; by default all.
    tokens : int
        How many are read, at most; fewer where they would not fit into memory.
    seed : int
        Of the draw of texts.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    """
    from isoscope.data.texts.open import open_texts
    from isoscope.explain.token_sample import read_tokens
    from isoscope.models.model import open_model

    texts = open_texts(text, column=column)
    opened = open_model(model)
    known = opened.stacks[0].layers
    wanted = listed(layers, known)
    for layer in wanted:
        if layer not in known:
            raise unknown_name(f"layer of {opened.name}", layer, known)
    sample = read_tokens(opened, texts, tokens, seed, layers=wanted, progress=progress)
    tokenizer = opened.tokenizer
    opened.release()

    def context(row: int) -> str:
        near = around(sample, row)
        return str(tokenizer.convert_tokens_to_string(sample.tokens[near].tolist())).strip()

    words = np.array(
        [str(word or token) for word, token in zip(sample.words, sample.tokens, strict=True)],
        dtype=object,
    )
    labels = np.array(
        [label(word, str(token)) for word, token in zip(words, sample.tokens, strict=True)],
        dtype=object,
    )
    _, inverse, counts = np.unique(words.astype(str), return_inverse=True, return_counts=True)
    colourings = {
        "position in the text": Colouring(sample.positions.astype(np.float32)),
        "frequency in what was read": Colouring(counts[inverse].astype(np.float32), True),
    }
    return Explored(opened.name, sample.protocol, sample.layers, words, labels, colourings, context)


def around(sample: TokenSample, row: int) -> slice:
    """Return the rows near one that are of the same text; rows of a text stand together."""
    first, last = max(0, row - AROUND), min(len(sample), row + AROUND + 1)
    same = np.flatnonzero(sample.sentences[first:last] == sample.sentences[row])
    return slice(first + int(same[0]), first + int(same[-1]) + 1)


def label(word: str, token: str) -> str:
    """Return a word, with the token that is meant where it is only a part of it."""
    whole = BEGINNING.sub("", token).casefold() == word.casefold()
    return word if whole else f"{word} [{token}]"
