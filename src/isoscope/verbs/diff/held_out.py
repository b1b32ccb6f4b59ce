"""Random pairs of rows that a correction was not fitted on.

A correction fits the chance in its own rows, so that their cosines are lower than those of other
rows of the same cloud: after whitening 500 rows of 384 dimensions, the cosine that 1 % of the pairs
of these rows exceed is exceeded by 29 % of the pairs of new rows. So the sampled rows of A are
dealt into K folds, the correction is fitted on A without a fold, and the pairs are those within the
fold. Pairs of all folds are pooled.

The sampled rows of B are dealt and paired in the same way and corrected by the same K corrections.
A row of a fold is as new to a correction as a row of B, so that shares of A and B can be compared
whatever the number of rows: where both clouds are drawn from one distribution, nothing but the
rows of the pairs tells their shares apart. Of clouds with the same rows, partners are in the same
fold: the partner of a row that was fitted on is not new.

Documents are dealt as a whole. Of a cloud with more rows than are sampled, only the sampled rows of
a fold are taken out of the fit, not the other rows of their documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from isoscope.compute.stats.estimates import SHARE, Score, clustered_score
from isoscope.compute.stats.pair_cosines import PairCosines
from isoscope.corrections.base import Correction
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.fit import read_summary
from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import row_keys
from isoscope.typing import Ids, Matrix
from isoscope.verbs.diff.two_clouds import Side

# K: every fit has four fifths of the rows, and a decomposition each costs little.
FOLDS = 5

# Which rows share a fold has nothing to do with which were drawn.
FOLD_SEED = 0xF01D


@dataclass(frozen=True)
class PooledPairs:
    """The pairs of one or more folds, each with pairs of its own rows only."""

    folds: Sequence[PairCosines]

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return sum(fold.cosines.size for fold in self.folds)

    def score_exceeded_by(self, share: float) -> float:
        """Return the score that this share of the pairs exceeds."""
        cosines = np.concatenate([fold.cosines.reshape(-1) for fold in self.folds])
        return float(np.quantile(cosines, 1 - share))

    def share_above(self, threshold: float) -> Score:
        """Return the share of pairs above a score; see ``PairCosines`` for its error."""
        above = [fold.cosines > threshold for fold in self.folds]
        value = sum(int(np.count_nonzero(one)) for one in above) / self.count
        parts = []
        for one in above:
            # A row adds what its own pairs differ from all by, times their share of all pairs.
            weight = one.size / self.count
            for axis in (1, 0):
                differs = one.mean(axis=axis) - value
                parts.append(differs * (weight / one.shape[1 - axis]))
        units = np.concatenate([fold.units for fold in self.folds])
        return clustered_score(value, np.concatenate(parts), units, SHARE)


def dealt_folds(units: Ids) -> Ids:
    """Return the fold of every row: documents as a whole, the same for the same documents."""
    names, place = np.unique(units, return_inverse=True)
    rank = np.argsort(np.argsort(row_keys(names, FOLD_SEED), kind="stable"), kind="stable")
    return np.asarray(rank % FOLDS)[place]


def pairs_of(rows: Matrix, units: Ids, seed: int) -> PooledPairs:
    """Return the pairs of rows that nothing was fitted on."""
    return PooledPairs([PairCosines.of(rows, units, seed)])


def held_out_pairs(
    corrections: Sequence[Correction], rows: Matrix, units: Ids, seed: int
) -> PooledPairs:
    """Return the pairs within folds, each fold corrected by the correction of its number."""
    fold = dealt_folds(units)
    return PooledPairs(
        [
            PairCosines.of(correction.transform(rows[fold == k]), units[fold == k], seed)
            for k, correction in enumerate(corrections)
        ]
    )


def fitted_without_folds(
    old: ClosedForm, side: Side, rows: Matrix, units: Ids
) -> Iterator[ClosedForm]:
    """Fit a correction again on a cloud without each fold of some of its rows, in turn.

    Parameters
    ----------
    old : ClosedForm
        The correction, whose parameters are taken.
    side : Side
        The cloud, whose sums over all rows are known.
    rows, units : array
        Sampled rows and their documents.
    """
    fold = dealt_folds(units)
    for k in range(FOLDS):
        part = read_summary(ArrayCloud(rows[fold == k], "fold"), old._parts()).moments
        fresh: ClosedForm = clone(old)
        yield fresh.fit_moments(side.moments.without(part), side.stored)
