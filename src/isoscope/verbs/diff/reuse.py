"""May the correction and the threshold of A be kept for B?

The correction of A is fitted again on B, and what that would change is looked at on rows of B:

- *the neighbours*: the share of the ten nearest rows by cosine that the old and the new correction
  have in common. Fitting on other rows of the same cloud changes some as well. How many, a fit on
  m random rows of B tells, with 1/m = 1/n_A + 2/n_B: against the fit on all of B its parameters
  vary by 1/m − 1/n_B = 1/n_A + 1/n_B, as those of A do where A and B are alike. Only what exceeds
  this chance counts. Of clouds with the same rows it is an upper bound: their fits share chance.
- *the mean cosine of random pairs*, which a correction that still fits brings to where the new one
  does.
- *the threshold*: the share of B's random pairs that score above it, against A's.

A threshold that was read off the very rows that a correction was fitted on lets more through on
other rows, of A as of B, where rows are few for the width: whitening fits the chance in them.

Each answer needs a difference that is no chance (its 95 % interval leaves out 0) and that matters
(the limits below). None says which neighbours are better: that takes labels (``isoscope advise``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from isoscope.compute.nearest_neighbours import nearest_rows, shared
from isoscope.compute.stats.estimates import Difference, Score, clustered_mean, difference
from isoscope.compute.stats.pair_cosines import PairCosines
from isoscope.corrections.base import Correction
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.fit import fingerprint_of, read_summary, same_vectors
from isoscope.data.base import Batch, CloudGroup, WrappedGroup
from isoscope.data.sampling import row_keys
from isoscope.data.selection import keep
from isoscope.measures.reads.moments import Moments
from isoscope.progress import Progress
from isoscope.verbs.diff.names import (
    CHANCE_MATCHES,
    COSINE_LIMIT,
    NEIGHBOURS,
    NEIGHBOURS_LIMIT,
    THRESHOLD_FACTOR,
)
from isoscope.verbs.diff.two_clouds import Side, TwoSides

# Rows of each cloud.
SAMPLE = 4_096

# Of the rows of the fit that shows what chance does.
CHANCE_SEED = 0xC4A7CE


@dataclass(frozen=True)
class CorrectionReuse:
    """What fitting a correction again on B would change on B.

    The mean cosine of random pairs goes from ``old_cosine`` to ``new_cosine``; its change is old −
    new. Of the neighbours, the share ``kept`` is the same with both corrections, and ``by_chance``
    with two fits on rows of B; ``beyond_chance`` is what is lost beyond that.
    """

    old_cosine: Score
    new_cosine: Score
    cosine_change: Difference
    kept: Score
    by_chance: Score
    beyond_chance: Difference

    @property
    def neighbours_differ(self) -> bool:
        """Whether more neighbours change than chance changes."""
        lost = self.beyond_chance
        return (lost.value or 0.0) > 0 and matters(lost, NEIGHBOURS_LIMIT)

    @property
    def cosines_differ(self) -> bool:
        """Whether the old correction leaves another mean cosine than the new one."""
        return matters(self.cosine_change, COSINE_LIMIT)

    @property
    def keep(self) -> bool:
        """Whether the old correction still does for B what it did for A."""
        return not (self.neighbours_differ or self.cosines_differ)


@dataclass(frozen=True)
class ThresholdReuse:
    """The shares of random pairs of A and of B that score above a threshold, and B's less A's."""

    threshold: float
    share_a: Score
    share_b: Score
    change: Difference

    @property
    def keep(self) -> bool:
        """Whether as many random pairs of B score above it as of A."""
        a, b = self.share_a.value or 0.0, self.share_b.value or 0.0
        large = max(a, b) > THRESHOLD_FACTOR * min(a, b)
        return not (large and no_chance(self.change))


@dataclass(frozen=True)
class SpaceReuse:
    """Both answers for one space, from so many rows of B; the space as it is has no correction."""

    space: str
    correction: CorrectionReuse | None
    threshold: ThresholdReuse
    rows: int


def no_chance(change: Difference) -> bool:
    """Whether the interval of a difference leaves out 0.

    Without an interval no row tells the two apart from anything: all or none of the pairs score
    above a threshold, and a difference of such shares is none of chance.
    """
    if change.low is None or change.high is None:
        return bool(change.value)
    return not change.low <= 0 <= change.high


def matters(change: Difference, limit: float) -> bool:
    """Whether a difference is no chance, and larger than a limit."""
    return change.value is not None and abs(change.value) > limit and no_chance(change)


class SomeRows(WrappedGroup):
    """A random part of the rows of a group of one cloud.

    Parameters
    ----------
    group : CloudGroup
        Where the rows come from.
    share : float
        Chance of each row.
    """

    def __init__(self, group: CloudGroup, share: float) -> None:
        super().__init__(group)
        self._highest = np.uint64(min(int(share * 2**64), 2**64 - 1))

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start; rows are numbered anew."""
        first = 0
        for batches in self._group.batches():
            (batch,) = batches.values()
            rows = np.arange(batch.first_row, batch.first_row + len(batch.vectors))
            # Hashes decide, not draws: every read gives the same rows, on any number of threads.
            part = keep(batch, row_keys(rows, CHANCE_SEED) <= self._highest)
            if len(part.vectors):
                yield {self.names[0]: part._replace(first_row=first)}
                first += len(part.vectors)


def space_as_it_is(two: TwoSides, threshold: float | None, seed: int) -> SpaceReuse:
    """Judge a threshold of cosines that are not corrected."""
    (a, units_a), (b, units_b) = two.a.first(SAMPLE), two.b.first(SAMPLE)
    pairs = PairCosines.of(a, units_a, seed), PairCosines.of(b, units_b, seed)
    return SpaceReuse("none", None, judge_threshold(*pairs, threshold, two.paired), len(b))


def corrected_space(
    two: TwoSides,
    name: str,
    old: Correction,
    threshold: float | None,
    seed: int,
    progress: Progress | None = None,
) -> SpaceReuse:
    """Judge a correction of A, and a threshold of the cosines after it."""
    (a, units_a), (b, units_b) = two.a.first(SAMPLE), two.b.first(SAMPLE)
    # What the old one was fitted on decides, which may be more than what is here of A.
    fitted_rows, n_b = old.fitted_on_.rows or two.a.moments.rows, two.b.moments.rows
    share = 1 / (1 / fitted_rows + 2 / n_b) / n_b
    new, part = (fitted_again(old, two.b, some, progress) for some in (None, share))
    before, after, chance = (one.transform(b) for one in (old, new, part))
    pairs_old, pairs_new = (PairCosines.of(rows, units_b, seed) for rows in (before, after))
    k = min(NEIGHBOURS, len(b) - 1)
    nearest = nearest_rows(after, k)
    kept, by_chance = (
        clustered_mean(shared(nearest, nearest_rows(rows, k)), units_b) for rows in (before, chance)
    )
    old_cosine, new_cosine = pairs_old.mean(), pairs_new.mean()
    change, lost = difference(old_cosine, new_cosine), difference(by_chance, kept)
    correction = CorrectionReuse(old_cosine, new_cosine, change, kept, by_chance, lost)
    pairs_a = PairCosines.of(old.transform(a), units_a, seed)
    cut = judge_threshold(pairs_a, pairs_old, threshold, two.paired)
    return SpaceReuse(name, correction, cut, len(b))


def judge_threshold(
    a: PairCosines, b: PairCosines, threshold: float | None, paired: bool
) -> ThresholdReuse:
    """Compare what a threshold lets through of both clouds."""
    limit = a.score_exceeded_by(CHANCE_MATCHES) if threshold is None else threshold
    share_a, share_b = a.share_above(limit), b.share_above(limit)
    change = difference(share_b, share_a, paired=paired)
    return ThresholdReuse(limit, share_a, share_b, change)


def fitted_again(
    old: Correction, side: Side, share: float | None, progress: Progress | None
) -> Correction:
    """Fit the same correction on a cloud, or on a share of its rows."""
    new: Correction = clone(old)
    cloud = side.cloud if share is None else SomeRows(side.cloud, share)
    if not isinstance(new, ClosedForm):
        return new.fit_cloud(cloud, progress=progress)
    # Sums over all rows were taken when the cloud was read; a part of them is read again.
    moments = side.moments
    if share is not None:
        moments = read_summary(cloud, new._parts(), progress=progress).moments
    return new.fit_moments(moments, side.stored)


def was_fitted_on(given: Correction, moments: Moments) -> bool:
    """Whether a correction was fitted on the vectors that some sums are of."""
    sums = getattr(given, "moments_", None)
    if sums is None:
        return given.fitted_on_.fingerprint == fingerprint_of(moments)
    return same_vectors(sums, moments)
