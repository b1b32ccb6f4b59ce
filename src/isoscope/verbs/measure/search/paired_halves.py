"""Cosines of random pairs: rows of one half of a sample with those of the other.

A mean over such pairs is a U-statistic: to first order each row adds what the mean over its own
pairs differs from that over all (Hoeffding 1948). So four million pairs of four thousand rows have
the error that they deserve, which is far larger than that of four million independent pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import CORRELATION, SHARE, clustered_score
from isoscope.tasks.scoring import unit_rows
from isoscope.verbs.measure.search.nearest_rows import has_direction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.compute.stats.estimates import Score


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
    chosen[order[0]] = len(counts) > 1
    return np.asarray(chosen[place])
