"""Cosines between the vectors of a cloud: their mean over all pairs in O(n), others of a sample.

With u = x / ‖x‖ the cosines of all pairs sum to ‖Σ u‖² − n, so that their mean needs no pair
(Machina & Mercer 2024, eq. 7). What is not a sum over rows (quantiles, the potential of Wang &
Isola 2020) is taken of the pairs of a sample, with the error of a U-statistic (Hoeffding 1948).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.quantiles import student_quantile
from isoscope.data.arrays import SHORTEST
from isoscope.data.blocks import BLOCKS
from isoscope.data.sampling import DEFAULT_SIZE, LARGE_SIZE
from isoscope.measures.intervals import (
    FEW_DOCUMENTS,
    FEW_ROWS,
    FEWEST_BLOCKS,
    FEWEST_ROWS,
    FITTED,
    LEVEL,
)
from isoscope.measures.registry import TableValue, Value, register
from isoscope.measures.space import known
from isoscope.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.space import Space, SpaceSample
    from isoscope.typing import Ids, Vector


@register(direction="lower", alias="inter_sim", needs=["units"], interval="sums")
def mean_cosine(space: Space) -> Value:
    """Mean cosine over all pairs of different rows that are not zero.

    Title: mean cosine
    When: first: how similar do unrelated vectors look?
    Formula: (‖Σ u‖² − n) / (n² − n), u = x / ‖x‖
    Range: [−1/(n−1), 1]
    Reference: Machina & Mercer 2024, eq. 7; Ethayarajh 2019

    With row weights w it is Σ_{i≠j} w_i w_j cos_ij / Σ_{i≠j} w_i w_j.
    """
    units = space.units
    zero = space.zero_rows
    note = f"{counted(zero, 'zero vector')} left out: no cosine" if zero else ""
    if units.rows < 2:
        return Value(None, note=note or "fewer than two vectors", rows=units.rows)
    pairs = units.weight**2 - units.weight_squares
    # ‖Σ w u‖² counts every pair twice, and every row with itself, whose cosine is 1: that is Σ w².
    cosine = (units.sum_square - units.weight_squares) / pairs
    return Value(min(cosine, 1.0), note=note, rows=units.rows)  # rounding may pass 1


QUANTILES = (1, 5, 50, 95, 99)

# t of Wang & Isola's uniformity.
TEMPERATURE = 2.0

# Rows of Luo et al.'s random pairs: a thousand pairs that share no row.
DISJOINT_ROWS = 2_000

NO_DIRECTIONS = "fewer than two sampled vectors have a direction"


@dataclass(frozen=True)
class Directions:
    """Sampled rows that are not zero, divided by their lengths, in random order."""

    units: Vector
    groups: Ids

    @property
    def blocks(self) -> Ids:
        """The block of each row."""
        return self.groups % BLOCKS

    @cached_property
    def pairs(self) -> Pairs:
        """The cosines of pairs of these rows, which several measures look at."""
        return Pairs.of(self)


def directions(sample: SpaceSample | None, size: int) -> Directions:
    """Take the rows of a sample of at most ``size`` that have a direction."""
    shared = known(sample, "the sample").shared
    key = f"directions of {size}"
    if key not in shared:
        shared[key] = directed(known(sample, "the sample").take(size))
    found: Directions = shared[key]
    return found


def directed(chosen: SpaceSample) -> Directions:
    """Divide the rows of a sample by their lengths."""
    vectors = chosen.vectors[chosen.order]
    lengths = np.linalg.norm(vectors, axis=1)
    kept = lengths > SHORTEST * lengths.max(initial=0.0)
    return Directions(vectors[kept] / lengths[kept, None], chosen.groups[chosen.order][kept])


@dataclass(frozen=True)
class Pairs:
    """Cosines of pairs of rows: of all of few rows, of one half of many with the other.

    Fewer rows than a sample has are the whole cloud. A half with the other, in single precision,
    gives half of the pairs at a tenth of the time, and sampling decides the digits anyway.
    """

    cosines: NDArray[np.floating[Any]]
    """(rows, rows) with NaN on the diagonal, or (half, half)."""
    blocks: Ids
    """Block of each row, those of the first half before those of the second."""

    @classmethod
    def of(cls, found: Directions) -> Pairs:
        """Take the cosines of sampled directions."""
        units = found.units
        if len(units) < DEFAULT_SIZE:
            cosines = units @ units.T
            np.fill_diagonal(cosines, np.nan)
            return cls(cosines, found.blocks)
        # Rows are in random order, so that any half is as good as another.
        half = len(units) // 2
        single = units.astype(np.float32)
        blocks = np.concatenate((found.blocks[:half], found.blocks[half : 2 * half]))
        return cls(single[:half] @ single[half : 2 * half].T, blocks)

    @property
    def halved(self) -> bool:
        """Whether rows of one half meet those of the other, or all meet all."""
        return len(self.blocks) != len(self.cosines)

    @cached_property
    def ordered(self) -> NDArray[np.floating[Any]]:
        """Every cosine once, the smallest first."""
        if self.halved:
            return np.sort(self.cosines.reshape(-1))
        return np.sort(self.cosines[np.triu_indices(len(self.cosines), 1)])

    def up_to(self, value: float) -> NDArray[Any]:
        """Return for every pair whether its cosine is at most a value; NaN for none."""
        below = self.cosines <= value
        return below if self.halved else np.where(np.isnan(self.cosines), np.nan, below)

    @property
    def quantile(self) -> float:
        """Student's t by which the error of a mean is multiplied, from the blocks with rows."""
        return student_quantile(int(np.count_nonzero(np.bincount(self.blocks))) - 1, LEVEL)

    def error_of_mean(self, of_pairs: NDArray[Any]) -> float:
        """Return the standard error of the mean of a function of the pairs.

        The mean is a U-statistic: to first order each row adds what the mean over its own pairs
        differs from that over all (Hoeffding 1948), and rows of a block add up before squaring.
        """
        mean = float(of_pairs.mean() if self.halved else np.nanmean(of_pairs))
        if self.halved:
            rows = np.concatenate((of_pairs.mean(axis=1), of_pairs.mean(axis=0)))
            parts = (rows - mean) / len(of_pairs)
        else:
            # Every pair of all rows stands in two of the rows' means, hence the factor.
            parts = 2 * (np.nanmean(of_pairs, axis=1) - mean) / len(of_pairs)
        # Rows of a document are alike: their parts add up before they are squared.
        totals = np.bincount(self.blocks, parts, BLOCKS)
        filled = len(np.unique(self.blocks))
        return math.sqrt(filled / (filled - 1) * float(totals @ totals))


def reason_against(space: Space, blocks: Ids) -> str:
    """Say why a sample allows no interval; nothing where it does."""
    if space.correction != "none":
        return FITTED
    if len(blocks) < FEWEST_ROWS:
        return FEW_ROWS
    return FEW_DOCUMENTS if len(np.unique(blocks)) < FEWEST_BLOCKS else ""


@register(needs=["sample"], interval="own")
def cosine_quantiles(space: Space) -> dict[str, Value]:
    """Quantiles of the cosines of random pairs, which show which scores are common.

    Title: quantiles of random-pair cosines
    When: to see which cosines are ordinary
    Formula: 1, 5, 50, 95 and 99 % quantiles of the cosines of pairs of sampled rows
    Range: [−1, 1] each
    Reference: ours; these are the cosines of unrelated vectors in a search

    Intervals are Woodruff's (1952): the quantiles of p ± t times the error of the share of pairs
    below the p-quantile.
    """
    found = directions(space.sample, DEFAULT_SIZE)
    rows = len(found.units)
    if rows < 2:
        undefined = Value(None, note=NO_DIRECTIONS, rows=rows)
        return {f"{q}%": undefined for q in QUANTILES}
    pairs = found.pairs
    cosines = pairs.ordered
    note = f"from {len(cosines):,} pairs of {rows:,} sampled rows"
    missing = reason_against(space, pairs.blocks)
    values = {}
    for percent in QUANTILES:
        share = percent / 100
        value = sorted_quantile(cosines, share)
        low = high = None
        if not missing:
            reach = pairs.quantile * pairs.error_of_mean(pairs.up_to(value))
            low = sorted_quantile(cosines, max(share - reach, 0.0))
            high = sorted_quantile(cosines, min(share + reach, 1.0))
        values[f"{percent}%"] = Value(
            value, note=note, rows=rows, low=low, high=high, no_interval=missing
        )
    return values


def sorted_quantile(values: NDArray[Any], share: float) -> float:
    """Return a quantile of sorted cosines, between neighbours where it falls there."""
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    value = values[below] + (place - below) * (float(values[above]) - values[below])
    return float(np.clip(value, -1, 1))


# Bins of the density, in both directions from 0: cosines are rarely needed more exactly.
BINS = 50


def density_rows(cosines: NDArray[Any]) -> list[dict[str, Any]]:
    """Return how many cosines there are in every bin that has some."""
    counts, _ = np.histogram(np.clip(cosines, -1, 1), bins=2 * BINS, range=(-1, 1))
    return [
        {
            "from": float(bin_ - BINS) / BINS,
            "to": float(bin_ + 1 - BINS) / BINS,
            "count": int(counts[bin_]),
            "share": float(counts[bin_] / len(cosines)),
        }
        for bin_ in np.flatnonzero(counts)
    ]


@register(needs=["sample"], table=True)
def cosine_density(space: Space) -> TableValue:
    """Distribution of the cosines of random pairs, in the same bins for every cloud.

    Title: distribution of random-pair cosines
    When: to see how much unrelated cosines vary
    Formula: share of the pairs of sampled rows by cosine, in bins of 0.02
    Range: [0, 1] each
    Reference: ours; these are the cosines of unrelated vectors in a search
    """
    found = directions(space.sample, DEFAULT_SIZE)
    if len(found.units) < 2:
        return TableValue([], NO_DIRECTIONS)
    cosines = found.pairs.ordered
    rows = density_rows(cosines)
    return TableValue(rows, f"from {len(cosines):,} pairs of {len(found.units):,} sampled rows")


@register(direction="lower", needs=["large sample"], interval="own", default=False)
def random_pair_cosine(space: Space) -> Value:
    """Mean cosine of a thousand disjoint pairs of rows from different documents.

    Title: mean cosine of disjoint pairs
    When: if rows of one document resemble each other
    Formula: mean cosine of 1,000 random pairs of rows that share none, from different documents
    Range: [−1, 1]
    Reference: Luo et al. 2021, definition 3; Ethayarajh 2019
    """
    found = directions(space.sample, LARGE_SIZE)
    # One row of each document, the first in random order: tokens of one sentence are no random
    # pair.
    _, first = np.unique(found.groups, return_index=True)
    units = found.units[np.sort(first)[:DISJOINT_ROWS]]
    count = len(units) // 2
    if count < 1:
        return Value(None, note=NO_DIRECTIONS, rows=len(units))
    cosines = np.einsum("ij,ij->i", units[:count], units[count : 2 * count])
    value = float(np.clip(cosines.mean(), -1, 1))
    note = f"from {count:,} pairs"
    missing = reason_against(space, np.arange(2 * count) % BLOCKS)
    plain = Value(value, note=note, rows=2 * count, no_interval=missing)
    if missing:
        return plain
    reach = student_quantile(count - 1, LEVEL) * float(cosines.std(ddof=1)) / math.sqrt(count)
    return replace(plain, low=value - reach, high=value + reach)


@register(direction="lower", needs=["sample"], interval="own", default=False)
def uniformity(space: Space) -> Value:
    """How evenly the directions cover the sphere; a lower value is more even.

    Title: uniformity
    Symbol: ℓ_uniform
    When: to compare with papers on contrastive learning
    Formula: ln mean exp(−2 ‖u − v‖²) over pairs of sampled unit vectors
    Range: [−8, 0]
    Reference: Wang & Isola 2020, eq. 2, with t = 2
    """
    found = directions(space.sample, DEFAULT_SIZE)
    rows = len(found.units)
    if rows < 2:
        return Value(None, note=NO_DIRECTIONS, rows=rows)
    pairs = found.pairs
    # ‖u − v‖² = 2 − 2 cos
    potentials = np.exp(2 * TEMPERATURE * (pairs.cosines.astype(np.float64) - 1))
    mean = float(np.nanmean(potentials))
    value, note = math.log(mean), f"from pairs of {rows:,} sampled rows"
    missing = reason_against(space, pairs.blocks)
    plain = Value(value, note=note, rows=rows, no_interval=missing)
    if missing:
        return plain
    # The error of a logarithm is the relative error of its argument.
    reach = pairs.quantile * pairs.error_of_mean(potentials) / mean
    return replace(plain, low=value - reach, high=value + reach)
