"""The read that corrections follow from: who reads, what is left out, what is forgotten."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import joined, shifted

import isoscope
from isoscope.compute.journal import Journal
from isoscope.compute.map_reduce import Run
from isoscope.compute.pool import Here
from isoscope.corrections.fit import (
    forgotten_if_refused,
    kept_rows,
    read_summary,
    read_with_sample,
)
from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import lowest_indices
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError
from isoscope.measures.reads.moments import MomentParts, Moments

ROWS = 4_096
"""Rows of a batch, and so of the smallest shard."""
VECTORS = shifted(0, 5 * ROWS + 100, 8).astype(np.float32)
PARTS = MomentParts()


def equal(one: Moments, other: Moments) -> bool:
    """Whether two sums are the same bit by bit."""
    first, second = one.to_arrays(), other.to_arrays()
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name]) for name in first
    )


@pytest.mark.parametrize("shard", [None, ROWS])
def test_sums_and_sample_do_not_depend_on_who_reads(shard: int | None) -> None:
    group = RowSelection(ArrayCloud(VECTORS))
    summary, sample = read_with_sample(group, PARTS, 500, plan=Run(1, shard_rows=shard))
    for workers, pool in ((2, None), (3, None), (None, Here())):
        plan = Run(workers, pool, shard_rows=shard)
        again, rows = read_with_sample(group, PARTS, 500, plan=plan)
        assert equal(summary.moments, again.moments)
        np.testing.assert_array_equal(sample, rows)
    np.testing.assert_array_equal(sample, VECTORS[lowest_indices(len(VECTORS), 500, 0)])
    assert equal(summary.moments, read_summary(group, PARTS, plan=Run(shard_rows=shard)).moments)


def test_rows_that_do_not_count_are_counted_over_all_shards() -> None:
    holed = VECTORS.copy()
    holed[[3, ROWS + 5, 5 * ROWS + 1], 2] = np.nan
    group = RowSelection(ArrayCloud(holed), drop_invalid=True)
    summary, sample = read_with_sample(group, PARTS, 10**6, plan=Run(2, shard_rows=ROWS))
    assert group.left_out == {"not finite": 3}
    assert summary.moments.rows == len(VECTORS) - 3
    np.testing.assert_array_equal(sample, holed[np.isfinite(holed).all(axis=1)])


def test_nothing_left() -> None:
    group = RowSelection(ArrayCloud(np.full((5, 3), np.nan)), drop_invalid=True)
    with pytest.raises(DataError, match="^array: all rows were excluded$"):
        read_summary(group, PARTS)


def test_weights_and_single_precision_are_not_planned() -> None:
    cloud = ArrayCloud(VECTORS)
    for options in ({"weights": np.ones(len(VECTORS))}, {"precision": "single"}):
        read_summary(cloud, PARTS, **options)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="are read by this process; give no plan"):
            read_summary(cloud, PARTS, plan=Run(), **options)  # type: ignore[arg-type]


def test_what_a_read_left_out_is_left_out_of_the_next(tmp_path: Path) -> None:
    for k in range(3):
        part = VECTORS[k * 100 : k * 100 + 100].copy()
        if k == 1:
            part[7] = np.nan
        np.save(tmp_path / f"part-{k}.npy", part)
    group = RowSelection(isoscope.open_cloud(str(tmp_path / "part-*.npy")))
    assert kept_rows(group, Run()) is group
    plan = Run(on_error="skip")
    assert read_summary(group, PARTS, plan=plan).moments.rows == 200
    rest = kept_rows(group, plan)
    # ``joined`` checks that rows are numbered without gaps.
    np.testing.assert_array_equal(joined(rest), np.r_[VECTORS[:100], VECTORS[200:300]])


@pytest.mark.parametrize("error", [UsageError("no such dimension"), DataError("cut off")])
def test_only_a_wrong_call_is_forgotten(tmp_path: Path, error: Exception) -> None:
    with Journal.open(tmp_path / "journal", {}) as journal:
        journal.save("fit 0-0", {"x": np.ones(1)})
        journal.save("fit 0-1", {"x": np.ones(1)})
        with pytest.raises(type(error)), forgotten_if_refused(Run(journal=journal)):
            raise error
        assert bool(journal.steps) == isinstance(error, DataError)
    for plan in (None, Run()):
        with pytest.raises(type(error)), forgotten_if_refused(plan):
            raise error
