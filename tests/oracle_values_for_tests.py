"""All numbers of one space by definition, and as isoscope measures them, under the same names."""

from __future__ import annotations

import math

import numpy as np
import oracle
from mpmath import mp

import isoscope

LN10 = math.log(10)
ORACLE_NAMES = {
    "none": "none",
    "center": "center",
    "all-but-the-top:n_components=2": "all-but-the-top",
    "all-but-the-top:n_components=2:project=original": "all-but-the-top-original",
    "whiten": "whiten",
}


def expected(cloud: np.ndarray, correction: str) -> dict[str, float]:
    """Compute all numbers of one space by definition."""
    made = oracle.corrected(cloud, ORACLE_NAMES[correction], 2 if "top" in correction else None)
    axes = np.eye(cloud.shape[1]).tolist() if correction == "whiten" else None
    pairs = oracle.log_partitions(made, axes)
    scaled = oracle.log_partitions(oracle.scaled(made), axes)
    low, high = oracle.sign_range(pairs)
    # Zero vectors stay zero vectors: they have no cosine and no length in any space.
    kept = made.tolist()
    for row in np.flatnonzero(~cloud.any(axis=1)):
        kept[row] = [0] * len(kept[row])
    kept = mp.matrix(kept)
    values = {
        "ln i1": oracle.log_i1(pairs),
        "ln i1_symmetric": oracle.log_i1_symmetric(pairs),
        "ln i1_scaled": oracle.log_i1(scaled),
        "ln sign_low": low,
        "ln sign_high": high,
        "i2": oracle.i2(pairs),
        "mean_cosine": oracle.mean_cosine(kept),
        "mean_norm": oracle.mean_norm(kept),
        "norm_of_mean": oracle.norm_of_mean(kept),
        "mean_offset": oracle.mean_offset(kept),
        "top_variance_share": oracle.top_variance_share(made),
        "effective_rank": oracle.effective_rank(made),
        "participation_ratio": oracle.participation_ratio(made),
        "iso_score": oracle.iso_score(made),
    }
    if correction == "none" or "original" in correction:
        values["mean_alignment"] = oracle.mean_alignment(made)
    return {name: float(value) for name, value in values.items()}


def measured(result: isoscope.Result, correction: str) -> dict[str, float]:
    values = {}
    for row in result.rows:
        if row.correction != correction or row.value is None:
            continue
        if row.log10 is not None:
            values[f"ln {row.measure}"] = row.log10 * LN10
        else:
            values[row.measure] = row.value
        for sign in ("sign_low", "sign_high"):
            if sign in row.extra:
                values[f"ln {sign}"] = row.extra[f"{sign}_log10"] * LN10
    return values
