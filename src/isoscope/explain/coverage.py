"""How much of a text its most frequent words cover, and how steeply frequencies fall.

Zipf's law says that the word of rank r has a share p_r = r^(−s) / Σ_{k ≤ V} k^(−s) of the text. The
exponent s is that of the highest likelihood of the counts c_r in order, which solves

    Σ_r c_r ln r / N = Σ_r r^(−s) ln r / Σ_r r^(−s);

a line through logarithms would give the many words that occur once all the weight.

References
----------
Zipf (1949), Human behavior and the principle of least effort. Biś et al. (2021), Too much in
common, figure 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

STEEPEST = 20.0
"""An exponent beyond which all of a text is one word."""


@dataclass(frozen=True)
class Coverage:
    """Counts of different words, the most frequent first; those of 0 are no words of the text.

    Attributes
    ----------
    counts : array
        In falling order, all above 0.
    """

    counts: NDArray[np.int64]

    @classmethod
    def of(cls, counts: Iterable[int]) -> Coverage:
        """Sort counts."""
        found = np.sort(np.asarray(list(counts), np.int64))[::-1]
        found = found[found > 0]
        if not len(found):
            raise DataError("the text has no words to count")
        return cls(found)

    @property
    def total(self) -> int:
        """Words of the text."""
        return int(self.counts.sum())

    def share_of(self, first: int) -> float:
        """Return the share of the text that the so many most frequent words cover."""
        return float(self.counts[:first].sum() / self.total)

    def needed_for(self, share: float) -> int:
        """Return how many of the most frequent words cover at least a share of the text."""
        # In whole numbers: a sum of shares may miss one by rounding.
        covered = np.cumsum(self.counts)
        return int(np.searchsorted(covered, np.ceil(share * self.total - 1e-9)) + 1)

    def zipf_exponent(self) -> float | None:
        """Return s; None for a single word, which has no slope."""
        if len(self.counts) < 2:
            return None
        from scipy.optimize import brentq

        logs = np.log(np.arange(1, len(self.counts) + 1))
        mean = float(self.counts @ logs / self.total)

        def excess(exponent: float) -> float:
            weights = np.exp(-exponent * logs)
            return float(weights @ logs / weights.sum()) - mean

        if excess(STEEPEST) >= 0:
            return STEEPEST
        # Equal counts have exponent 0; sorted counts cannot have a lower one.
        return 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, STEEPEST, xtol=1e-12))

    def curve(self, points: int = 60) -> list[dict[str, float]]:
        """Return numbers of words and the shares that they cover, at even ratios."""
        places = np.unique(np.geomspace(1, len(self.counts), points).round().astype(int))
        covered = np.cumsum(self.counts) / self.total
        return [{"words": int(k), "share": float(covered[k - 1])} for k in places]
