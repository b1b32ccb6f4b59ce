"""Isotropy within clusters: a space of several clouds may be even inside each of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.registry import Value, register

if TYPE_CHECKING:
    from isoscope.measures.space import Space

LN10 = math.log(10.0)


@register(
    formula="i1 of x − μ_c, c the cluster of x by k-means; mean over seeds",
    range="[0, 1]",
    direction="higher",
    length_dependent=True,
    reference="Rajaee & Pilehvar 2021, section 4 and table 1",
    needs=["clusters"],
    no_interval="it varies with the seeds of k-means, which are given one by one",
    default=False,
    options={"n_clusters": 20, "seeds": 5},
)
def local_i1(space: Space, n_clusters: int, seeds: int) -> Value:
    """I1 when every cluster is centred on its own mean."""
    if space.local_log_i1 is None:
        return Value(None, note="measured of the cloud as it is, not of corrected ones")
    found = [space.local_log_i1(n_clusters, seed) for seed in range(seeds)]
    if None in found:
        return Value(None, note=f"the rows do not make {n_clusters} clusters")
    logs = np.array(found, dtype=np.float64)
    # The mean of the values, from their logarithms: each may be below the smallest double.
    top = float(logs.max())
    log = top + math.log(float(np.exp(logs - top).mean()))
    each = {f"seed_{seed}_log10": float(value) / LN10 for seed, value in enumerate(logs)}
    note = f"{n_clusters} clusters, mean of {seeds} seeds" if n_clusters > 1 else "one cluster"
    return Value(math.exp(log), log10=log / LN10, note=note, extra=each)
