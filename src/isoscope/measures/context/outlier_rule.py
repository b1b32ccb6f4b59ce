"""Which dimensions of a layer are outliers: one definition for profiles and explanations.

A dimension k of a layer stands out where it is the minimum, or the maximum, in at least 10 % of the
vectors (8/d where that is more, but never above 90 %), or where its mean is more than 6 standard
deviations from those of the other dimensions:

    max(#{i : argmin x_i = k}, #{i : argmax x_i = k}) / n ≥ s,   or   |μ_k − mean μ| / sd μ > 6.

References
----------
Luo et al. (2021), Positional artefacts propagate through masked language model embeddings, who
choose the dimensions by eye; the rule here is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from isoscope.measures.layer_norm import FAR, deviations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.typing import Ids, Vector


# Share of a layer's vectors in which an outlier is the minimum, or the maximum. Chance would give
# 1/d, and no rule is in the literature.
OUTLIER_SHARE = 0.1

# A dimension is the minimum in 1/d of the vectors by chance. Below 80 dimensions 10 % is no more
# than a few such shares, and the largest gain of a random norm reaches it.
EVEN_SHARES = 8.0

# In a few dimensions a share that stands out whatever the number of even shares is.
ALMOST_ALL = 0.9


class Extremes(Protocol):
    """What the rule looks at: the mean of each dimension, and how often it is an extreme."""

    @property
    def mean(self) -> Vector:
        """The mean vector."""

    @property
    def minimum_counts(self) -> Ids:
        """Vectors, not zero, in which a dimension is the minimum."""

    @property
    def maximum_counts(self) -> Ids:
        """Vectors, not zero, in which a dimension is the maximum."""


def often(width: int) -> float:
    """Return in which share of the vectors a dimension that stands out is an extreme."""
    return min(max(OUTLIER_SHARE, EVEN_SHARES / width), ALMOST_ALL)


def extreme_shares(layer: Extremes) -> NDArray[np.float64]:
    """Return in which share of the vectors each dimension is the minimum, or the maximum.

    Every vector that is not zero has one minimum and one maximum; the larger share counts.
    """
    rows = max(int(layer.minimum_counts.sum()), 1)
    return np.asarray(np.maximum(layer.minimum_counts, layer.maximum_counts) / rows)


def mean_deviations(layer: Extremes) -> NDArray[np.float64]:
    """Return how far the mean of each dimension is from those of the others, in deviations."""
    return np.asarray(deviations(np.asarray(layer.mean, np.float64)[None])[0])


def standing_out(layer: Extremes) -> NDArray[np.intp]:
    """Return the dimensions of a layer that stand out, rising."""
    far = np.abs(mean_deviations(layer)) > FAR
    return np.flatnonzero((extreme_shares(layer) >= often(len(layer.mean))) | far)


def rule_text(width: int) -> str:
    """Say what stands out in a layer with so many dimensions."""
    return (
        f"the minimum or the maximum in at least {100 * often(width):.3g} % of a layer's vectors, "
        f"or a mean entry more than {FAR:g} deviations from the others"
    )
