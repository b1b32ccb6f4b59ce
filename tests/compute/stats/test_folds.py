"""Folds have their share of every class and leave no class unseen."""

from __future__ import annotations

import numpy as np

from isoscope.compute.stats.folds import dealt_by_class

CODES = np.repeat([0, 1, 2], [53, 20, 3])


def test_every_fold_has_its_share_of_every_class() -> None:
    folds = dealt_by_class(CODES, 5, seed=1)
    for code, size in enumerate((53, 20, 3)):
        counts = np.bincount(folds[code == CODES], minlength=5)
        assert counts.sum() == size
        assert np.ptp(counts) <= 1


def test_a_class_smaller_than_the_folds_is_not_in_the_last() -> None:
    for seed in range(20):
        assert not (dealt_by_class(CODES, 5, seed)[CODES == 2] == 4).any()


def test_the_seed_decides() -> None:
    np.testing.assert_array_equal(dealt_by_class(CODES, 5, 1), dealt_by_class(CODES, 5, 1))
    assert (dealt_by_class(CODES, 5, 1) != dealt_by_class(CODES, 5, 2)).any()
