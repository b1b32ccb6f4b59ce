"""Tokens of whole texts in every layer of a model, in memory.

Texts are drawn at random and read whole, so that a token's position and neighbours are real.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.sampling import lowest_indices, row_keys
from isoscope.data.texts.readers import MadeTexts
from isoscope.errors import DataError
from isoscope.models.layers import LayerClouds, TokenRule
from isoscope.models.tokens import TextTokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.data.texts.base import TextSource
    from isoscope.models.model import Model


MEMORY = 2 * 10**9
"""Bytes that vectors of all layers may take; of large models fewer tokens are read."""

AT_ONCE = 256
"""Texts that are tokenized together while they are drawn."""


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
    width = int(model.config.get_text_config().hidden_size)
    limit = max(1, min(most, MEMORY // (4 * width * len(wanted))))
    rule = TokenRule(special=special)
    drawn, total = drawn_texts(model, texts, limit, rule, seed)
    group = LayerClouds(model, MadeTexts(partial(iter, drawn), texts.name), rule, layers=wanted)
    vectors: dict[str, list[NDArray[np.float32]]] = {layer: [] for layer in wanted}
    labels: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("token id", "token", "word", "position", "sentence")
    }
    for batches in group.batches():
        for layer, batch in batches.items():
            vectors[layer].append(batch.vectors.float().cpu().numpy())
        known = next(iter(batches.values())).labels
        for name, values in labels.items():
            values.append(np.asarray(known[name]))
        if progress is not None:
            progress("texts", group.so_far.texts, len(drawn))
    if not labels["token id"]:
        raise DataError(f"{texts.name}: no token is left to look at ({rule})")
    joined = {name: np.concatenate(values) for name, values in labels.items()}
    # Texts of a length go through the network together: back into the order of reading.
    order = np.lexsort((joined["position"], joined["sentence"]))
    found = {layer: np.concatenate(parts)[order] for layer, parts in vectors.items()}
    some = "" if len(drawn) == total else f" of {total:,}, drawn at random"
    return TokenSample(
        found,
        joined["token id"][order].astype(np.int64),
        joined["token"][order],
        joined["word"][order],
        joined["position"][order].astype(np.int64),
        joined["sentence"][order].astype(np.int64),
        f"{len(order):,} tokens of {len(drawn):,} texts{some} ({texts.name}), {rule}",
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
