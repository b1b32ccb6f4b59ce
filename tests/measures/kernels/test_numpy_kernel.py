from __future__ import annotations

import numpy as np
import pytest

from isoscope.measures.kernels import numpy_kernel as series


@pytest.mark.parametrize("largest", [0.0, 0.1, 1.0, series.LARGEST_EXPONENT])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_exponentials_from_sums_of_powers(largest: float, dtype: type) -> None:
    unit = np.random.default_rng(0).uniform(-1, 1, (500, 6)).astype(dtype)
    exponents = np.linspace(0, largest, 6)
    totals = np.zeros((series.series_order(largest, dtype) + 1, 6))
    series.sum_powers(totals, unit, np.empty_like(unit))
    found = series.log_sums(totals, exponents)
    wide = unit.astype(np.float64)
    for row, sign in enumerate((1, -1)):
        expected = np.log(np.exp(sign * exponents * wide).sum(axis=0))
        # Rounding of the powers, made larger by e^(2a) where the series alternates.
        tolerance = 20 * np.finfo(dtype).eps * np.exp(2 * largest)
        np.testing.assert_allclose(found[row], expected, atol=tolerance)


def test_it_is_used_only_where_it_saves_time() -> None:
    assert series.worthwhile([0.5, 0.6, 0.7], np.float32)[1] == [0, 1, 2]
    assert series.worthwhile([50.0, 0.6, 0.7], np.float32)[1] == [1, 2]
    assert series.worthwhile([50.0, 60.0], np.float32)[1] == []
    assert series.worthwhile([2.9], np.float64)[1] == []
    assert series.worthwhile([], np.float32)[1] == []
