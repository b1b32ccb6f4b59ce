"""What a threshold is chosen for: the best F1, a wanted precision, or a wanted recall.

A pair is accepted where its cosine is at least the threshold.

*Precision.* The lowest threshold at which precision is what is wanted would be the luckiest one.
Instead the threshold goes down from strict ones, and stops before precision first falls below what
is wanted: true precision is then what is wanted on average (benchmarks/threshold_simulation.py).

*Recall.* With k of P yeses accepted, yeses to come are accepted with a chance of k / (P + 1) on
average: the smallest k that gives what is wanted.

With a *confidence* the goal holds for pairs of the same kind with that chance, not on average. For
recall, the smallest k with P(Bin(P, r) ≥ k) ≤ α: a tolerance limit without any assumption. For
precision, that it is too low is refused where P(Bin(m, p) ≥ k) ≤ α, with k yeses of m accepted; the
walk starts from several places, each with its share of α, and ends where this test first fails, so
that looking at many thresholds does no harm (fixed-sequence testing).

References
----------
Wilks (1941), Determination of sample sizes for setting tolerance limits. Angelopoulos, Bates,
Candès, Jordan & Lei (2021), Learn then test: calibrating predictive algorithms to achieve risk
control.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isoscope.errors import UsageError
from isoscope.typing import Mask, Places, Vector

# The precision of fewer accepted pairs says nothing.
FEWEST_ACCEPTED = 10

# 0.9 / (1 − 0.9) is not quite 9.
ROUNDING = 1e-9

# Walks of an assured precision: more find a threshold more often, each with less of α.
STARTS = 5


@dataclass(frozen=True)
class Choice:
    """The lowest cosine that is accepted, or a note that says why there is no threshold."""

    threshold: float | None
    note: str = ""


class Goal(Protocol):
    """What a threshold is chosen for."""

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def words(self) -> str:
        """What it asks for, for people."""

    def choose(self, cosines: Vector, labels: Mask) -> Choice:
        """Choose a threshold from pairs whose labels are known."""


@dataclass(frozen=True)
class Cuts:
    """All thresholds that tell pairs apart, from the strictest down.

    Attributes
    ----------
    thresholds : array
        Half-way to the next lower cosine; the last accepts everything.
    accepted, right : array of int
        How many pairs each accepts, and how many of them are yeses.
    """

    thresholds: Vector
    accepted: Places
    right: Places

    @classmethod
    def of(cls, cosines: Vector, labels: Mask) -> Cuts:
        """Sort pairs by their cosine; pairs of the same cosine are accepted together."""
        order = np.argsort(-cosines, kind="stable")
        falling, yes = cosines[order], np.cumsum(labels[order], dtype=np.intp)
        last = np.flatnonzero(np.append(falling[:-1] != falling[1:], True))
        below = np.append(falling[last[:-1] + 1], falling[-1])
        # Half-way, or two cosines without a number between them: then the upper one.
        middle = (falling[last] + below) / 2
        thresholds = np.where(middle > below, middle, falling[last])
        return cls(thresholds, last + 1, yes[last])


@dataclass(frozen=True)
class BestF1:
    """The threshold with the highest F1 = 2 TP / (2 TP + FP + FN)."""

    name = "best-f1"
    words = "the best F1"

    def choose(self, cosines: Vector, labels: Mask) -> Choice:
        """Take the strictest of those with the highest F1."""
        cuts = Cuts.of(cosines, labels)
        total = int(labels.sum())
        if not total:
            return Choice(None, "no pair is a yes")
        # Accepted pairs are TP + FP and all yeses TP + FN, which is F1's denominator.
        f1 = 2 * cuts.right / (cuts.accepted + total)
        return Choice(float(cuts.thresholds[np.argmax(f1)]))


@dataclass(frozen=True)
class ShareGoal:
    """A share that should be reached.

    Attributes
    ----------
    share : float
        What is wanted.
    confidence : float, optional
        How sure it is to hold for other pairs of the same kind; on average, if not given.
    """

    share: float
    confidence: float | None = None

    def __post_init__(self) -> None:
        for what, value in ((self.what, self.share), ("confidence", self.confidence)):
            if value is not None and not 0 < value < 1:
                raise UsageError(f"a {what} must lie between 0 and 1, got {value:g}")

    @property
    def what(self) -> str:
        """What the share is of."""
        return type(self).__name__.lower()

    @property
    def name(self) -> str:
        """What results call it."""
        return f"{self.what}-{self.share:g}"

    @property
    def words(self) -> str:
        """What it asks for, for people."""
        sure = "" if self.confidence is None else f" with {100 * self.confidence:.0f} % confidence"
        return f"a {self.what} of {self.share:g}{sure}"


@dataclass(frozen=True)
class Precision(ShareGoal):
    """The lowest threshold on a way down on which accepted pairs are yeses often enough."""

    def choose(self, cosines: Vector, labels: Mask) -> Choice:
        """Go down while precision, or its assurance, holds."""
        cuts = Cuts.of(cosines, labels)
        if self.confidence is None:
            passes = cuts.right >= self.share * cuts.accepted
            fewest = FEWEST_ACCEPTED
            starts = np.flatnonzero(passes & (cuts.accepted >= fewest))[:1]
        else:
            alpha = (1 - self.confidence) / STARTS
            passes = tail(cuts.right, cuts.accepted, self.share) <= alpha
            # With fewer pairs than this not even a perfect start passes.
            fewest = math.ceil(math.log(alpha) / math.log(self.share))
            places = np.geomspace(fewest, max(len(cosines), fewest), STARTS + 1)[:-1]
            starts = np.searchsorted(cuts.accepted, np.ceil(places))
        # Every walk stops before it first fails; what passes below that may be luck.
        lowest = -1
        for start in starts:
            if start < len(passes) and passes[start]:
                failed = np.flatnonzero(~passes[start:])
                lowest = max(lowest, (start + failed[0] if len(failed) else len(passes)) - 1)
        if lowest >= 0:
            return Choice(float(cuts.thresholds[lowest]))
        return Choice(None, self._why(cuts, fewest))

    def _why(self, cuts: Cuts, fewest: int) -> str:
        enough = cuts.accepted >= fewest
        if not enough.any():
            return (
                f"{cuts.accepted[-1]:,} pairs are too few for {self.words}: at least {fewest:,} "
                "have to be accepted"
            )
        best = float(np.max(cuts.right[enough] / cuts.accepted[enough]))
        if self.confidence is not None:
            return (
                f"no threshold has {self.words}: because several are tried, each needs a "
                f"confidence of {100 - 100 * (1 - self.confidence) / STARTS:.0f} % by itself; the "
                f"highest precision of {fewest:,} or more accepted pairs is {best:.3f}"
            )
        return (
            f"the highest precision of {fewest:,} or more accepted pairs is {best:.3f}, not "
            f"{self.share:g}"
        )


@dataclass(frozen=True)
class Recall(ShareGoal):
    """The highest threshold that accepts yeses often enough."""

    def choose(self, cosines: Vector, labels: Mask) -> Choice:
        """Take the first cut that accepts enough yeses."""
        cuts = Cuts.of(cosines, labels)
        total = int(labels.sum())
        if self.confidence is None:
            passes = cuts.right >= self.share * (total + 1)
            fewest = math.ceil(self.share / (1 - self.share) - ROUNDING)
        else:
            trials = np.full(len(cuts.right), total)
            passes = tail(cuts.right, trials, self.share) <= 1 - self.confidence
            fewest = math.ceil(math.log(1 - self.confidence) / math.log(self.share))
        if passes.any():
            return Choice(float(cuts.thresholds[np.argmax(passes)]))
        return Choice(
            None, f"{total:,} matches are too few for {self.words}: there should be {fewest:,}"
        )


def tail(successes: Places, trials: Places, share: float) -> Vector:
    """Return P(Bin(trials, share) ≥ successes)."""
    from scipy.special import betainc

    # The regularised incomplete beta function is the binomial tail: P(X ≥ k) = I_p(k, n − k + 1).
    found = np.ones(len(successes))
    some = successes > 0
    found[some] = betainc(successes[some], trials[some] - successes[some] + 1, share)
    return found
