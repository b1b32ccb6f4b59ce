"""Fits with products in single precision: the same up to its rounding, at any scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted
from hypothesis import given
from hypothesis import strategies as st

import isoscope
from isoscope.corrections import AllButTheTop, Center, Clip, Correction, Whiten, fit_together
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.fit import read_summary
from isoscope.errors import UsageError
from isoscope.measures.reads.moments import MomentParts, Moments

CLOUD = shifted(0, 9_000, 12, offset=3).astype(np.float32)


def moments_of(cloud: np.ndarray, precision: Any, weights: np.ndarray | None = None) -> Moments:
    group = isoscope.open_cloud(cloud)
    return read_summary(group, MomentParts(), weights=weights, precision=precision).moments


@given(st.integers(-25, 25), st.booleans())
def test_the_sums_are_those_of_double_precision(power: int, weighted: bool) -> None:
    """Within a few roundings of single precision; squares beyond its range are no exception."""
    cloud = (CLOUD * np.float32(10) ** power).astype(np.float32)
    weights = np.random.default_rng(0).random(len(cloud)) if weighted else None
    single, double = (moments_of(cloud, name, weights) for name in ("single", "double"))
    scale = np.abs(double.covariance).max()
    assert np.abs(single.covariance - double.covariance).max() < 4e-7 * scale
    assert np.abs(single.mean - double.mean).max() < 1e-7 * scale**0.5
    assert single.weight == double.weight
    # The sums of batches are the same, and merged in another order.
    np.testing.assert_allclose(single.unit_sum, double.unit_sum, rtol=1e-14)
    np.testing.assert_array_equal(single.norm_counts, double.norm_counts)


def test_a_large_offset_costs_no_digits() -> None:
    """A batch is centred on its mean in float32, and what that lacks is a fifth of the spread."""
    far = (CLOUD / 1_000 + np.float32(5_000)).astype(np.float32)
    single, double = moments_of(far, "single"), moments_of(far, "double")
    scale = np.abs(double.covariance).max()
    assert np.abs(single.covariance - double.covariance).max() < 1e-6 * scale
    assert np.abs(single.mean - double.mean).max() < 1e-6 * scale**0.5


def test_corrections_are_those_of_double_precision() -> None:
    kinds = (Whiten, AllButTheTop, Center, Clip)
    single = fit_together([kind() for kind in kinds], CLOUD, precision="single")
    double = fit_together([kind() for kind in kinds], CLOUD)
    for one, other in zip(single, double, strict=True):
        np.testing.assert_allclose(one.transform(CLOUD), other.transform(CLOUD), atol=2e-4)


def fitted(cloud: np.ndarray) -> Whiten:
    (whiten,) = fit_together([Whiten()], cloud, precision="single")
    assert isinstance(whiten, Whiten)
    return whiten


def test_rounding_of_products_is_not_whitened() -> None:
    """In single precision an empty direction has a variance of about 1e-8, not of 1e-16."""
    flat = (shifted(1, 5_000, 4) @ shifted(2, 4, 9)).astype(np.float32)
    whiten = fitted(flat)
    assert list(whiten.dropped_) == [4, 5, 6, 7, 8]
    again = Whiten.from_state(whiten.get_params(), whiten.state_arrays())
    for later in (again.partial_fit(flat), whiten.merge(Whiten().fit(flat))):
        assert later.precision_ == "single"
        assert list(later.dropped_) == [4, 5, 6, 7, 8]


def test_double_precision_is_summed_in_double() -> None:
    wide: list[Correction] = fit_together([Whiten()], CLOUD.astype(float), precision="single")
    assert isinstance(wide[0], ClosedForm)
    assert wide[0].precision_ == "double"
    torch = pytest.importorskip("torch")
    (tensor,) = fit_together([Whiten()], torch.from_numpy(CLOUD), precision="single")
    assert isinstance(tensor, ClosedForm)
    assert tensor.precision_ == "double"
    with pytest.raises(UsageError, match="double or single"):
        fit_together([Center()], CLOUD, precision="half")  # type: ignore[arg-type]
