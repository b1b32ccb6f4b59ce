"""Vectors of texts with at most one correction a layer, as tests compare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from isoscope.models.model import Model
from isoscope.models.sentences.pooling import pooled_spaces


def pooled(
    model: Model,
    texts: Sequence[str],
    layers: Iterable[str] | None = None,
    pooling: str = "mean",
    special_tokens: bool = True,
    correction_by_layer: Mapping[str, Any] | None = None,
    **reading: Any,
) -> dict[str, NDArray[Any]]:
    """Return a vector of every text in every layer, from one forward pass."""
    given = correction_by_layer or {}
    spaces = {name: {"": correction} for name, correction in given.items()}
    found = pooled_spaces(model, texts, layers, pooling, special_tokens, spaces, **reading)
    return {layer: vectors[""] for layer, vectors in found.items()}
