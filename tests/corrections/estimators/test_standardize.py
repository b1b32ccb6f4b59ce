"""Standardising against numpy, with dead dimensions."""

from __future__ import annotations

import numpy as np
from clouds_for_tests import shifted

from isoscope.corrections import Center, Standardize

CLOUD = shifted(0, 300, 6) * [1, 10, 0.01, 3, 5, 7]


def test_mean_0_and_variance_1() -> None:
    fitted = Standardize().fit(CLOUD)
    expected = (CLOUD - CLOUD.mean(axis=0)) / CLOUD.std(axis=0)
    np.testing.assert_allclose(fitted.transform(CLOUD), expected, atol=1e-12)
    np.testing.assert_allclose(fitted.scale_, CLOUD.std(axis=0))
    assert fitted.dropped_.size == 0
    np.testing.assert_allclose(fitted.inverse_transform(expected), CLOUD, atol=1e-12)


def test_dead_dimensions_become_zero_and_come_back_as_their_mean() -> None:
    rows = CLOUD.astype(np.float32)
    rows[:, 1] = 0.3
    rows[::2, 4] = 2.0
    rows[1::2, 4] = np.nextafter(np.float32(2.0), np.float32(3))
    fitted = Standardize().fit(rows)
    assert list(fitted.dropped_) == [1, 4]
    standard = fitted.transform(rows)
    assert (standard[:, [1, 4]] == 0).all()
    np.testing.assert_allclose(standard[:, [0, 2, 3, 5]].std(axis=0), 1, atol=1e-5)
    np.testing.assert_allclose(fitted.inverse_transform(standard), rows, rtol=1e-5, atol=1e-5)


def test_weights_are_repeated_rows() -> None:
    counts = np.random.default_rng(0).integers(0, 4, len(CLOUD))
    for kind in (Standardize, Center):
        repeated = kind().fit(np.repeat(CLOUD, counts, axis=0))
        weighted = kind().fit(CLOUD, sample_weight=counts)
        np.testing.assert_allclose(weighted.transform(CLOUD), repeated.transform(CLOUD), atol=1e-11)


def test_centring_keeps_the_digits_of_a_large_offset() -> None:
    """A mean of 1000 is not a float32, and its rounding would be the mean of the result."""
    random = np.random.default_rng(0)
    rows = (1000 + 1e-2 * random.standard_normal((4_000, 5))).astype(np.float32)
    corrected = Center().fit(rows).transform(rows).astype(np.float64)
    exact = rows.astype(np.float64) - rows.astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(corrected, exact, atol=1e-8)
