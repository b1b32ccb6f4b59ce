"""Scaled centring against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted
from corrected_by_hand import scaled_center
from hypothesis import given
from hypothesis import strategies as st

from isoscope.corrections import ScaledCenter
from isoscope.errors import UsageError

CLOUD = shifted(0, 300, 8) * np.linspace(0.1, 3, 300)[:, None]
NEW = shifted(1, 20, 8)


def test_every_vector_loses_the_mean_direction_at_its_own_length() -> None:
    np.testing.assert_allclose(
        ScaledCenter().fit(CLOUD).transform(NEW), scaled_center(CLOUD, NEW), atol=1e-13
    )


def test_zero_vectors_do_not_count_and_stay_zero() -> None:
    holed = CLOUD.copy()
    holed[::7] = 0
    fitted = ScaledCenter().fit(holed)
    np.testing.assert_allclose(fitted.transform(holed), scaled_center(holed, holed), atol=1e-13)
    assert (fitted.transform(holed)[::7] == 0).all()
    nothing = ScaledCenter(renormalize=True).fit(np.zeros((3, 4)))
    assert (nothing.mean_direction_ == 0).all()
    assert (nothing.transform(np.zeros((1, 4))) == 0).all()


@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_the_inverse_gives_vectors_back(seed: int, length: float) -> None:
    fitted = ScaledCenter().fit(CLOUD)
    new = np.random.default_rng(seed).standard_normal((5, 8)) * length
    back = fitted.inverse_transform(fitted.transform(new))
    np.testing.assert_allclose(back, new, atol=1e-11 * length)


def test_one_direction_cannot_be_turned_back() -> None:
    fitted = ScaledCenter().fit(np.outer([1.0, 2.0, 3.0], [0.6, 0.8]))
    with pytest.raises(UsageError, match="same way"):
        fitted.inverse_transform(np.ones((1, 2)))
    with pytest.raises(UsageError, match="no inverse"):
        ScaledCenter(renormalize=True).fit(CLOUD).inverse_transform(CLOUD)


def test_lengths_beyond_the_squares_of_single_precision() -> None:
    for size in (1e-25, 1e25):
        rows = (CLOUD * size).astype(np.float32)
        corrected = ScaledCenter().fit(rows).transform(rows) / np.float32(size)
        np.testing.assert_allclose(corrected, scaled_center(CLOUD, CLOUD), atol=1e-5)
