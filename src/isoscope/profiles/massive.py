"""Tokens of enormous length, told apart from all others while a text is read.

In decoders the first token often has a vector a hundred times as long as others, and a handful of
such tokens decides variances and ranks of a whole layer (Sun et al. 2024 call them massive
activations). So every layer is summed in two parts, ordinary tokens and massive ones, which
together are all tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.sampling import row_keys
from isoscope.data.texts.shards import windows
from isoscope.errors import DataError
from isoscope.models.tokens import TOKEN_BUDGET, batched

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch
    from numpy.typing import NDArray

    from isoscope.models.layers import LayerClouds


MULTIPLE = 5.0
"""Tokens longer than this many median lengths of their layer are massive."""

PILOT_TEXTS = 64


@dataclass(frozen=True)
class MassiveRule:
    """From which length on a token of a layer is massive."""

    limits: Mapping[str, float]

    def ordinary(self, layer: str, norms: torch.Tensor) -> NDArray[np.bool_] | None:
        """Tell which rows are ordinary; None when all are, the case that must be fast."""
        far = norms > self.limits[layer]
        return None if not bool(far.any()) else np.asarray((~far).cpu().numpy())


def median_lengths(group: LayerClouds) -> dict[str, float]:
    """Return the median length of tokens in each layer, from some of the first texts.

    The texts are drawn from the first window by a hash of their number, so that the answer does
    not depend on the size of batches.
    """
    import torch

    window = next(windows(group.texts.texts()), [])
    keys = row_keys(np.array([text.index for text in window], dtype=np.int64), seed=0)
    drawn = [window[k] for k in np.sort(np.argsort(keys, kind="stable")[:PILOT_TEXTS])]
    lengths: dict[str, list[torch.Tensor]] = {name: [] for name in group.names}
    # Always the same batches, or rounding would make the limits depend on the user's budget.
    for texts in batched(drawn, group.tokenizer, TOKEN_BUDGET):
        kept = [group.rule.counts(text) for text in texts]
        if any(mask.any() for mask in kept):
            for name, vectors in group.forward(texts, kept).items():
                lengths[name].append(torch.linalg.vector_norm(vectors.double(), dim=1))
    if not all(lengths.values()):
        raise DataError(
            f"{group.texts.name}: no token is left to measure ({group.rule}); "
            "texts may be too short"
        )
    return {name: float(torch.cat(found).median()) for name, found in lengths.items()}
