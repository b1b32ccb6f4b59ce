"""Measures of the partition function Z(c) = Σ_i exp(c·x_i) over the eigenvectors c of XᵀX.

Arora et al. (2016) and Mu & Viswanath (2018) measure isotropy by how little Z varies with c. An
eigenvector's sign is arbitrary while Z(c) ≠ Z(−c): each is turned so that Z(c) ≥ Z(−c), which
follows from the data alone and does not change under rotation. All sums are kept as logarithms:
published values go below 1e-220.

``local_i1`` is I1 within clusters: a space of several clouds may be even inside each of them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.registry import Value, register
from isoscope.measures.space import known
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.measures.space import Partition, Space
    from isoscope.typing import Vector


LN10 = math.log(10.0)
CUT = "which of several equal top components are removed is a choice"
EXTREME = "an extreme over directions has no simple error"


partition_measure = partial(
    register,
    direction="higher",
    length_dependent=True,
    needs=["scatter", "partition"],
    no_interval=EXTREME,
)  # of Z over the eigenvectors


@partition_measure()
def i1(space: Space) -> Value:
    """I1, with the range over all choices of signs, in which a published I1 lies.

    Title: I1
    Symbol: I₁
    When: to compare with a published I1 at equal scale
    Formula: min_c Z(c) / max_c Z(c), each c turned so that Z(c) ≥ Z(−c)
    Range: [0, 1]
    Reference: Mu & Viswanath 2018, eq. 2; Biś et al. 2021, eq. 7
    """
    found = known(space.partition, "the second read")
    low, high = sign_range(found)
    return log_value(
        log_i1(found),
        note=basis_note(found),
        extra={**range_fields("sign", low, high), **basis_extra(found)},
    )


@partition_measure()
def i1_symmetric(space: Space) -> Value:
    """I1 over both signs of every direction, so that it does not depend on a choice of signs.

    Title: I1 over both signs
    Symbol: I₁
    When: if the sign of the eigenvectors is in doubt
    Formula: min over ±c of Z / max over ±c of Z
    Range: [0, 1]
    Reference: ours; about i1² if a common offset dominates, so not comparable with a published I1
    """
    found = known(space.partition, "the second read")
    lowest = min(found.log_plus.min(), found.log_minus.min())
    highest = max(found.log_plus.max(), found.log_minus.max())
    return log_value(float(lowest - highest), note=choice_note(found))


@partition_measure(length_dependent=False, needs=["scatter", "scaled"])
def i1_scaled(space: Space) -> Value:
    """I1 after scaling the vectors to a root mean square norm of one.

    Title: I1 at unit scale
    Symbol: I₁
    When: to compare spaces whose norms differ
    Formula: i1 of x / √(mean ‖x‖²)
    Range: [0, 1]
    Reference: ours, to compare spaces or corrections whose vectors differ in norm
    """
    found = known(space.scaled_partition, "the second read")
    return log_value(log_i1(found), note=basis_note(found), extra=basis_extra(found))


@partition_measure(direction="lower")
def i2(space: Space) -> Value:
    """Standard deviation of Z over its mean.

    Title: I2
    Symbol: I₂
    When: to compare with a published I2
    Formula: √( Σ_c (Z(c) − Z̄)² / (d Z̄²) ), each c turned so that Z(c) ≥ Z(−c)
    Range: [0, √(d−1)]
    Reference: Biś et al. 2021, eq. 8
    """
    found = known(space.partition, "the second read")
    logs = oriented(found)
    # Mean and deviation scale alike, so that dividing all Z by the largest changes nothing and
    # keeps exp() from overflowing; what underflows to 0 is negligible beside it.
    z = np.exp(logs - logs.max())
    return Value(float(z.std() / z.mean()), note=choice_note(found))


@register(
    direction="higher",
    length_dependent=True,
    needs=["scatter", "clusters"],
    no_interval="it varies with the seeds of k-means, which are given one by one",
    default=False,
    options={"n_clusters": 20, "seeds": 5},
)
def local_i1(space: Space, n_clusters: int, seeds: int) -> Value:
    """I1 when every cluster is centred on its own mean.

    Title: I1 within clusters
    Symbol: I₁
    When: if the space consists of clusters
    Formula: i1 of x − μ_c, c the cluster of x by k-means; mean over seeds
    Range: [0, 1]
    Reference: Rajaee & Pilehvar 2021, section 4 and table 1
    """
    if space.local_log_i1 is None:
        return Value(None, note="measured of the cloud as it is, not of corrected ones")
    found, sampled = space.local_log_i1(n_clusters, seeds)
    if None in found:
        return Value(None, note=f"the rows do not form {n_clusters} clusters")
    logs = np.array(found, dtype=np.float64)
    # The mean of the values, from their logarithms: each may be below the smallest double.
    top = float(logs.max())
    log = top + math.log(float(np.exp(logs - top).mean()))
    each = {f"seed_{seed}_log10": float(value) / LN10 for seed, value in enumerate(logs)}
    note = f"{n_clusters} clusters, mean of {seeds} seeds" if n_clusters > 1 else "one cluster"
    if sampled < space.rows and n_clusters > 1:
        note += f", found on {counted(sampled, 'sampled row')}"
    return log_value(log, note=note, extra=each)


def oriented(found: Partition) -> Vector:
    """Return ln Z(c) with each c turned so that Z(c) ≥ Z(−c)."""
    return np.maximum(found.log_plus, found.log_minus)


def log_i1(found: Partition) -> float:
    """ln I1."""
    logs = oriented(found)
    return float(logs.min() - logs.max())


def sign_range(found: Partition) -> tuple[float, float]:
    """Return the smallest and largest ln I1 over all 2^d choices of signs, in O(d log d)."""
    pairs = np.stack((found.log_plus, found.log_minus), axis=1)
    return -widest(pairs), -narrowest(pairs)


def widest(pairs: Vector) -> float:
    """Largest max − min when one number is picked from every pair."""
    high, low = pairs.max(axis=1), pairs.min(axis=1)
    top, bottom = int(high.argmax()), int(low.argmin())
    if top != bottom:
        return float(high[top] - low[bottom])
    if len(pairs) == 1:
        return 0.0
    # One pair cannot give both ends: it gives one, and the best of the others the other.
    others = np.arange(len(pairs)) != top
    return float(max(high[top] - low[others].min(), high[others].max() - low[bottom]))


def narrowest(pairs: Vector) -> float:
    """Smallest max − min when one number is picked from every pair.

    A window over the sorted numbers is widened at its right end until it holds a number of every
    pair, and then narrowed at its left end for as long as it still does.
    """
    values = pairs.reshape(-1)
    # Places 2k and 2k + 1 belong to pair k.
    order = np.argsort(values, kind="stable")
    owners = order // 2
    held = np.zeros(len(pairs), np.int64)
    missing, left, best = len(pairs), 0, math.inf
    for right, owner in enumerate(owners):
        missing -= held[owner] == 0
        held[owner] += 1
        while missing == 0:
            best = min(best, float(values[order[right]] - values[order[left]]))
            held[owners[left]] -= 1
            missing += held[owners[left]] == 0
            left += 1
    return best


def log_value(log: float, *, note: str, extra: Mapping[str, float | None] | None = None) -> Value:
    """Build a value from its logarithm; exp() underflows to 0, its log10 does not."""
    return Value(math.exp(log), log10=log / LN10, note=note, extra=extra or {})


def basis_note(found: Partition) -> str:
    """Say that repeated eigenvalues left the directions open, and what that means for i1."""
    spread = found.basis_range
    notes = [CUT] if found.arbitrary_cut else []
    if spread is None:
        return "; ".join(notes)
    notes.append(
        f"{spread.open_directions:,} directions have repeated eigenvalues, so that their axes "
        f"are arbitrary, here {found.axes}; on {spread.sample_rows:,} sampled rows its logarithm "
        f"(base 10) is {spread.here / LN10:.4g} on these axes and {spread.low / LN10:.4g} to "
        f"{spread.high / LN10:.4g} on {spread.bases} random bases"
    )
    return "; ".join(notes)


def choice_note(found: Partition) -> str:
    """Say in short that the directions are a choice."""
    if found.basis_range is None:
        return CUT if found.arbitrary_cut else ""
    return f"{found.basis_range.open_directions:,} of the directions are arbitrary, as for i1"


def basis_extra(found: Partition) -> dict[str, float | None]:
    """Return the range over random bases as fields of a result row."""
    spread = found.basis_range
    return {} if spread is None else range_fields("basis", spread.low, spread.high)


def range_fields(kind: str, low: float, high: float) -> dict[str, float | None]:
    """Return a range of I1, given by its logarithms, as fields of a result row."""
    return {
        f"{kind}_low": math.exp(low),
        f"{kind}_high": math.exp(high),
        f"{kind}_low_log10": low / LN10,
        f"{kind}_high_log10": high / LN10,
    }
