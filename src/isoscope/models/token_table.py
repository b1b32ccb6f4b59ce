"""Tokens of texts in the layers of a model, in memory.

Three ways to read them: whole texts drawn at random, in every layer, so that a token's position and
neighbours are real (``read_tokens``); all tokens of the last layer (``read_last_layer``); and, in
one pass, the sums of every layer with one random token of every text (``read_layers``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.memory import room
from isoscope.data.arrays import on_host, to_host
from isoscope.data.sampling import lowest_indices, row_keys
from isoscope.data.texts.base import TextSource
from isoscope.data.texts.readers import MadeTexts
from isoscope.errors import DataError
from isoscope.measures.kernels import MomentsKernel, moments_kernel_for
from isoscope.measures.reads.moments import MomentParts, Moments
from isoscope.models.layer_names import numbered_layers
from isoscope.models.layers import LayerClouds, TokenRule
from isoscope.models.model import Model, provenance_of
from isoscope.models.sentences.pooling import Watch, token_batches
from isoscope.models.tokens import TextTokenizer
from isoscope.progress import Progress, report

# Bytes that vectors of all layers may take; of large models fewer tokens are read.
MEMORY = 2 * 10**9

# Texts that are tokenized together while they are drawn.
AT_ONCE = 256


@dataclass(frozen=True)
class TokenSample:
    """Vectors of tokens in several layers, and what is known of each token.

    Attributes
    ----------
    layers : dict
        For each layer an array of float32 with a row for every token, in the same order.
    ids : array
        Row of the vocabulary.
    tokens, words : array of str
        The token as the vocabulary writes it, and the word of the text that it is a part of.
    positions : array
        Place in the text as the model counts it: special tokens have places too.
    sentences : array
        Number of the text.
    protocol : str
        What was read.
    """

    layers: dict[str, NDArray[np.float32]]
    ids: NDArray[np.int64]
    tokens: NDArray[np.object_]
    words: NDArray[np.object_]
    positions: NDArray[np.int64]
    sentences: NDArray[np.int64]
    protocol: str

    def __len__(self) -> int:
        return len(self.ids)


def read_tokens(
    model: Model,
    texts: TextSource,
    most: int,
    seed: int = 0,
    *,
    special: bool = False,
    layers: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> TokenSample:
    """Read whole texts, drawn at random, up to a number of tokens.

    Parameters
    ----------
    model, texts
        What is read; of a sequence-to-sequence model the encoder.
    most : int
        Tokens at most; fewer where the vectors would take more than ``MEMORY``. The first text is
        read in any case.
    seed : int
        Of the draw.
    special : bool
        Whether tokens that the tokenizer adds count.
    layers : iterable of str, optional
        Names of layers; all by default.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    """
    wanted = tuple(model.stacks[0].layers if layers is None else layers)
    width = model.dimension
    limit = max(1, min(most, room(MEMORY) // (4 * width * len(wanted))))
    rule = TokenRule(special=special)
    drawn, total = drawn_texts(model, texts, limit, rule, seed)
    group = LayerClouds(model, MadeTexts(partial(iter, drawn), texts.name), rule, layers=wanted)
    names = ("token id", "token", "word", "position", "sentence")
    found, labels = in_reading_order(group, names, "texts", len(drawn), progress)
    if not found:
        raise DataError(f"{texts.name}: all tokens were excluded ({rule})")
    some = "" if len(drawn) == total else f" of {total:,}, drawn at random"
    ids = labels["token id"].astype(np.int64)
    return TokenSample(
        found,
        ids,
        labels["token"],
        labels["word"],
        labels["position"].astype(np.int64),
        labels["sentence"].astype(np.int64),
        f"{len(ids):,} tokens of {len(drawn):,} texts{some} ({texts.name}), {rule}",
    )


def in_reading_order(
    group: LayerClouds,
    names: Sequence[str],
    unit: str,
    total: int,
    progress: Progress | None = None,
) -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[Any]]]:
    """Read tokens through layers, and return vectors and labels in the order of the texts.

    Parameters
    ----------
    group : LayerClouds
        Layers of a model over texts.
    names : sequence of str
        Labels that are wanted; ``position`` and ``sentence`` among them, which tell the order.
    unit, total : str and int
        What progress counts, and how many there are in all.
    progress : callable, optional
        Called with the unit, texts done, and the total.

    Returns
    -------
    tuple of dict
        For each layer an array of float32, and for each label an array, with a row for every
        token. Both are empty where no token counts.
    """
    vectors: dict[str, list[NDArray[np.float32]]] = {}
    labels: dict[str, list[NDArray[Any]]] = {}
    for batches in group.batches():
        for layer, batch in batches.items():
            vectors.setdefault(layer, []).append(batch.vectors.float().cpu().numpy())
        known = next(iter(batches.values())).labels
        for name in names:
            labels.setdefault(name, []).append(np.asarray(known[name]))
        report(progress, unit, group.so_far.texts, total)
    if not vectors:
        return {}, {}
    joined = {name: np.concatenate(values) for name, values in labels.items()}
    # Texts of a length go through the network together: back into the order of reading.
    order = np.lexsort((joined["position"], joined["sentence"]))
    return (
        {layer: np.concatenate(parts)[order] for layer, parts in vectors.items()},
        {name: values[order] for name, values in joined.items()},
    )


def drawn_texts(
    model: Model, texts: TextSource, limit: int, rule: TokenRule, seed: int
) -> tuple[list[str], int]:
    """Return texts in random order whose tokens fit a limit, and how many texts there are.

    A text that does not fit any more ends the draw: going on to shorter ones would prefer them.
    """
    total = texts.survey().texts
    # Nearly every text has a token that counts: more texts than tokens are never needed.
    chosen = lowest_indices(total, min(total, limit), seed)
    wanted = set(chosen.tolist())
    found = {text.index: text for text in texts.texts() if text.index in wanted}
    # In the order of their random keys, not of the file: the draw may end before the last text, and
    # what it has by then must be a random sample too.
    order = chosen[np.argsort(row_keys(chosen, seed), kind="stable")].tolist()
    tokenizer = TextTokenizer(model.tokenizer, model.longest)
    kept: list[str] = []
    used = 0
    for start in range(0, len(order), AT_ONCE):
        for text in tokenizer([found[index] for index in order[start : start + AT_ONCE]]):
            used += int(rule.counts(text).sum())
            if kept and used > limit:
                return kept, total
            kept.append(text.text.text)
    return kept, total


# What studies call it, whatever its name in a model.
LAST = "last layer"


@dataclass(frozen=True)
class LastLayer:
    """Vectors of tokens, the number of the text of each, and how they were read."""

    tokens: NDArray[Any]
    texts: NDArray[np.int64]
    protocol: str


def read_last_layer(
    model: Model,
    texts: Sequence[str],
    name: str,
    *,
    watch: Watch | None = None,
    progress: Progress | None = None,
) -> LastLayer:
    """Keep every token of the last layer but those that the tokenizer adds.

    Parameters
    ----------
    model : Model
        Of a sequence-to-sequence model the encoder is read.
    texts : sequence of str
        The texts.
    name : str
        What they are called in the protocol.
    watch : callable, optional
        Sees the tokens of every batch, as in ``isoscope.models.sentences.pooling.pooled``.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    """
    layer = last_layer_of(model)
    rule, parts, done = TokenRule(), [], 0
    of_texts: list[NDArray[np.int64]] = []
    for batch in token_batches(model, texts, [layer], special_tokens=rule.special):
        tokens = batch.layers[layer]
        if watch is not None:
            watch(layer, tokens)
        parts.append(to_host(tokens))
        of_texts.append(np.repeat(batch.rows, batch.counts))
        done += batch.texts
        report(progress, "texts", done, len(texts))
    if not parts:
        raise DataError(f"{name}: all tokens were excluded ({rule})")
    rows = np.concatenate(parts)
    return LastLayer(
        rows,
        np.concatenate(of_texts),
        f"{len(rows):,} tokens of {len(texts):,} texts ({name}), {rule}, {about_layer(layer)}",
    )


def last_layer_of(model: Model) -> str:
    """Return the name of the last layer, behind the final norm where there is one."""
    return model.stacks[0].layers[-1]


def about_layer(layer: str) -> str:
    """Return what a protocol says of the last layer, and of first tokens, which are often odd."""
    return f"first tokens in; {LAST}: {layer}"


# Room for the tokens of one text in the number of a token.
TOKENS_OF_A_TEXT = 1 << 24


@dataclass(frozen=True)
class ReadLayer:
    """What was read of one layer."""

    moments: Moments
    """Over all tokens that count."""
    tokens: NDArray[np.float64]
    """The vector of one token of each text, in the order of reading."""
    stored: str
    """Type in which the vectors were computed."""
    texts: NDArray[np.int64]
    """Number of the text of every such token."""
    parts: tuple[Moments, ...] = ()
    """The sums of each block of texts; those without a block are ``moments.without(part)``."""


@dataclass(frozen=True)
class ReadLayers:
    """The layers of a model as papers number them, and what was read."""

    layers: dict[str, ReadLayer]
    protocol: str
    provenance: dict[str, Any]
    """Where the weights of the model come from, as results keep it."""
    texts: int
    """How many texts there are, those without a token that counts included."""


def read_layers(
    model: Model,
    texts: TextSource,
    seed: int,
    *,
    special: bool,
    scatter: bool = True,
    layers: Iterable[str] | None = None,
    blocks: NDArray[np.intp] | None = None,
    progress: Progress | None = None,
) -> ReadLayers:
    """Sum every layer over all tokens, and draw one token of every text.

    The same tokens are drawn in every layer, whatever the size of batches. ``layers`` are numbered,
    such as ``layer 12``, ``scatter`` says whether covariances are wanted, and ``blocks`` has the
    block of every text, where sums of each are wanted too; the other parameters are as in
    ``read_tokens``.
    """
    names = numbered_layers(model.stacks)
    wanted = set(names.values() if layers is None else layers)
    names = {layer: number for layer, number in names.items() if number in wanted}
    group = LayerClouds(model, texts, TokenRule(special=special), layers=names)
    total = texts.survey().texts
    parts = MomentParts(scatter=scatter)
    sums: dict[str, dict[int, MomentsKernel]] = {layer: {} for layer in names}
    drawn: dict[str, list[NDArray[np.float64]]] = {layer: [] for layer in names}
    numbers: list[NDArray[np.int64]] = []
    for batches in group.batches():
        first = next(iter(batches.values()))
        chosen = one_of_each(first.labels["sentence"], first.labels["position"], seed)
        sentences = np.asarray(first.labels["sentence"], np.int64)
        numbers.append(sentences[chosen])
        dealt = np.zeros(len(sentences), np.intp) if blocks is None else blocks[sentences]
        rows_of = {int(block): np.flatnonzero(dealt == block) for block in np.unique(dealt)}
        for layer, batch in batches.items():
            for block, rows in rows_of.items():
                if block not in sums[layer]:
                    sums[layer][block] = moments_kernel_for(batch.vectors, parts, double=False)
                some = batch.vectors if len(rows) == len(dealt) else batch.vectors[rows]
                sums[layer][block].add(some)
            drawn[layer].append(on_host(batch.vectors, chosen))
        report(progress, "first read", group.so_far.texts, total)
    stored = dict(zip(group.names, group.dtypes, strict=True))
    found = {}
    for layer, number in names.items():
        each = [sums[layer][block].result() for block in sorted(sums[layer])]
        known = tuple(one for one in each if one is not None)
        if not known:
            raise DataError(f"{texts.name}: all tokens were excluded ({group.rule})")
        found[number] = ReadLayer(
            reduce(Moments.merge, known), np.concatenate(drawn[layer]), stored[layer],
            np.concatenate(numbers), known if blocks is not None else (),
        )  # fmt: skip
    met = group.so_far
    return ReadLayers(
        found,
        f"{met.counted:,} tokens of {met.texts:,} texts ({texts.name}), {group.rule}",
        provenance_of(model),
        total,
    )


def one_of_each(sentences: NDArray[Any], positions: NDArray[Any], seed: int) -> NDArray[np.int64]:
    """Return one row of every sentence, each of its rows with the same chance."""
    keys = row_keys(sentences.astype(np.int64) * TOKENS_OF_A_TEXT + positions, seed)
    # The lowest key of each sentence wins. Keys follow from text and position, so that every layer
    # and every size of batches draws the same token.
    order = np.lexsort((keys, sentences))
    _, first = np.unique(sentences[order], return_index=True)
    return np.asarray(order[first])
