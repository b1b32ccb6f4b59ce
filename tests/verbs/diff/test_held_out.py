"""Random pairs of rows that a correction was not fitted on."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.compute.stats.pair_cosines import PairCosines
from isoscope.corrections import Whiten
from isoscope.data.arrays import ArrayCloud
from isoscope.measures.reads.moments import MomentParts
from isoscope.verbs.diff.held_out import (
    FOLDS,
    dealt_folds,
    fitted_without_folds,
    held_out_pairs,
    pairs_of,
)
from isoscope.verbs.diff.two_clouds import Reading

ROWS = np.random.default_rng(0).standard_normal((300, 8)) * np.arange(1, 9) ** -0.5 + 1
UNITS = np.arange(300)


def test_folds_are_even_and_hold_whole_documents() -> None:
    assert np.bincount(dealt_folds(UNITS)).tolist() == [60] * FOLDS
    documents = UNITS // 3
    fold = dealt_folds(documents)
    assert all(len(set(fold[documents == one])) == 1 for one in range(100))
    np.testing.assert_array_equal(dealt_folds(documents), fold)


def test_a_fold_is_not_in_its_fit() -> None:
    side = Reading(MomentParts(), 1_000, 0).apart(ArrayCloud(ROWS, "a"), ArrayCloud(ROWS, "b")).a
    rows, units = side.first(1_000)
    fitted = list(fitted_without_folds(Whiten().fit(ROWS), side, rows, units))
    assert len(fitted) == FOLDS
    wanted = Whiten().fit(rows[dealt_folds(units) != 2])
    assert fitted[2].fitted_on_.rows == 240
    np.testing.assert_allclose(
        np.abs(fitted[2].transform(rows)), np.abs(wanted.transform(rows)), atol=1e-9
    )


def test_one_fold_is_the_plain_pairs() -> None:
    pairs, plain = pairs_of(ROWS, UNITS, 0), PairCosines.of(ROWS, UNITS, 0)
    assert pairs.count == plain.cosines.size
    assert pairs.score_exceeded_by(0.01) == plain.score_exceeded_by(0.01)
    found, wanted = pairs.share_above(0.7), plain.share_above(0.7)
    assert (found.value, found.low) == pytest.approx((wanted.value, wanted.low))


def test_pairs_are_of_one_fold() -> None:
    fitted = [Whiten().fit(ROWS)] * FOLDS
    pairs = held_out_pairs(fitted, ROWS, UNITS, 0)
    assert pairs.count == FOLDS * 30 * 30
    found = pairs.share_above(0.3)
    assert found.value == pytest.approx(np.mean([one.cosines > 0.3 for one in pairs.folds]))
    assert found.n == 300
