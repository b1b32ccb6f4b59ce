"""Running moments of one cluster against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.corrections.clusters.moments import RunningMoments
from isoscope.measures.kernels.working_memory import WorkingMemory


@pytest.mark.parametrize("buffered", [1, 7, 64, 1_000])
def test_any_buffer_gives_the_same_moments(buffered: int) -> None:
    rows = np.random.default_rng(0).standard_normal((300, 5)) * [1, 2, 3, 4, 5] + 1e3
    running = RunningMoments(5, np.float64, buffered)
    for chosen in np.split(np.arange(300), [0, 1, 50, 51, 200]):
        running.add(rows, chosen, WorkingMemory())
    moments = running.result()
    assert moments.rows == 300
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(
        moments.covariance, np.cov(rows, rowvar=False, bias=True), rtol=1e-10, atol=1e-10
    )
    assert moments.norm_square_sum == pytest.approx((rows**2).sum())


def test_a_constant_has_no_variance() -> None:
    running = RunningMoments(3, np.float64, 20)
    running.add(np.full((49, 3), 0.1), np.arange(49), WorkingMemory())
    assert np.abs(running.result().covariance).max() <= 1e-33


@pytest.mark.parametrize("buffered", [8, 64])
def test_few_rows_are_summed_in_double(buffered: int) -> None:
    """Products of rows in single precision would be off by 1e-7, as those of a flushed buffer."""
    rows = np.random.default_rng(0).standard_normal((20, 50), dtype=np.float32) + 3
    running = RunningMoments(50, np.float32, buffered)
    running.add(rows, np.arange(20), WorkingMemory())
    moments = running.result()
    assert (moments.factor is None) == (buffered < 20)
    tolerance = 1e-13 if buffered > 20 else 1e-6
    wide = rows.astype(np.float64)
    expected = np.cov(wide, rowvar=False, bias=True)
    np.testing.assert_allclose(moments.covariance, expected, atol=tolerance)
    assert moments.norm_square_sum == pytest.approx((wide**2).sum(), rel=tolerance)
