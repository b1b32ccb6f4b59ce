"""Two clouds read in step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from isoscope.data.arrays import ArrayCloud
from isoscope.data.open import open_cloud
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError
from isoscope.verbs.diff.two_clouds import InStep


def test_batches_hold_the_same_rows_whatever_the_widths() -> None:
    rows = 9_000
    a = np.arange(rows, dtype=np.float64)[:, None] * np.ones(3)
    b = np.arange(rows, dtype=np.float64)[:, None] * np.ones(900)
    words = np.array([f"w{k}" for k in range(rows)])
    group = InStep(ArrayCloud(a, "a", labels={"word": words}), ArrayCloud(b, "b"))
    assert (group.rows, group.widths) == (rows, (3, 900))
    seen = 0
    for batches in group.batches():
        first, second = batches["A"], batches["B"]
        assert first.first_row == second.first_row == seen
        np.testing.assert_array_equal(first.vectors[:, 0], second.vectors[:, 0])
        assert first.labels["word"][0] == f"w{seen}"
        seen += len(first.vectors)
    assert seen == rows


def test_a_null_row_goes_out_of_both_and_is_counted_as_one(tmp_path: Path) -> None:
    """Row groups of different sizes: a batch of one file is cut where one of the other ends."""
    clouds = []
    for name, hole, size in (("a", 4, 3), ("b", 7, 5)):
        rows = [None if k == hole else [float(k), 1.0] for k in range(9)]
        table = pyarrow.table({"v": pyarrow.array(rows, pyarrow.list_(pyarrow.float32()))})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=size)
        clouds.append(open_cloud(tmp_path / f"{name}.parquet"))
    group = InStep(*clouds)
    with pytest.raises(DataError, match=r"A, .*a.parquet:v: row 4 has no vector \(null\)"):
        list(RowSelection(group).batches())
    selection = RowSelection(group, drop_invalid=True)
    kept = np.concatenate([batches["B"].vectors[:, 0] for batches in selection.batches()])
    assert kept.tolist() == [0, 1, 2, 3, 5, 6, 8]
    assert selection.left_out == {"null": 2}


def test_a_row_that_is_not_finite_goes_out_of_both() -> None:
    a, b = np.ones((5, 2)), np.ones((5, 3))
    b[2, 1] = np.nan
    b[3] = 7
    group = InStep(ArrayCloud(a, "a"), ArrayCloud(b, "b"))
    with pytest.raises(DataError, match="B, b: row 2 holds NaN"):
        list(RowSelection(group).batches())
    (batches,) = RowSelection(group, drop_invalid=True).batches()
    assert len(batches["A"].vectors) == 4
    assert batches["B"].vectors[2, 0] == 7


def test_unequal_numbers_of_rows_are_refused_at_the_end() -> None:
    group = InStep(ArrayCloud(np.ones((5, 2)), "a"), ArrayCloud(np.ones((9, 2)), "b"))
    with pytest.raises(UsageError, match="a has 5 rows and b 9.*--other-rows"):
        list(group.batches())
