"""Lengths of the vectors and of their mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.reads.moments import EDGES
from isoscope.measures.registry import TableValue, Value, register
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.measures.space import Space


LARGEST_BIAS_OF_A_LENGTH = 0.25
"""Largest bias, in errors, of the length of a mean: where that is zero, the jackknife sees half."""

ZERO_MEAN = "the mean is zero, up to the rounding of the stored numbers"


@register(
    formula="‖μ‖ / mean ‖x‖",
    range="[0, 1]",
    direction="lower",
    reference="Biś et al. 2021, table 1",
    needs=["mean"],
    interval="sums",
    largest_bias=LARGEST_BIAS_OF_A_LENGTH,
)
def mean_offset(space: Space) -> Value:
    """How much of the vectors' length is common to all of them."""
    if space.lengths.mean == 0:
        return Value(None, note="all vectors are zero")
    return Value(min(space.norm_of_mean / space.lengths.mean, 1.0))  # rounding may pass 1


@register(
    formula="mean ‖x‖",
    range="[0, ∞)",
    direction="neither",
    length_dependent=True,
    reference="Biś et al. 2021, table 1",
    interval="sums",
)
def mean_norm(space: Space) -> Value:
    """Mean length of the vectors."""
    return Value(space.lengths.mean)


@register(
    formula="‖μ‖",
    range="[0, ∞)",
    direction="neither",
    length_dependent=True,
    reference="Biś et al. 2021, table 1",
    needs=["mean"],
    interval="sums",
    largest_bias=LARGEST_BIAS_OF_A_LENGTH,
)
def norm_of_mean(space: Space) -> Value:
    """Length of the mean vector."""
    return Value(space.norm_of_mean)


@register(
    formula="|cos(μ, v₁)|, v₁ the top eigenvector of XᵀX",
    range="[0, 1]",
    direction="neither",
    reference="Biś et al. 2021, section 4",
    needs=["scatter"],
    no_interval="it turns with an eigenvector",
)
def mean_alignment(space: Space) -> Value:
    """Whether the strongest direction of the cloud is its common offset."""
    if space.mean_alignment is None:
        return Value(None, note=ZERO_MEAN)
    return Value(space.mean_alignment)


@register(
    formula="share of vectors by length, 16 bins per octave",
    range="[0, 1] each",
    direction="neither",
    length_dependent=True,
    reference="Biś et al. 2021, figures 5 and 6",
    table=True,
)
def norm_density(space: Space) -> TableValue:
    """How lengths are distributed; bins are fixed, so that any two densities compare."""
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
