from __future__ import annotations

import numpy as np
from clouds_for_tests import joined, shifted

import isoscope
from isoscope.data.sampling import draw
from isoscope.data.selection import WatchedCloud

VECTORS = shifted(0, 9_000, 4)


def test_the_sample_is_that_of_a_read_of_its_own() -> None:
    cloud = isoscope.open_cloud(VECTORS)
    watched = WatchedCloud(cloud, 100)
    assert len(watched.sample()) == 0
    for _ in range(2):  # the second read changes nothing
        np.testing.assert_array_equal(joined(watched), VECTORS)
        np.testing.assert_array_equal(watched.sample(), joined(draw(cloud, 100, 0)))


def test_rows_that_are_not_finite_are_left_out() -> None:
    vectors = VECTORS[:50].copy()
    vectors[7] = np.nan
    watched = WatchedCloud(isoscope.open_cloud(vectors), 100)
    joined(watched)
    np.testing.assert_array_equal(watched.sample(), np.delete(vectors, 7, axis=0))
