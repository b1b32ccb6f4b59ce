"""Cosines of random pairs, which nothing relates: what a score is worth where it means nothing.

A mean over pairs that share rows is a U-statistic: to first order each row adds what the mean over
its own pairs differs from that over all (Hoeffding 1948). So four million pairs of four thousand
rows get their true error, which is far larger than that of four million independent pairs.

``PairCosines`` are the cosines of one half of a sample with the other. ``RandomPairs`` are those of
all pairs of m sampled rows, or of m sampled queries with n sampled rows. With p the share of pairs
whose cosine is at least t, and h_i that share among the pairs of row i alone, the variance of p is,
to second order (Hoeffding 1948),

    4 Var(h) / m − 2 p (1 − p) / (m (m − 1))           for pairs of one cloud,
    Var(h) / m + Var(g) / n − p (1 − p) / (m n)        for pairs of two, g that of the other side.

The last terms remove what few pairs per row add to the spread of h: without them the variance is
twice too large far in the tail. The variance is never taken to be smaller than that of pairs that
share no row. Intervals are symmetric on the scale of log odds, and those of a quantile contain the
scores whose share lies in the interval of the share (Woodruff 1952).

References
----------
Hoeffding (1948), A class of statistics with asymptotically normal distribution. Woodruff (1952),
Confidence intervals for medians and other position measures, JASA 47.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.nearest_neighbours import has_direction
from isoscope.compute.stats.estimates import CORRELATION, SHARE, Estimate, clustered_score, quantile
from isoscope.data.arrays import SHORTEST, unit_rows
from isoscope.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.compute.stats.estimates import Score
    from isoscope.typing import Single, Vector


@dataclass(frozen=True)
class PairCosines:
    """Cosines of every row of the first half with every row of the second; 0 where one is zero."""

    cosines: NDArray[np.float64]
    units: NDArray[np.int64]
    """The document of each row, first half first."""

    @classmethod
    def of(cls, vectors: NDArray[Any], units: NDArray[np.int64], seed: int) -> PairCosines:
        """Take the cosines of rows that are dealt to two halves, the same for the same units.

        Documents go to a half as a whole: rows of one are no random pair. Rows without a direction
        stay, so that two spaces have the same pairs; they are few.
        """
        rows = np.asarray(vectors, np.float64)
        known = has_direction(rows)[:, None]
        directions = np.where(known, unit_rows(np.where(known, rows, 1.0)), 0.0)
        first = first_half(units, seed)
        ordered = np.concatenate([units[first], units[~first]])
        return cls(directions[first] @ directions[~first].T, ordered)

    def mean(self) -> Score:
        """Return the mean cosine."""
        return self._score(self.cosines, CORRELATION)

    def share_above(self, threshold: float) -> Score:
        """Return the share of pairs above a score."""
        return self._score((self.cosines > threshold).astype(np.float64), SHARE)

    def score_exceeded_by(self, share: float) -> float:
        """Return the score that this share of the pairs exceeds."""
        return float(np.quantile(self.cosines, 1 - share))

    def _score(self, figures: NDArray[np.float64], bounds: tuple[float, float]) -> Score:
        value = float(figures.mean())
        parts = [(figures.mean(axis=k) - value) / figures.shape[1 - k] for k in (1, 0)]
        return clustered_score(value, np.concatenate(parts), self.units, bounds)


def first_half(units: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """Tell which rows are dealt to the first half, as nearly half of them as whole units make."""
    _, place, counts = np.unique(units, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(counts))
    chosen = np.zeros(len(counts), np.bool_)
    chosen[order] = np.cumsum(counts[order]) <= len(units) / 2
    # A document longer than half of all rows would leave the first half empty; a single document is
    # no pair with itself at all.
    chosen[order[0]] = len(counts) > 1
    return np.asarray(chosen[place])


# A share that fewer pairs than this speak for is not told from 0.
FEWEST_PAIRS = 10

# Below this the spread over rows says nothing of the error.
FEWEST_ROWS = 30


@dataclass(frozen=True)
class RandomPairs:
    """The cosines of pairs of rows.

    Attributes
    ----------
    cosines : array of float32
        (m, m) of one cloud, the diagonal not to be looked at; (m, n) of queries with rows.
    symmetric : bool
        Whether it is one cloud.
    """

    cosines: Single
    symmetric: bool

    @classmethod
    def of(cls, rows: NDArray[Any], queries: NDArray[Any] | None = None) -> RandomPairs:
        """Take all pairs of some rows, or of queries with them."""
        second = single_unit_rows(rows)
        first = second if queries is None else single_unit_rows(queries)
        if min(len(first), len(second)) < 2:
            raise DataError("fewer than two vectors have a direction")
        return cls(np.clip(first @ second.T, -1, 1), queries is None)

    @property
    def count(self) -> int:
        """How many pairs there are, each once."""
        m, n = map(int, self.cosines.shape)
        return m * (m - 1) // 2 if self.symmetric else m * n

    @cached_property
    def ordered(self) -> Single:
        """Every cosine once, rising."""
        values = self.cosines.reshape(-1)
        if self.symmetric:
            values = self.cosines[np.triu_indices(len(self.cosines), 1)]
        return np.sort(values)

    def mean_cosine(self, level: float = 0.95) -> Estimate:
        """Return the mean cosine; its error follows from the means of single rows alone."""
        own, variance = self._by_rows(self.cosines)
        value, fewest = float(np.mean(own)), min(self.cosines.shape)
        if fewest < FEWEST_ROWS:
            note = f"no interval from fewer than {FEWEST_ROWS} rows"
            return Estimate(value, None, None, self.count, note)
        reach = quantile(level, fewest) * math.sqrt(variance)
        return Estimate(value, max(value - reach, -1.0), min(value + reach, 1.0), self.count)

    def share_above(self, score: float, level: float = 0.95) -> Estimate:
        """Return the share of pairs with a cosine of at least a score."""
        share = self._share(score)
        missing = self._no_interval(share)
        if missing:
            return Estimate(share, None, None, self.count, missing)
        reach = self._reach(score, share, level)
        odds = math.log(share / (1 - share))
        low, high = (expit(odds + sign * reach) for sign in (-1, 1))
        return Estimate(share, low, high, self.count)

    def score_at(self, share: float, level: float = 0.95) -> Estimate:
        """Return the cosine that this share of pairs reaches; None where too few pairs would."""
        if share * self.count < FEWEST_PAIRS:
            note = (
                f"undefined: fewer than {FEWEST_PAIRS} of {self.count:,} random pairs would lie "
                "above it; a larger sample is needed"
            )
            return Estimate(None, None, None, self.count, note)
        value = self.quantile(share)
        here = self._share(value)
        missing = self._no_interval(here)
        if missing:
            return Estimate(value, None, None, self.count, missing)
        reach = self._reach(value, here, level)
        low, high = (self._end(share, sign, reach, level) for sign in (1, -1))
        return Estimate(value, min(low, value), max(high, value), self.count)

    def _end(self, share: float, sign: int, reach: float, level: float) -> float:
        """Return the score whose own interval just holds a share, from the reach at the share.

        The error at the share itself is too small further up, where fewer pairs lie, so that it is
        taken again at the end that it gives; benchmarks/threshold_simulation.py has the coverage.
        """
        odds = math.log(share / (1 - share))
        score = self.quantile(expit(odds + sign * reach))
        here = self._share(score)
        if FEWEST_PAIRS <= here * self.count <= self.count - FEWEST_PAIRS:
            score = self.quantile(expit(odds + sign * self._reach(score, here, level)))
        return score

    def _no_interval(self, share: float) -> str:
        """Say why a share has no interval; nothing where it has one."""
        above = round(share * self.count)
        for few, side in ((above, "above"), (self.count - above, "below")):
            if few < FEWEST_PAIRS:
                return f"no interval: {few} of {self.count:,} pairs lie {side}"
        if min(self.cosines.shape) < FEWEST_ROWS:
            return f"no interval from fewer than {FEWEST_ROWS} rows"
        return ""

    def _share(self, score: float) -> float:
        above = self.count - int(np.searchsorted(self.ordered, np.float32(score), "left"))
        return above / self.count

    def _reach(self, score: float, share: float, level: float) -> float:
        """Return how far an interval reaches on the scale of log odds."""
        error = self._error(np.float32(score), share) / (share * (1 - share))
        return quantile(level, min(self.cosines.shape)) * error

    def quantile(self, share: float) -> float:
        """Return the score that a share of the pairs reaches, between two where it falls there."""
        place = (1 - share) * (self.count - 1)
        below = int(place)
        above = min(below + 1, self.count - 1)
        low, high = float(self.ordered[below]), float(self.ordered[above])
        return low + (place - below) * (high - low)

    def _error(self, score: np.float32, share: float) -> float:
        """Return the standard error of the share of pairs that reach a score."""
        m, n = self.cosines.shape
        alone = share * (1 - share)
        # What pairs that share no row would have; it is also what few pairs a row add to h.
        least = 2 * alone / (m * (m - 1)) if self.symmetric else alone / (m * n)
        _, variance = self._by_rows(self.cosines >= score)
        # The difference of two estimates may come out too small, or below zero, by chance.
        return math.sqrt(max(variance - least, least))

    def _by_rows(self, figures: NDArray[Any]) -> tuple[Vector, float]:
        """Return the mean of every row over its own pairs, and the variance of the whole mean.

        That is the variance to first order; a row is no pair with itself.
        """
        m, n = figures.shape
        totals = figures.sum(axis=1, dtype=np.float64)
        if self.symmetric:
            own = (totals - np.diagonal(figures)) / (m - 1)
            return own, 4 * float(np.var(own, ddof=1)) / m
        own, other = totals / n, figures.sum(axis=0, dtype=np.float64) / m
        return own, float(np.var(own, ddof=1)) / m + float(np.var(other, ddof=1)) / n


def expit(odds: float) -> float:
    """Return the share with these log odds."""
    return 1 / (1 + math.exp(-odds))


def single_unit_rows(rows: NDArray[Any]) -> Single:
    """Divide rows by their lengths, in single precision; zero vectors are left out."""
    vectors = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    kept = lengths > SHORTEST * lengths.max(initial=0.0)
    return np.asarray(vectors[kept] / lengths[kept, None], np.float32)
