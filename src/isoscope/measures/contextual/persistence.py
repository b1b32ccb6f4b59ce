"""Outlier dimensions that stay outliers over the layers of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import UsageError
from isoscope.measures.registry import TableValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.measures.space import Dimensions

OUTLIER_SHARE = 0.1
"""A dimension is an outlier of a layer where it is the minimum, or the maximum, in this share of
its vectors. Chance would give 1/d, and no rule is in the literature."""


def persistence(layers: Mapping[str, Dimensions], share: float = OUTLIER_SHARE) -> TableValue:
    """Return the dimensions that are outliers somewhere, those of most layers first.

    Parameters
    ----------
    layers : mapping of str to Dimensions
        What is known about the dimensions of each layer, in order. Vectors that are not zero have
        one minimum and one maximum each.
    share : float
        Share of a layer's vectors in which an outlier is the minimum, or the maximum.

    Returns
    -------
    TableValue
        Per dimension: how many and which layers, the share of the vectors of all layers pooled in
        which it is the minimum and the maximum, and the largest share of any layer.

    References
    ----------
    Luo et al. 2021, section 3.2.1, whose percentages pool all layers.
    """
    for name, found in layers.items():
        if found.kind != "dimension":
            raise UsageError(
                f"layer {name!r} has {found.kind}s, which are others in each layer; "
                "persistence needs the original dimensions"
            )
    width = max((len(found.mean) for found in layers.values()), default=0)
    lowest, highest, vectors = np.zeros((3, width))
    where: list[list[str]] = [[] for _ in range(width)]
    peak = np.zeros(width)
    for name, found in layers.items():
        own = len(found.mean)
        rows = max(int(found.minimum_counts.sum()), 1)
        lowest[:own] += found.minimum_counts
        highest[:own] += found.maximum_counts
        vectors[:own] += rows
        extreme = np.maximum(found.minimum_counts, found.maximum_counts) / rows
        peak[:own] = np.maximum(peak[:own], extreme)
        for k in np.flatnonzero(extreme >= share):
            where[k].append(name)
    outliers = [k for k in range(width) if where[k]]
    pooled = np.maximum(lowest, highest) / np.maximum(vectors, 1)
    outliers.sort(key=lambda k: (-len(where[k]), -pooled[k], k))
    rows_of_table: list[dict[str, Any]] = [
        {
            "dimension": k,
            "layers": len(where[k]),
            "of_layers": sum(len(found.mean) > k for found in layers.values()),
            "which": where[k],
            "share_minimum": float(lowest[k] / vectors[k]),
            "share_maximum": float(highest[k] / vectors[k]),
            "largest_share": float(peak[k]),
        }
        for k in outliers
    ]
    note = f"the minimum or the maximum in at least {share:.0%} of a layer's vectors"
    return TableValue(rows_of_table, note)
