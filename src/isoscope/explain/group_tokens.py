"""Tokens of groups of sentences in one layer, and where a word is among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import DataError
from isoscope.explain.token_kinds import MARKERS
from isoscope.models.layers import LayerClouds, TokenRule
from isoscope.models.pooling import ListedTexts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.explain.sentence_groups import SentenceGroup
    from isoscope.models.model import Model
    from isoscope.typing import Places


MARKS = (".", ",")


@dataclass(frozen=True)
class ReadGroups:
    """Tokens of sentences in one layer, and what each is a part of.

    Attributes
    ----------
    vectors : array
        A row for every token.
    tokens, words, word_numbers, sentences : array
        The token as the vocabulary writes it, the word of the text, its number and the sentence's.
    groups : array
        The group of every sentence.
    protocol : str
        What was read.
    """

    vectors: NDArray[np.float32]
    tokens: NDArray[np.object_]
    words: NDArray[np.object_]
    word_numbers: NDArray[np.int64]
    sentences: NDArray[np.int64]
    groups: NDArray[np.int64]
    protocol: str


@dataclass(frozen=True)
class Occurrences:
    """Where one word is among the tokens.

    Attributes
    ----------
    tokens : array
        Rows of its tokens, an occurrence after the other.
    starts : array
        Where in ``tokens`` each occurrence begins.
    sentences, groups : array
        Of every occurrence.
    """

    tokens: Places
    starts: Places
    sentences: NDArray[np.int64]
    groups: NDArray[np.int64]

    def vectors(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return a vector for each occurrence: its token, or the mean of several."""
        counts = np.diff(self.starts, append=len(self.tokens))
        return np.asarray(np.add.reduceat(rows[self.tokens], self.starts) / counts[:, None])


def read_sentences(
    model: Model,
    groups: Sequence[SentenceGroup],
    source: str,
    layer: str,
    progress: Progress | None = None,
) -> ReadGroups:
    """Read all sentences through a layer of a model; tokens that the tokenizer adds do not count.

    Parameters
    ----------
    model, layer
        Whose vectors.
    groups : sequence of SentenceGroup
        What is read.
    source : str
        Where the groups come from, for the protocol.
    progress : callable, optional
        Called with the name of the read, sentences done, and sentences in all.
    """
    texts = [text for group in groups for text in group.sentences]
    of_text = np.repeat(np.arange(len(groups)), [len(group.sentences) for group in groups])
    clouds = LayerClouds(model, ListedTexts(texts), TokenRule(), layers=[layer])
    names = ("token", "word", "word index", "sentence", "position")
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in ("vectors", *names)}
    for batches in clouds.batches():
        batch = batches[layer]
        parts["vectors"].append(batch.vectors.float().cpu().numpy())
        for name in names:
            parts[name].append(np.asarray(batch.labels[name]))
        if progress is not None:
            progress("sentences", clouds.so_far.texts, len(texts))
    if not parts["vectors"]:
        raise DataError(f"{model.name}: no token of the sentences is left to look at")
    whole = {name: np.concatenate(some) for name, some in parts.items()}
    # Sentences of a length go through the network together: back into the order of reading.
    order = np.lexsort((whole["position"], whole["sentence"]))
    cut = clouds.so_far.truncation.texts
    return ReadGroups(
        whole["vectors"][order], whole["token"][order], whole["word"][order],
        whole["word index"][order], whole["sentence"][order], of_text,
        f"{len(texts):,} sentences of {len(groups):,} groups ({source}), {layer}"
        + (f", {cut:,} sentences cut at the limit of the model" if cut else ""),
    )  # fmt: skip


def occurrences(read: ReadGroups, word: str) -> Occurrences:
    """Find a word in any case, or a mark, among tokens.

    A mark is a token by itself, though some tokenizers count it to the word before. A word is all
    tokens that the tokenizer counts to it, but for marks; where it takes whole sentences for words,
    it is the one token that begins with a marker of a space.
    """
    if word in MARKS:
        chosen = np.array([token.lstrip(MARKERS) == word for token in read.tokens])
        keys = np.arange(len(chosen))
    else:
        chosen = np.array(
            [is_of(word, t, w) for t, w in zip(read.tokens, read.words, strict=True)], np.bool_
        )
        several = np.array([" " in name for name in read.words], np.bool_)
        keys = np.where(several, -1 - np.arange(len(chosen)), read.word_numbers)
    tokens = np.flatnonzero(chosen)
    own = keys[tokens]
    first = np.ones(len(tokens), np.bool_)
    first[1:] = own[1:] != own[:-1]
    starts = np.flatnonzero(first)
    sentences = read.sentences[tokens[starts]]
    return Occurrences(tokens, starts, sentences, read.groups[sentences])


def is_of(word: str, token: str, of_text: str) -> bool:
    """Whether a token is the word, or a part of it."""
    if " " in of_text:
        return token[:1] in MARKERS and token[1:].casefold() == word
    bare = of_text.strip("".join(MARKS)).casefold()
    return bare == word and token.lstrip(MARKERS) not in MARKS
