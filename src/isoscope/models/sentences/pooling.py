"""One vector for each text out of any layer: its tokens, pooled.

``mean`` is the mean Σ x_t / n over a text's n tokens, ``max`` their largest entry in each
dimension, ``cls`` the first token and ``last`` the last one. Tokens that the tokenizer adds count
by default, as they do in the mean pooling of sentence-transformers; without them ``cls`` is the
first token of the text itself. Words in texts get vectors in the same way, out of their own tokens.
Reimers & Gurevych (2019, Sentence-BERT, EMNLP) compare mean, max and cls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.in_order import Turn
from isoscope.data.arrays import at_least_single
from isoscope.data.base import Array
from isoscope.data.texts.base import Text, TextRow, TextSource, check_unicode
from isoscope.errors import DataError, UsageError, check_name
from isoscope.models.layers import LayerClouds, TokenRule
from isoscope.models.tokens import (
    Mention,
    TokenizedText,
    by_text,
    mentioned_tokens,
)
from isoscope.progress import Progress, report
from isoscope.typing import Ids

if TYPE_CHECKING:
    import torch

    from isoscope.models.model import Model


POOLINGS = ("mean", "cls", "last", "max")

# Takes the name of a layer and the vectors of some tokens that count.
Watch: TypeAlias = Callable[[str, Any], None]

Value = TypeVar("Value")

# Pooled vectors, by layer and correction.
Pooled: TypeAlias = dict[tuple[str, str], NDArray[Any]]


@dataclass(frozen=True)
class TokenBatch:
    """The tokens of some texts in several layers."""

    texts: int
    """How many texts."""
    rows: Ids
    """Numbers of the texts, or of the mentions in them, that get a vector."""
    counts: Ids
    """Tokens of each that count, at least one."""
    chosen: Ids | None
    """Which of the tokens they are, one after the other; None for all of them."""
    layers: Mapping[str, torch.Tensor]
    """The vectors of all tokens that count, text after text."""


class ListedTexts(TextSource):
    """Strings in memory, each with a number; blank ones count, unlike in other sources."""

    def __init__(self, listed: Sequence[str]) -> None:
        super().__init__("texts")
        self._listed = listed

    def rows(self) -> Iterator[TextRow]:
        """Yield the strings in order."""
        for text in self._listed:
            yield text, None

    def texts(self) -> Iterator[Text]:
        """Yield the strings in order."""
        for index, text in enumerate(self._listed):
            if not isinstance(text, str):
                raise DataError(f"text {index + 1} is {type(text).__name__}, not a string")
            check_unicode(text, self.where, index + 1)
            yield Text(text, index, str(index))


def token_batches(
    model: Model, texts: Sequence[str], layers: Iterable[str] | None = None, **how: Any
) -> Iterator[TokenBatch]:
    """Run the model over the texts once, those of a length together; see ``from_batches``."""
    return from_batches(model, texts, layers, lambda batch, _: batch, **how)


def from_batches(
    model: Model,
    texts: Sequence[str],
    layers: Iterable[str] | None,
    work: Callable[[TokenBatch, Turn], Value],
    *,
    mentions: Sequence[Mention] | None = None,
    special_tokens: bool = True,
    longest: int | None = None,
    budget: int | None = None,
) -> Iterator[Value]:
    """Yield what is made of every batch of texts, on the thread that took it through the model.

    A text without a token that counts is in no batch.
    """
    of_text = None if mentions is None else by_text(mentions, texts)
    rule = TokenRule(special=special_tokens)
    group = LayerClouds(
        model, ListedTexts(texts), rule, layers=layers, longest=longest, budget=budget
    )

    def run(batch: list[TokenizedText], turn: Turn) -> tuple[Value] | None:
        kept = [rule.counts(text) for text in batch]
        counted = [number for number, keep in enumerate(kept) if keep.any()]
        if not counted:
            return None
        some, masks = [batch[k] for k in counted], [kept[k] for k in counted]
        rows = np.array([text.text.index for text in some], np.int64)
        counts = np.array([mask.sum() for mask in masks], np.int64)
        chosen = None
        if mentions is not None and of_text is not None:
            rows, counts, chosen = mentioned_tokens(some, masks, mentions, of_text)
        tokens = TokenBatch(len(some), rows, counts, chosen, group.forward(some, masks))
        return (work(tokens, turn),)

    found = group.in_threads(group.text_batches(), run)
    yield from (one for made in found if made is not None for one in made)


def pooled_spaces(
    model: Model,
    texts: Sequence[str],
    layers: Iterable[str] | None,
    pooling: str,
    special_tokens: bool,
    corrections: Mapping[str, Mapping[str, Any]],
    *,
    mentions: Sequence[Mention] | None = None,
    longest: int | None = None,
    budget: int | None = None,
    watch: Watch | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, NDArray[Any]]]:
    """Pool the tokens of every layer under each of several corrections, in one forward pass.

    ``corrections`` has the named corrections of each layer, None for tokens as they are; a layer
    that it does not mention is pooled as it is, under the empty name. With ``mentions`` a row is a
    mention, otherwise a text.
    """
    check_pooling(pooling)
    if isinstance(texts, str):
        raise UsageError("pass a list of texts, not one string")
    names = model.layer_names(layers)
    for layer in corrections:
        check_name("layer that is pooled", layer, names)
    found: dict[str, dict[str, NDArray[Any]]] = {name: {} for name in names}
    total = len(texts) if mentions is None else len(mentions)
    done = 0

    def pool_layers(batch: TokenBatch, turn: Turn) -> tuple[TokenBatch, Pooled]:
        rows: Pooled = {}
        # Watchers see the tokens in their order, and somebody else's corrections one batch at a
        # time.
        held = nullcontext() if watch is None and not corrections else turn.at("tokens")
        with held:
            for layer, tokens in batch.layers.items():
                if watch is not None:
                    watch(layer, tokens)
                for name, correction in corrections.get(layer, {"": None}).items():
                    changed = tokens if correction is None else corrected(tokens, correction, layer)
                    if batch.chosen is not None:
                        changed = changed[batch.chosen]
                    rows[layer, name] = pool(changed, batch.counts, pooling)
        return replace(batch, layers={}), rows

    for batch, pooled in from_batches(
        model, texts, names, pool_layers, mentions=mentions, special_tokens=special_tokens,
        longest=longest, budget=budget,
    ):  # fmt: skip
        for (layer, name), rows in pooled.items():
            if name not in found[layer]:
                found[layer][name] = np.full((total, rows.shape[1]), np.nan, rows.dtype)
            found[layer][name][batch.rows] = rows
        done += batch.texts
        report(progress, "texts", done, len(texts))
    kind = np.float64 if model.dtype == "float64" else np.float32
    for layer in names:
        for name in corrections.get(layer, {"": None}):
            found[layer].setdefault(name, np.full((total, model.dimension), np.nan, kind))
    return found


def pool(tokens: torch.Tensor, counts: Ids, pooling: str) -> NDArray[Any]:
    """Pool the vectors of tokens, text after text; half precision becomes single."""
    import torch

    wide = at_least_single(tokens)
    ends = torch.from_numpy(np.cumsum(counts)).to(wide.device)
    lengths = torch.from_numpy(counts).to(wide.device)
    if pooling == "cls":
        rows = wide.index_select(0, ends - lengths)
    elif pooling == "last":
        rows = wide.index_select(0, ends - 1)
    else:
        rows = torch.segment_reduce(wide, pooling, lengths=lengths, unsafe=True)
    array: NDArray[Any] = rows.cpu().numpy()
    return array


def corrected(tokens: torch.Tensor, correction: Any, layer: str) -> torch.Tensor:
    """Correct tokens where they are; a transformer of somebody else's gets an array."""
    import torch

    from isoscope.corrections.base import Correction

    if isinstance(correction, Correction):
        found: Array = correction.transform(tokens)
    else:
        rows = np.asarray(correction.transform(tokens.float().cpu().numpy()))
        if rows.ndim != 2 or len(rows) != len(tokens):
            raise DataError(
                f"{layer}: the correction made {rows.shape} of {tuple(tokens.shape)}; it must "
                "return one row per vector"
            )
        found = torch.from_numpy(np.ascontiguousarray(rows))
    if not bool(torch.isfinite(found).all()):
        raise DataError(f"{layer}: the correction returned NaN or infinity for finite vectors")
    tensor: torch.Tensor = found
    return tensor


def check_pooling(pooling: str) -> None:
    """Refuse a pooling that there is not."""
    check_name("pooling", pooling, POOLINGS)
