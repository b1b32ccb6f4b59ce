"""May the correction and the threshold of A be kept for B?

The correction of A is fitted again on B, and what that would change is looked at on rows of B:

- *the neighbours*: the share of the ten nearest rows by cosine that the old and the new correction
  have in common. Fitting on other rows of the same cloud changes some as well. How many, a fit on
  m random rows of B tells, with 1/m = 1/n_A + 2/n_B: against the fit on all of B its parameters
  vary by 1/m − 1/n_B = 1/n_A + 1/n_B, as those of A do where A and B are alike. Only what exceeds
  this chance counts. Of clouds with the same rows it is an upper bound: their fits share chance.
- *the mean cosine of random pairs*, which a correction that still fits brings to where the new one
  does.
- *the threshold*: the share of B's random pairs that score above it, against A's, both of rows that
  the correction was not fitted on (``held_out``).

An answer is one of three. *Change*: the difference is significant (at 5 %, by Holm's correction
over the spaces that are judged together) and exceeds a limit (``names``). *Keep*: its 95 % interval
lies within the limit, so that a difference that matters is excluded. *No statement* otherwise, with
the reason: too few rows to tell. None says which neighbours are better: that takes labels
(``isoscope advise``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from isoscope.compute.nearest_neighbours import nearest_rows, shared
from isoscope.compute.stats.estimates import (
    Difference,
    Score,
    clustered_mean,
    difference,
    undefined,
)
from isoscope.compute.stats.pair_cosines import PairCosines
from isoscope.compute.stats.significance import holm
from isoscope.corrections.base import Correction
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.estimators.whiten import Whiten
from isoscope.corrections.fit import fingerprint_of, read_summary, same_vectors
from isoscope.data.base import Batch, CloudGroup, WrappedGroup
from isoscope.data.sampling import row_keys
from isoscope.data.selection import keep
from isoscope.measures.reads.moments import Moments
from isoscope.progress import Progress
from isoscope.typing import Ids
from isoscope.verbs.diff.held_out import (
    PooledPairs,
    fitted_without_folds,
    held_out_pairs,
    pairs_of,
)
from isoscope.verbs.diff.names import (
    ALPHA,
    CHANCE_MATCHES,
    COSINE_LIMIT,
    FEWEST_ABOVE,
    FEWEST_BY_CHANCE,
    FEWEST_DOCUMENTS,
    NEIGHBOURS,
    NEIGHBOURS_LIMIT,
    ROWS_PER_DIMENSION,
    SPACE_LIMIT,
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
    with two fits on rows of B; ``lost`` is what the first is lower by. ``paired`` tells that A and
    B have the same rows. ``covariance_distance`` is that of ``effects`` where it is significant.
    ``p_lost`` and ``p_cosine`` are p-values by Holm's correction, see ``adjusted``.
    """

    old_cosine: Score
    new_cosine: Score
    cosine_change: Difference
    kept: Score
    by_chance: Score
    lost: Difference
    paired: bool = False
    covariance_distance: float = 0.0
    p_lost: float | None = None
    p_cosine: float | None = None

    @property
    def beyond_chance(self) -> Difference:
        """Neighbours lost beyond chance; undefined where more are kept than chance would keep."""
        if self.lost.value is None or self.lost.value >= 0:
            return self.lost
        note = "undefined: more neighbours are kept than by two fits on rows of B"
        return Difference(None, None, None, self.lost.n, note)

    @property
    def neighbours_differ(self) -> bool:
        """Whether more neighbours change than chance changes."""
        lost = self.lost
        return (lost.value or 0.0) > 0 and matters(lost, NEIGHBOURS_LIMIT, self.p_lost)

    @property
    def cosines_differ(self) -> bool:
        """Whether the old correction leaves another mean cosine than the new one."""
        return matters(self.cosine_change, COSINE_LIMIT, self.p_cosine)

    @property
    def keep(self) -> bool | None:
        """Whether the old correction still does for B what it did for A; None if not known."""
        if self.no_statement:
            return None
        return not (self.neighbours_differ or self.cosines_differ)

    @property
    def no_statement(self) -> str:
        """Why nothing can be said; empty where it can."""
        chance = self.by_chance.value or 0.0
        if chance < FEWEST_BY_CHANCE:
            return (
                "there are too few rows for this correction, as two fits on rows of B share only "
                f"{chance:.2f} of the neighbours (at least {FEWEST_BY_CHANCE:g} are needed)"
            )
        if self.neighbours_differ or self.cosines_differ:
            return ""
        if self.covariance_distance > SPACE_LIMIT:
            return (
                f"the covariances differ by {self.covariance_distance:.2f} of their size (limit "
                f"{SPACE_LIMIT:g}), as those of different spaces do"
            )
        # Fits of the same rows share chance, so that they may well agree more than two others.
        if not self.paired and matters(self.lost, NEIGHBOURS_LIMIT, None):
            return (
                f"two fits on rows of B share fewer neighbours ({chance:.2f}) than those of A and "
                "B, so that they do not show what chance does"
            )
        if not (below(self.lost, NEIGHBOURS_LIMIT) and within(self.cosine_change, COSINE_LIMIT)):
            return (
                f"too few rows to exclude that more than {NEIGHBOURS_LIMIT:g} of the neighbours or "
                f"{COSINE_LIMIT:g} of the mean cosine change"
            )
        return ""


@dataclass(frozen=True)
class ThresholdReuse:
    """The shares of random pairs of A and of B that score above a threshold, and B's less A's.

    ``unknown`` says why the shares could not be taken; then all figures are undefined, but for a
    threshold that was given. ``folds`` tells into how many folds the rows were dealt, ``p_holm`` is
    the p-value of the change by Holm's correction, see ``adjusted``.
    """

    threshold: float | None
    share_a: Score
    share_b: Score
    change: Difference
    unknown: str = ""
    folds: int = 1
    p_holm: float | None = None

    @property
    def keep(self) -> bool | None:
        """Whether as many random pairs of B score above it as of A; None if not known."""
        return None if self.no_statement else not self.differs

    @property
    def differs(self) -> bool:
        """Whether the shares differ significantly, by more than the limit."""
        a, b = self.share_a.value or 0.0, self.share_b.value or 0.0
        large = max(a, b) > THRESHOLD_FACTOR * min(a, b)
        return large and is_significant(self.change, self.p_holm)

    @property
    def no_statement(self) -> str:
        """Why nothing can be said; empty where it can."""
        if self.unknown or self.differs:
            return self.unknown
        a, change = self.share_a.value or 0.0, self.change
        low, high = (change.value if end is None else end for end in (change.low, change.high))
        lowest, highest = a + (low or 0.0), a + (high or 0.0)
        if a / THRESHOLD_FACTOR <= lowest and highest <= a * THRESHOLD_FACTOR:
            return ""
        return (
            "too few rows to exclude that B's share of pairs above it differs from A's by a factor "
            f"of more than {THRESHOLD_FACTOR:g}"
        )


@dataclass(frozen=True)
class SpaceReuse:
    """Both answers for one space, from so many rows of B; the space as it is has no correction."""

    space: str
    correction: CorrectionReuse | None
    threshold: ThresholdReuse
    rows: int


def adjusted(spaces: list[SpaceReuse]) -> list[SpaceReuse]:
    """Adjust the p-values of all spaces that are judged together by Holm's correction.

    Thresholds are one family and corrections another: of clouds that are alike, at most 5 % are
    told to choose a new threshold in any space, and at most 5 % to fit any correction again.
    """
    cuts = iter(holm_or_none([one.threshold.change.p_value for one in spaces]))
    corrections = [one.correction for one in spaces if one.correction is not None]
    tested = [p for one in corrections for p in (one.lost.p_value, one.cosine_change.p_value)]
    changes = iter(holm_or_none(tested))
    found = []
    for one in spaces:
        judged = one.correction
        if judged is not None:
            judged = replace(judged, p_lost=next(changes), p_cosine=next(changes))
        cut = replace(one.threshold, p_holm=next(cuts))
        found.append(replace(one, correction=judged, threshold=cut))
    return found


def holm_or_none(values: list[float | None]) -> list[float | None]:
    """Return p-values by Holm's correction over those that there are."""
    known = iter(holm([p for p in values if p is not None]))
    return [None if p is None else next(known) for p in values]


def is_significant(change: Difference, p_holm: float | None) -> bool:
    """Whether a difference is significant.

    Without an interval no row differs between the two from anything: all or none of the pairs score
    above a threshold, and a difference of such shares is none of chance.
    """
    p = change.p_value if p_holm is None else p_holm
    return bool(change.value) if p is None else p <= ALPHA


def matters(change: Difference, limit: float, p_holm: float | None) -> bool:
    """Whether a difference is significant, and larger than a limit."""
    return change.value is not None and abs(change.value) > limit and is_significant(change, p_holm)


def below(change: Difference, limit: float) -> bool:
    """Whether a difference is lower than a limit, to the upper end of its interval."""
    highest = change.value if change.high is None else change.high
    return highest is not None and highest <= limit


def within(change: Difference, limit: float) -> bool:
    """Whether a difference is lower than a limit in either direction, with its interval."""
    lowest = change.value if change.low is None else change.low
    return below(change, limit) and lowest is not None and lowest >= -limit


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
    unknown = too_few_documents(units_a, units_b)
    if unknown:
        cut = unknown_threshold(threshold, unknown, len(b))
    else:
        pairs = pairs_of(a, units_a, seed), pairs_of(b, units_b, seed)
        cut = judge_threshold(*pairs, threshold, two.paired)
    return SpaceReuse("none", None, cut, len(b))


def corrected_space(
    two: TwoSides,
    name: str,
    old: Correction,
    threshold: float | None,
    seed: int,
    progress: Progress | None = None,
    *,
    covariance_distance: float = 0.0,
) -> SpaceReuse:
    """Judge a correction of A, and a threshold of the cosines after it.

    Parameters
    ----------
    two : TwoSides
        Both clouds.
    name : str
        What to call the correction.
    old : Correction
        Fitted on A, or on other vectors.
    threshold : float, optional
        A cosine; by default the one that 1 % of A's random pairs exceed.
    seed : int
        Of the random pairs.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    covariance_distance : float
        That of both clouds, where it is significant.
    """
    b, units_b = two.b.first(SAMPLE)
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
    correction = CorrectionReuse(
        old_cosine, new_cosine, change, kept, by_chance, lost, two.paired, covariance_distance
    )
    cut = corrected_threshold(two, old, threshold, seed)
    return SpaceReuse(name, correction, cut, len(b))


def corrected_threshold(
    two: TwoSides, old: Correction, threshold: float | None, seed: int
) -> ThresholdReuse:
    """Judge a threshold after a correction by rows that the correction was not fitted on."""
    (a, units_a), (b, units_b) = two.a.first(SAMPLE), two.b.first(SAMPLE)
    unknown = too_few_documents(units_a, units_b)
    of_a = was_fitted_on(old, two.a.moments)
    # Sums of the same rows in another type are nearly equal, and folds hold out partners as well.
    of_b = was_fitted_on(old, two.b.moments) and not (of_a and two.paired)
    if of_b and not unknown:
        unknown = fitted_on_itself(old, "B")
    if of_a and not unknown:
        unknown = cannot_cross_fit(old, two.a.moments.rows)
    if unknown:
        return unknown_threshold(threshold, unknown, len(b))
    if not of_a:  # then rows of A are as new to it as those of B
        pairs = pairs_of(old.transform(a), units_a, seed), pairs_of(old.transform(b), units_b, seed)
        return judge_threshold(*pairs, threshold, two.paired)
    assert isinstance(old, ClosedForm)
    fitted = list(fitted_without_folds(old, two.a, a, units_a))
    pairs = (
        held_out_pairs(fitted, a, units_a, seed),
        held_out_pairs(fitted, b, units_b, seed),
    )
    return judge_threshold(*pairs, threshold, two.paired)


def too_few_documents(units_a: Ids, units_b: Ids) -> str:
    """Say that there are too few documents for shares of pairs; empty where there are enough."""
    fewest = min(len(np.unique(units)) for units in (units_a, units_b))
    if fewest >= FEWEST_DOCUMENTS:
        return ""
    return f"there are {fewest} documents, and at least {FEWEST_DOCUMENTS} are needed"


def cannot_cross_fit(old: Correction, rows: int) -> str:
    """Say why the share of A's pairs is not known after a correction of A; empty where it is."""
    if not isinstance(old, ClosedForm):
        return fitted_on_itself(old, "A")
    dimensions = old._output_width
    if isinstance(old, Whiten) and rows < ROWS_PER_DIMENSION * dimensions:
        return (
            f"A has {rows:,} rows, and a threshold after whitening {dimensions:,} dimensions "
            f"needs {ROWS_PER_DIMENSION * dimensions:,} ({ROWS_PER_DIMENSION} per dimension)"
        )
    return ""


def fitted_on_itself(old: Correction, side: str) -> str:
    """Say that the rows of a cloud are no new rows to a correction."""
    return (
        f"{old.name} was fitted on {side} itself, and only other rows tell how many of {side}'s "
        "pairs score above it"
    )


def unknown_threshold(threshold: float | None, why: str, n: int) -> ThresholdReuse:
    """Return an answer without figures."""
    none = undefined(why, n)
    return ThresholdReuse(threshold, none, none, Difference(None, None, None, n, none.note), why)


def judge_threshold(
    a: PooledPairs, b: PooledPairs, threshold: float | None, paired: bool
) -> ThresholdReuse:
    """Compare what a threshold lets through of both clouds."""
    fewest, needed = min(a.count, b.count), round(FEWEST_ABOVE / CHANCE_MATCHES)
    if fewest < needed:
        why = f"there are {fewest:,} random pairs, and at least {needed:,} are needed"
        return unknown_threshold(threshold, why, fewest)
    limit = a.score_exceeded_by(CHANCE_MATCHES) if threshold is None else threshold
    share_a, share_b = a.share_above(limit), b.share_above(limit)
    change = difference(share_b, share_a, paired=paired)
    return ThresholdReuse(limit, share_a, share_b, change, folds=len(a.folds))


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
