"""Rows by number, out of a cloud that somebody else reads."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.data.arrays import BatchesCloud
from isoscope.data.selection import PickedRows


def read(cloud: PickedRows) -> int:
    return sum(len(batch.vectors) for batches in cloud.batches() for batch in batches.values())


@pytest.mark.parametrize("size", [1, 4, 30])
def test_rows_in_their_order_wherever_batches_end(size: int) -> None:
    rows = shifted(0, 30, 3)
    pieces = [rows[k : k + size] for k in range(0, 30, size)]
    wanted = np.array([0, 3, 4, 29])
    picked = PickedRows(BatchesCloud(lambda: iter(pieces)), wanted)
    assert read(picked) == read(picked) == 30  # a second read picks nothing again
    assert (picked.found() == rows[wanted]).all()


def test_rows_that_are_not_finite_or_not_there() -> None:
    rows = shifted(0, 10, 3)
    rows[4, 1] = np.inf
    picked = PickedRows(isoscope.open_cloud(rows), np.array([2, 4]))
    read(picked)
    assert np.isnan(picked.found()[1]).all()
    assert (picked.found()[0] == rows[2]).all()
    beyond = PickedRows(isoscope.open_cloud(rows), np.array([2, 10]))
    read(beyond)
    with pytest.raises(isoscope.DataError, match="has 10 rows, from 0; there is no row 10"):
        beyond.found()


def test_nothing_wanted() -> None:
    picked = PickedRows(isoscope.open_cloud(shifted(0, 10, 3)), np.empty(0, np.int64))
    read(picked)
    assert picked.found().shape == (0, 3)
