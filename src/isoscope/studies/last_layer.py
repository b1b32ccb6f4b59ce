"""The tokens of a model's last layer, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import DataError
from isoscope.models.layers import TokenRule
from isoscope.models.pooling import token_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.models.model import Model
    from isoscope.models.pooling import Watch


LAST = "last layer"
"""What studies call it, whatever its name in a model."""


@dataclass(frozen=True)
class LastLayer:
    """Vectors of tokens, and how they were read."""

    tokens: NDArray[Any]
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
        Sees the tokens of every batch, as in ``isoscope.models.pooling.pooled``.
    progress : callable, optional
        Called with the name of the read, texts done, and texts in all.
    """
    layer = last_layer_of(model)
    rule, parts, done = TokenRule(), [], 0
    for batch in token_batches(model, texts, [layer], special_tokens=rule.special):
        tokens = batch.layers[layer]
        if watch is not None:
            watch(layer, tokens)
        wide = tokens.float() if tokens.element_size() < 4 else tokens
        parts.append(wide.cpu().numpy())
        done += batch.texts
        if progress is not None:
            progress("texts", done, len(texts))
    if not parts:
        raise DataError(f"{name}: no token is left to measure ({rule})")
    rows = np.concatenate(parts)
    return LastLayer(
        rows, f"{len(rows):,} tokens of {len(texts):,} texts ({name}), {rule}, {about_layer(layer)}"
    )


def last_layer_of(model: Model) -> str:
    """Return the name of the last layer, behind the final norm where there is one."""
    return model.stacks[0].layers[-1]


def about_layer(layer: str) -> str:
    """Return what a protocol says of the last layer, and of first tokens, which are often odd."""
    return f"first tokens in; {LAST}: {layer}"
