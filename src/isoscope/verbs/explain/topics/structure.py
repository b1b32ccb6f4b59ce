"""Do punctuation and stop words gather by the structure of their sentences?

For ``.``, ``,``, *the* and *of*: of the five nearest occurrences of the same word in other
sentences, the share whose sentence has the same structure, before and after a correction that is
fitted on all tokens of all sentences. With S_i the occurrences in other sentences of the group of i
and C_i those in any other sentence, chance is the mean of |S_i| / |C_i|.

An occurrence counts as an item, and its group is what is drawn: with s_g the sum of the shares of
the n_g occurrences in a group, share = Σ s_g / Σ n_g, and the influence of a group on it is
(s_g − share · n_g) G / Σ n_g. Intervals are for other groups that are searched among these.

References
----------
Rajaee & Pilehvar (2021), section 5.1 and figure 3. The paper does not give k, nor the distance:
k = 5 and cosine are ours. Liang & Zeger (1986), Longitudinal data analysis using generalized linear
models, for errors by groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.nearest_neighbours import STRIPE, nearest_rows
from isoscope.compute.stats.estimates import (
    FEWEST,
    ROUNDING,
    Score,
    bounded_score,
    difference,
    undefined,
    wilson,
)
from isoscope.corrections.named import fitted, named
from isoscope.data.arrays import ArrayCloud, unit_rows
from isoscope.errors import DataError
from isoscope.models.layers import LayerClouds, TokenRule
from isoscope.models.sentences.pooling import ListedTexts
from isoscope.models.token_table import in_reading_order
from isoscope.results.result import Row
from isoscope.verbs.explain.names import CHANCE, MARKS, SHARE, WORDS
from isoscope.verbs.explain.text import percentage
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure, Question, Topic
from isoscope.verbs.explain.topics.clusters import MARKERS
from isoscope.verbs.explain.topics.sentence_groups import SentenceGroup, made_groups, read_groups

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.models.model import Model
    from isoscope.progress import Progress
    from isoscope.typing import Places


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
    vectors, labels = in_reading_order(clouds, names, "sentences", len(texts), progress)
    if not vectors:
        raise DataError(f"{model.name}: no token of the sentences is left to look at")
    cut = clouds.so_far.truncation.texts
    return ReadGroups(
        vectors[layer], labels["token"], labels["word"], labels["word index"],
        labels["sentence"], of_text,
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
        # Numbers below 0 are no number of a word: such tokens are occurrences by themselves.
        keys = np.where(several, -1 - np.arange(len(chosen)), read.word_numbers)
    tokens = np.flatnonzero(chosen)
    # Tokens of one occurrence follow each other and have the same key.
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


# As many as a word that occurs once a sentence can have in its group of six.
NEIGHBOURS = 5

# How far a share is above chance where structure matters: one neighbour in twenty. Chance itself is
# about half a percent with 200 groups, so that less would be found in a space of little use.
MARGIN = 0.05

# Words that must show it: one alone may be an accident of its position.
ENOUGH_WORDS = 2
NONE = "none"
LEVEL = 0.95


def explain_structure(question: Question) -> Explanation:
    """Answer what the topic asks."""
    corrections = [] if question.correction == NONE else [question.correction]
    layer = question.chosen_layer
    rows = structure_shares(
        question.model, layer, corrections,
        groups=question.groups, seed=question.seed, progress=question.progress,
    )  # fmt: skip
    found = gathered(rows)
    sentence = told(rows, found, layer, corrections)
    brief, figures = in_brief(rows, found, layer)
    return Explanation(len(found) >= ENOUGH_WORDS, sentence, rows, [], brief, figures)


def in_brief(
    rows: Sequence[Row], found: Sequence[str], layer: str
) -> tuple[str, tuple[KeyFigure, ...]]:
    """Return the finding as a clause, with the share of every word beside chance."""
    chances = {row.part: row.value for row in rows if row.measure == CHANCE}
    shares = [row for row in rows if (row.measure, row.correction) == (SHARE, NONE)]
    figures = tuple(
        KeyFigure(f"neighbours of {row.part!r} of the same structure", row.value,
                  chances[row.part], "by chance", ".1%")
        for row in sorted(shares, key=lambda row: -(row.value or 0.0))
        if row.value is not None
    )  # fmt: skip
    if len(found) < ENOUGH_WORDS:
        return f"sentence structure does not gather punctuation and stop words in {layer}", figures
    return f"punctuation and stop words gather by sentence structure in {layer}", figures


def structure_shares(
    model: Model,
    layer: str,
    corrections: Sequence[str],
    *,
    groups: Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Row]:
    """Return shares of neighbours of the same structure, before and after corrections.

    Parameters
    ----------
    model, layer
        Whose vectors.
    corrections : sequence of str
        Beside none; each is fitted on all tokens.
    groups : Path, optional
        A file of groups of sentences; by default they are made from frames.
    seed : int
        Of the frames, and of the order in which neighbours of equal right are taken.
    progress : callable, optional
        Called with the name of the read, sentences done, and sentences in all.
    """
    if groups is None:
        sentences, source = made_groups(seed), f"made from frames, seed {seed}"
    else:
        sentences, source = read_groups(groups), groups.name
    read = read_sentences(model, sentences, source, layer, progress)
    return structure_rows(read, corrections, seed)


def structure_rows(read: ReadGroups, corrections: Sequence[str], seed: int) -> list[Row]:
    """Return shares, chance and differences of every word.

    Parameters
    ----------
    read : ReadGroups
        The tokens.
    corrections : sequence of str
        Beside none; each is fitted on all tokens.
    seed : int
        Of the order in which neighbours of equal right are taken.
    """
    spaces = {NONE: read.vectors}
    for one in fitted(named([NONE, *corrections]), ArrayCloud(read.vectors), None):
        if one.transformer is not None:
            spaces[one.name] = np.asarray(one.transformer.transform(read.vectors))
    how = (
        f"{read.protocol}; share of the {NEIGHBOURS} nearest by cosine among occurrences in other "
        f"sentences; corrections fitted on all {len(read.vectors):,} tokens; intervals by group"
    )
    rows = []
    for word in WORDS:
        there = occurrences(read, word)
        extra = {"groups": len(np.unique(there.groups))}
        row = partial(Row.of, n=len(there.starts), protocol=how, extra=extra)
        scores = {name: share(there, vectors, seed) for name, vectors in spaces.items()}
        before = scores[NONE]
        chance = chance_of(there) if before.value is not None else None
        note = "" if before.value is not None else before.note
        rows.append(row(chance, "", word, NONE, CHANCE, note=note))
        for name, score in scores.items():
            rows.append(row(score, "", word, name, SHARE))
            if name != NONE:
                moved = difference(score, before, level=LEVEL)
                rows.append(row(moved, "", word, name, f"{SHARE}/difference"))
    return rows


def share(there: Occurrences, rows: NDArray[Any], seed: int) -> Score:
    """Return the share of neighbours from the same group, with its interval by groups."""
    count = len(there.starts)
    _, groups = np.unique(there.groups, return_inverse=True)
    total = int(groups.max(initial=-1)) + 1
    if not count:
        return undefined("the word is in no sentence as the model reads them", 0)
    most = int(np.unique(there.sentences, return_counts=True)[1].max())
    if count - most < NEIGHBOURS:
        return undefined(f"fewer than {NEIGHBOURS} occurrences in other sentences", total)
    found = neighbours(there.vectors(rows), there.sentences, seed)
    same = (there.groups[found] == there.groups[:, None]).mean(axis=1)
    value = float(same.mean())
    sums, sizes = np.bincount(groups, same), np.bincount(groups)
    influences = (sums - value * sizes) * total / count
    score = bounded_score(value, influences, LEVEL)
    if min(value, 1 - value) < ROUNDING and total >= FEWEST:
        # No share of a group varies more than one that is 0 or 1: Wilson's interval holds.
        low, high = wilson(round(value), total, LEVEL)
        return Score(value, low, high, total, influences=influences)
    return score


def neighbours(vectors: NDArray[Any], sentences: NDArray[np.int64], seed: int) -> Places:
    """Return the nearest occurrences in other sentences for each, by cosine.

    Where many vectors are the same, as in a layer that knows no context, all of them find the same
    few, those that the search meets first. Which group these are of must not depend on the order
    of the list: so it is shuffled.
    """
    shuffled = np.random.default_rng(seed).permutation(len(vectors))
    units = np.nan_to_num(unit_rows(np.asarray(vectors[shuffled], np.float64)), nan=0.0)
    own = sentences[shuffled]
    most = int(np.unique(own, return_counts=True)[1].max())
    # At most so many of the nearest are of the same sentence, and have to give way.
    near = nearest_rows(units, NEIGHBOURS + most - 1)
    cosines = np.zeros(near.shape)
    if most > 1:
        for first in range(0, len(units), STRIPE):
            rows = slice(first, first + STRIPE)
            cosines[rows] = np.einsum("id,ijd->ij", units[rows], units[near[rows]])
    cosines[own[near] == own[:, None]] = -np.inf
    best = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
    found = np.empty((len(vectors), NEIGHBOURS), np.intp)
    found[shuffled] = shuffled[np.take_along_axis(near, best, axis=1)]
    return found


def chance_of(there: Occurrences) -> float:
    """Return the mean share of the same group among all that could be neighbours."""
    _, sentence, in_sentence = np.unique(there.sentences, return_inverse=True, return_counts=True)
    _, group, in_group = np.unique(there.groups, return_inverse=True, return_counts=True)
    own = in_sentence[sentence]
    return float(np.mean((in_group[group] - own) / (len(own) - own)))


def gathered(rows: Sequence[Row]) -> list[str]:
    """Return the words whose neighbours are of the same structure more often than by chance."""
    chances = {row.part: row.value for row in rows if row.measure == CHANCE}
    found = []
    for row in rows:
        chance = chances[row.part]
        if (row.measure, row.correction) == (SHARE, NONE) and chance is not None:
            least = chance + MARGIN
            if (row.value or 0.0) >= least and row.low is not None and row.low > chance:
                found.append(row.part)
    return found


def told(rows: Sequence[Row], found: Sequence[str], layer: str, corrections: Sequence[str]) -> str:
    """Return the finding in a sentence."""
    values = {(row.part, row.correction, row.measure): row.value for row in rows}
    defined = [word for word in WORDS if values[word, NONE, SHARE] is not None]
    if not defined:
        return (
            f"Whether words gather by sentence structure in {layer} is not known: "
            f"{rows[0].note.removeprefix('undefined: ')}."
        )
    figures = []
    for word in defined:
        before, chance = (percentage(values[word, NONE, one]) for one in (SHARE, CHANCE))
        after = "".join(
            f", {percentage(values[word, name, SHARE])} after {name}" for name in corrections
        )
        figures.append(f"{word!r} {before}{after} (chance {chance})")
    start = f"In {layer}, {' '.join(map(repr, found))} gather by sentence structure"
    if len(found) < ENOUGH_WORDS:
        start = f"Punctuation and stop words do not gather by sentence structure in {layer}"
    return (
        f"{start}: of their {NEIGHBOURS} nearest neighbours, those from sentences of the same "
        f"structure are {'; '.join(figures)}."
    )


STRUCTURE = Topic(
    "structure", "whether punctuation and stop words gather by sentence structure",
    "nothing; --groups adds groups of sentences of your own", explain_structure,
)  # fmt: skip
