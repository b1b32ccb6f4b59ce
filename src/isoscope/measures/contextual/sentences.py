"""How close the tokens of a text are to their mean vector."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


@dataclass
class SentenceCosines:
    """Sum over texts of the mean cosine between tokens and their mean."""

    total: float = 0.0
    sentences: int = 0
    one_token: int = 0
    """Texts left out because they have fewer than two vectors that are not zero."""
    no_mean: int = 0
    """Texts left out because their mean vector is zero."""
    tokens: int = 0

    def add(self, cosines: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
        """Add the texts of one batch; a cosine is NaN where the mean vector is zero."""
        long_enough = counts >= 2
        defined = long_enough & ~np.isnan(cosines)
        self.total += float(cosines[defined].sum())
        self.sentences += int(defined.sum())
        self.one_token += int((~long_enough).sum())
        self.no_mean += int((long_enough & ~defined).sum())
        self.tokens += int(counts[defined].sum())

    def merge(self, other: SentenceCosines) -> SentenceCosines:
        """Combine the sums over two disjoint sets of texts."""
        return SentenceCosines(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    @property
    def mean(self) -> float | None:
        """Mean over the texts that count."""
        return min(self.total / self.sentences, 1.0) if self.sentences else None


COUNTS = ("sentences", "one_token", "no_mean", "tokens")


def sentences_to_arrays(layers: Sequence[SentenceCosines]) -> dict[str, NDArray[Any]]:
    """Return the sums of all layers as two arrays."""
    return {
        "sentences.total": np.array([layer.total for layer in layers], np.float64),
        "sentences.counts": np.array(
            [[getattr(layer, name) for name in COUNTS] for layer in layers], np.int64
        ),
    }


def sentences_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> list[SentenceCosines]:
    """Rebuild the sums that ``sentences_to_arrays`` took apart."""
    return [
        SentenceCosines(total, **dict(zip(COUNTS, counts, strict=True)))
        for total, counts in zip(
            arrays["sentences.total"].tolist(), arrays["sentences.counts"].tolist(), strict=True
        )
    ]
