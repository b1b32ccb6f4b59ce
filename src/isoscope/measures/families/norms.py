"""Norms of the vectors and of their mean: ‖x‖, ‖μ‖, and the offset ‖μ‖ / mean ‖x‖.

Biś et al. 2021, table 1 and section 4: embeddings whose mean is nearly as long as the vectors share
one direction, which is then the top eigenvector of XᵀX too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.reads.moments import EDGES
from isoscope.measures.registry import TableValue, Value, register
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.measures.space import Space


# Largest bias, in errors, of the length of a mean. The jackknife takes a bias to fall as 1/n. Where
# the true mean is zero, that of the length falls as 1/√n, and the jackknife sees only half of it.
# The limit is lower than for other measures, so that there is no interval then.
LARGEST_BIAS_OF_A_LENGTH = 0.25

ZERO_MEAN = "the mean is zero, up to the rounding of the stored numbers"


@register(direction="lower", needs=["mean"], interval="sums", largest_bias=LARGEST_BIAS_OF_A_LENGTH)
def mean_offset(space: Space) -> Value:
    """Norm of the mean vector, compared with the mean norm of the vectors.

    Title: mean offset
    Symbol: ‖μ‖ / mean ‖x‖
    When: to see how large the common offset is
    Formula: ‖μ‖ / mean ‖x‖
    Range: [0, 1]
    Reference: Biś et al. 2021, table 1
    """
    if space.lengths.mean == 0:
        return Value(None, note="all vectors are zero")
    return Value(min(space.norm_of_mean / space.lengths.mean, 1.0))  # rounding may pass 1


@register(length_dependent=True, interval="sums")
def mean_norm(space: Space) -> Value:
    """Mean norm of the vectors.

    Title: mean norm
    When: to compare the scale of two spaces
    Formula: mean ‖x‖
    Range: [0, ∞)
    Reference: Biś et al. 2021, table 1
    """
    return Value(space.lengths.mean)


@register(
    length_dependent=True,
    needs=["mean"],
    interval="sums",
    largest_bias=LARGEST_BIAS_OF_A_LENGTH,
)
def norm_of_mean(space: Space) -> Value:
    """Norm of the mean vector.

    Title: norm of the mean
    Symbol: ‖μ‖
    When: together with the mean norm
    Formula: ‖μ‖
    Range: [0, ∞)
    Reference: Biś et al. 2021, table 1
    """
    return Value(space.norm_of_mean)


@register(needs=["scatter"], no_interval="it turns with an eigenvector")
def mean_alignment(space: Space) -> Value:
    """Whether the strongest direction of the cloud is its common offset.

    Title: alignment of mean and top direction
    Symbol: |cos(μ, v₁)|
    When: to see if centring removes the top direction
    Formula: |cos(μ, v₁)|, v₁ the top eigenvector of XᵀX
    Range: [0, 1]
    Reference: Biś et al. 2021, section 4
    """
    if space.mean_alignment is None:
        return Value(None, note=ZERO_MEAN)
    return Value(space.mean_alignment)


@register(length_dependent=True, table=True)
def norm_density(space: Space) -> TableValue:
    """Distribution of the norms, in the same bins for every cloud.

    Title: distribution of norms
    When: if inner products rank by norm
    Formula: share of vectors by norm, 16 bins per octave
    Range: [0, 1] each
    Reference: Biś et al. 2021, figures 5 and 6
    """
    counts = space.lengths.counts
    filled = np.flatnonzero(counts)
    rows = [
        {
            "from": float(EDGES[bin_]),
            "to": float(EDGES[bin_ + 1]) if np.isfinite(EDGES[bin_ + 1]) else None,
            "count": int(counts[bin_]),
            "share": float(counts[bin_] / space.rows),
        }
        for bin_ in filled
    ]
    note = f"{counted(space.zero_rows, 'zero vector')} in no bin" if space.zero_rows else ""
    return TableValue(rows, note)
