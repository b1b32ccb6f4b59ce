"""Measures on a sample of rows; its size is printed, as some of them change with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.sample import DEFAULT_SIZE
from isoscope.measures.registry import Value, register

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.space import Space

QUANTILES = (1, 5, 50, 95, 99)
SHORTEST = 1e-12
"""Sampled vectors shorter than this share of the longest are zero: they have no cosine."""


def pair_cosines(units: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
    """Return the cosines of all pairs of few rows; of many, of one random half with the other.

    Fewer rows than a sample has are the whole cloud. A half with the other, in single precision,
    gives half of the pairs at a tenth of the time, and sampling decides the digits anyway.
    """
    if len(units) < DEFAULT_SIZE:
        return np.asarray((units @ units.T)[np.triu_indices(len(units), 1)])
    order = np.random.default_rng(0).permutation(len(units))
    half = len(units) // 2
    single = units[order].astype(np.float32)
    return np.asarray(single[:half] @ single[half:].T).reshape(-1)


@register(
    formula="1, 5, 50, 95 and 99 % quantiles of the cosines of pairs of sampled rows",
    range="[−1, 1] each",
    direction="neither",
    length_dependent=False,
    reference="what a search over the vectors sees between unrelated ones",
    needs=["sample"],
)
def cosine_quantiles(space: Space) -> dict[str, Value]:
    """How the cosines of random pairs are spread: which score is ordinary here."""
    vectors = np.empty((0, space.width)) if space.sample is None else space.sample
    lengths = np.linalg.norm(vectors, axis=1)
    kept = lengths > SHORTEST * lengths.max(initial=0.0)
    units = vectors[kept] / lengths[kept, None]
    rows = len(units)
    if rows < 2:
        undefined = Value(None, note="fewer than two sampled vectors have a direction", rows=rows)
        return {f"{q}%": undefined for q in QUANTILES}
    cosines = pair_cosines(units)
    values = np.quantile(cosines, np.array(QUANTILES) / 100)
    note = f"from {len(cosines):,} pairs of {rows:,} sampled rows"
    return {
        f"{q}%": Value(float(np.clip(value, -1, 1)), note=note, rows=rows)
        for q, value in zip(QUANTILES, values, strict=True)
    }
