"""One pass over a text: sums of every layer, and one random token of every text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.sampling import on_host, row_keys
from isoscope.errors import DataError
from isoscope.measures.reads.moments import MomentParts
from isoscope.models.layers import LayerClouds, TokenRule
from isoscope.studies.layers import numbered_layers
from isoscope.studies.subjects import provenance_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.data.texts.base import TextSource
    from isoscope.measures.reads.moments import Moments
    from isoscope.models.model import Model


TOKENS_OF_A_TEXT = 1 << 24
"""Room for the tokens of one text in the number of a token."""


@dataclass(frozen=True)
class ReadLayer:
    """What was read of one layer."""

    moments: Moments
    """Over all tokens that count."""
    tokens: NDArray[np.float64]
    """The vector of one token of each text, in the order of reading."""
    stored: str
    """Type in which the vectors were computed."""


@dataclass(frozen=True)
class ReadLayers:
    """The layers of a model as papers number them, and what was read."""

    layers: dict[str, ReadLayer]
    protocol: str
    provenance: dict[str, Any]
    """Where the weights of the model come from, as results keep it."""


def read_layers(
    model: Model,
    texts: TextSource,
    seed: int,
    *,
    special: bool,
    scatter: bool = True,
    layers: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> ReadLayers:
    """Sum every layer over all tokens, and draw one token of every text.

    Parameters
    ----------
    model, texts
        What is read.
    seed : int
        Of the draw. The same tokens are drawn in every layer, whatever the size of batches.
    special : bool
        Whether tokens that the tokenizer adds count.
    scatter : bool
        Whether covariances are wanted.
    layers : iterable of str, optional
        Numbered layers, such as ``layer 12``; all by default.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    """
    from isoscope.measures.kernels.torch_kernel import TorchMoments

    names = numbered_layers(model.stacks)
    wanted = set(names.values() if layers is None else layers)
    names = {layer: number for layer, number in names.items() if number in wanted}
    group = LayerClouds(model, texts, TokenRule(special=special), layers=names)
    total = texts.survey().texts
    sums = {layer: TorchMoments(MomentParts(scatter=scatter), double=False) for layer in names}
    drawn: dict[str, list[NDArray[np.float64]]] = {layer: [] for layer in names}
    for batches in group.batches():
        first = next(iter(batches.values()))
        chosen = one_of_each(first.labels["sentence"], first.labels["position"], seed)
        for layer, batch in batches.items():
            sums[layer].add(batch.vectors)
            drawn[layer].append(on_host(batch.vectors, chosen))
        if progress is not None:
            progress("first read", group.so_far.texts, total)
    stored = dict(zip(group.names, group.dtypes, strict=True))
    found = {}
    for layer, number in names.items():
        moments = sums[layer].result()
        if moments is None:
            raise DataError(f"{texts.name}: no token is left to measure ({group.rule})")
        found[number] = ReadLayer(moments, np.concatenate(drawn[layer]), stored[layer])
    met = group.so_far
    return ReadLayers(
        found,
        f"{met.counted:,} tokens of {met.texts:,} texts ({texts.name}), {group.rule}",
        provenance_of(model),
    )


def one_of_each(sentences: NDArray[Any], positions: NDArray[Any], seed: int) -> NDArray[np.int64]:
    """Return one row of every sentence, each of its rows with the same chance."""
    keys = row_keys(sentences.astype(np.int64) * TOKENS_OF_A_TEXT + positions, seed)
    order = np.lexsort((keys, sentences))
    _, first = np.unique(sentences[order], return_index=True)
    return np.asarray(order[first])
