"""Fits without some folds, against fits on the rows that are left."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.corrections import make_correction
from isoscope.corrections.named import named
from isoscope.errors import DataError
from isoscope.tasks.fits import Background, FoldedRows, moments_of, parts_of

NAMES = ["center", "whiten", "all-but-the-top:n_components=2", "clip", "standardize"]
CLUSTERS = "cluster-pc-removal:n_clusters=3:n_components=1"
RNG = np.random.default_rng(0)
ROWS = (RNG.standard_normal((60, 6)) * np.arange(1, 7) + 3).astype(np.float32)
FOLDS = [np.arange(0, 20), np.arange(15, 40), np.array([58])]
EVERYTHING = np.ones(60, np.bool_)
WANTED = named([*NAMES, CLUSTERS])


@pytest.mark.parametrize("without", [(), (0,), (1,), (0, 1), (2, 1), (0, 1, 2)])
def test_a_fit_has_seen_no_row_of_the_folds_left_out(without: tuple[int, ...]) -> None:
    rows = FoldedRows(ROWS, FOLDS, EVERYTHING, parts_of(WANTED))
    out = np.unique(np.concatenate([FOLDS[k] for k in without])) if without else []
    kept = np.delete(ROWS, np.asarray(out, int), axis=0)
    assert rows.count(without) == len(kept)
    for one in rows.fit(WANTED, without):
        if one.name == CLUSTERS:
            continue  # k-means sees the same rows in another order
        expected = make_correction(one.name).fit(kept).transform(ROWS)
        np.testing.assert_allclose(one.apply(ROWS.astype(float)), expected, rtol=1e-4, atol=1e-4)


def test_rows_that_may_not_be_used_and_rows_without_a_vector() -> None:
    vectors = ROWS.copy()
    vectors[3] = np.nan
    usable = EVERYTHING.copy()
    usable[40:] = False
    rows = FoldedRows(vectors, [], usable, parts_of(WANTED))
    (center,) = rows.fit(named(["center"]))
    mean = np.delete(ROWS[:40], 3, axis=0).mean(axis=0)
    np.testing.assert_allclose(center.apply(np.ones((1, 6)))[0], 1 - mean, rtol=1e-5)


def test_others_are_fitted_on_in_every_fold() -> None:
    wanted = named(["center", CLUSTERS])
    behind = Background(moments_of(ROWS[30:], parts_of(wanted)), ROWS[30:], "float32")
    rows = FoldedRows(ROWS[:30], [np.arange(30)], EVERYTHING[:30], parts_of(wanted), behind)
    assert rows.count((0,)) == 30
    center, clusters = rows.fit(wanted, (0,))
    np.testing.assert_allclose(
        center.apply(np.ones((1, 6)))[0], 1 - ROWS[30:].mean(axis=0), rtol=1e-5
    )
    expected = make_correction(CLUSTERS).fit(ROWS[30:]).transform(ROWS)
    np.testing.assert_allclose(clusters.apply(ROWS.astype(float)), expected, atol=1e-4)


def test_nothing_left_to_fit_on() -> None:
    rows = FoldedRows(ROWS, [np.arange(60), np.arange(60)], EVERYTHING, parts_of(WANTED))
    with pytest.raises(DataError, match="none is left to fit on; .*--fit-on"):
        rows.fit(WANTED, (0,))
