"""Dimensions that stand out in the vectors of a layer, and the mean cosine without them.

With u_i = x_i / ‖x_i‖ the mean cosine of all pairs is (‖Σ u_i‖² − n) / (n² − n). Clipping sets
dimensions to zero, which changes lengths too: the sum is taken anew for every set of dimensions.

References
----------
Luo et al. (2021), Positional artefacts propagate through masked language model embeddings, who
choose the dimensions by eye; the rule here is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import ArrayCloud
from isoscope.measures.context.definitions import OUTLIER_SHARE
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import first_read
from isoscope.profiles.weights import FAR, deviations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.typing import Vector


EVEN_SHARES = 8.0
"""A dimension is the minimum in 1/d of the vectors by chance. Below 80 dimensions 10 % is no more
than a few such shares, and the largest gain of a random norm reaches it."""

ALMOST_ALL = 0.9
"""In a few dimensions a share that stands out whatever the number of even shares is."""

RARE = 0.01
"""Share of random directions whose largest entry is larger than we take chance to make it."""

AT_ONCE = 512
"""Vectors that are clipped together: in float64 they stay in the cache."""


@dataclass(frozen=True)
class Outlier:
    """A dimension that stands out in the vectors of a layer.

    Attributes
    ----------
    dimension : int
        Counted from 0.
    share_minimum, share_maximum : float
        Shares of the vectors in which it is the minimum, and the maximum.
    mean, deviations : float
        Its entry of the mean vector, and how far that is from the others in their deviations.
    mean_cosine : float or None
        Of all pairs of vectors, when this dimension alone is set to zero.
    """

    dimension: int
    share_minimum: float
    share_maximum: float
    mean: float
    deviations: float
    mean_cosine: float | None

    @property
    def share(self) -> float:
        """The larger one of both shares."""
        return max(self.share_minimum, self.share_maximum)

    def to_dict(self) -> dict[str, Any]:
        """Return a row of a table."""
        return {
            "dimension": self.dimension,
            "share_minimum": self.share_minimum,
            "share_maximum": self.share_maximum,
            "mean": self.mean,
            "deviations": self.deviations,
            "mean_cosine_without_it": self.mean_cosine,
        }


@dataclass(frozen=True)
class ClippedLayer:
    """What stands out in a layer, and what clipping it does.

    Attributes
    ----------
    outliers : tuple of Outlier
        Those that are an extreme most often first.
    mean, deviations : array
        The mean vector, and how far each entry is from the others.
    minimum_counts, maximum_counts : array
        Vectors, not zero, in which a dimension is the minimum, and the maximum.
    before, after : float or None
        The mean cosine as it is, and without all outliers; None for fewer than two vectors.
    """

    outliers: tuple[Outlier, ...]
    mean: Vector
    deviations: Vector
    minimum_counts: NDArray[np.int64]
    maximum_counts: NDArray[np.int64]
    before: float | None
    after: float | None

    @property
    def dimensions(self) -> list[int]:
        """The dimensions that stand out, rising."""
        return sorted(one.dimension for one in self.outliers)

    @property
    def correction(self) -> str:
        """What clips them, as corrections are written."""
        return clip_text(self.dimensions)

    @property
    def change(self) -> float | None:
        """What clipping adds to the mean cosine: below 0 where it lowers it."""
        return None if self.before is None or self.after is None else self.after - self.before


def clip_text(dimensions: Sequence[int]) -> str:
    """Write a correction that clips some dimensions."""
    return f"clip:dimensions={'+'.join(map(str, dimensions))}"


def often(width: int) -> float:
    """Return in which share of the vectors a dimension that stands out is an extreme."""
    return min(max(OUTLIER_SHARE, EVEN_SHARES / width), ALMOST_ALL)


def clipped_layer(vectors: NDArray[np.float32], layer: str) -> ClippedLayer:
    """Find the dimensions that stand out in vectors, and the mean cosine without them.

    A dimension stands out when it is the minimum, or the maximum, in at least 10 % of the vectors
    (8/d where that is more), or when its mean is more than 6 deviations from those of the others.

    Parameters
    ----------
    vectors : array
        A row for every token.
    layer : str
        What messages call it.
    """
    parts = MomentParts(scatter=False)
    moments = first_read(ArrayCloud(vectors, layer), parts, double=True)[layer].moments
    lowest, highest = moments.minimum_counts, moments.maximum_counts
    assert lowest is not None
    assert highest is not None
    counted = max(moments.rows - moments.zero_rows, 1)
    far = deviations(moments.mean[None])[0]
    share = np.maximum(lowest, highest) / counted
    found = np.flatnonzero((share >= often(len(far))) | (np.abs(far) > FAR))
    found = found[np.lexsort((-np.abs(far[found]), -share[found]))]
    sets = [[], [int(k) for k in found], *([int(k)] for k in found)]
    before, after, *alone = cosines_without(vectors, sets)
    outliers = tuple(
        Outlier(
            int(k), float(lowest[k] / counted), float(highest[k] / counted),
            float(moments.mean[k]), float(far[k]), cosine,
        )
        for k, cosine in zip(found, alone, strict=True)
    )  # fmt: skip
    return ClippedLayer(outliers, moments.mean, far, lowest, highest, before, after)


def cosines_without(
    vectors: NDArray[np.floating[Any]], sets: Sequence[Sequence[int]]
) -> list[float | None]:
    """Return the mean cosine of all pairs with each set of dimensions at zero.

    Vectors that are zero then have no direction and are left out; None where fewer than two are
    not.
    """
    sums = np.zeros((len(sets), vectors.shape[1]))
    counts = np.zeros(len(sets), np.int64)
    for first in range(0, len(vectors), AT_ONCE):
        block = vectors[first : first + AT_ONCE].astype(np.float64)
        for number, dimensions in enumerate(sets):
            columns = np.asarray(dimensions, np.intp)
            kept = block[:, columns]
            block[:, columns] = 0.0
            # Not the whole length less that of the columns: large outliers would leave rounding.
            lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
            directed = lengths > 0
            sums[number] += np.divide(1.0, lengths, out=lengths, where=directed) @ block
            counts[number] += int(directed.sum())
            block[:, columns] = kept
    return [
        float((total @ total - n) / (n * n - n)) if n > 1 else None
        for total, n in zip(sums, counts.tolist(), strict=True)
    ]


def fall_by_chance(clipped: int, width: int) -> float:
    """Return how far clipping lowers the mean cosine at most when nothing really stands out.

    Vectors with an offset in a random direction always have some dimensions with larger entries
    than the others. Say that the largest ``clipped`` of d normal numbers hold a share s of the
    squared length of the offset. Without them a mean cosine c becomes c (1 − s) / (1 − s c), and
    the fall c − c (1 − s) / (1 − s c) is at most (1 − √(1 − s))² / s, whatever c is. The largest
    entry is taken to be as large as in one of a hundred directions.
    """
    from scipy.special import ndtri

    if not clipped:
        return 0.0
    places = np.arange(min(clipped, width)) + RARE
    share = min(float((ndtri(1 - places / (2 * width)) ** 2).sum()) / width, 1.0)
    return float((1 - np.sqrt(1 - share)) ** 2 / share)
