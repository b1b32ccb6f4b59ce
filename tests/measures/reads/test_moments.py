from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.kernels.numpy_kernel import NumpyMoments
from isoscope.measures.reads.moments import MomentParts, Moments


def moments(x: np.ndarray, weights: np.ndarray | None = None) -> Moments:
    kernel = NumpyMoments(MomentParts(), double=False)
    kernel.add(x, weights)
    found = kernel.result()
    assert found is not None
    return found


def assert_equal(one: Moments, other: Moments, tolerance: float = 1e-12) -> None:
    left, right = one.to_arrays(), other.to_arrays()
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_allclose(right[name], left[name], rtol=tolerance, atol=tolerance)


@given(
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(1, 199), max_size=5, unique=True),
    offset=st.sampled_from([0.0, 100.0]),
)
def test_merging_parts_in_any_order_equals_the_whole(
    seed: int, cuts: list[int], offset: float
) -> None:
    cloud = shifted(seed, 200, 4, offset)
    parts = [moments(part) for part in np.split(cloud, sorted(cuts))]
    order = np.random.default_rng(seed).permutation(len(parts))
    total = Moments.empty(4)
    for k in order:
        total = total.merge(parts[k])
    # The offset's square is what sums around zero would lose: 1e4 roundings.
    assert_equal(moments(cloud), total, tolerance=1e-10)


def test_merging_is_associative() -> None:
    a, b, c = (moments(shifted(seed, 50, 3)) for seed in range(3))
    assert_equal(a.merge(b).merge(c), a.merge(b.merge(c)))


def test_taking_rows_away_undoes_a_merge() -> None:
    x = shifted(0, 300, 7)
    whole, part = moments(x), moments(x[:80])
    left, wanted = whole.without(part), moments(x[80:])
    assert (left.rows, left.zero_rows) == (220, 0)
    np.testing.assert_allclose(left.mean, wanted.mean, rtol=1e-12)
    np.testing.assert_allclose(left.scatter, wanted.scatter, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(left.norm_counts, wanted.norm_counts)
    assert left.norm_max >= wanted.norm_max


def test_an_empty_state_changes_nothing() -> None:
    found = moments(shifted(0, 50, 3))
    empty = Moments.empty(3)
    assert_equal(found, found.merge(empty), tolerance=0)
    assert_equal(found, empty.merge(found), tolerance=0)


def test_arrays_round_trip() -> None:
    found = moments(shifted(0, 50, 3))
    assert_equal(found, Moments.from_arrays(found.to_arrays()), tolerance=0)
    partial = Moments.empty(3, MomentParts(scatter=False, dimensions=False))
    assert Moments.from_arrays(partial.to_arrays()).scatter is None


def test_whole_weights_are_repetitions() -> None:
    cloud = shifted(1, 40, 3)
    cloud[7] = 0.0
    counts = np.random.default_rng(0).integers(0, 4, 40)
    weighted, repeated = moments(cloud, counts), moments(np.repeat(cloud, counts, axis=0))
    for name in ("weight", "unit_weight", "mean", "scatter", "unit_sum", "norm_sum"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-11)
    assert weighted.norm_square_sum == pytest.approx(repeated.norm_square_sum)


def test_the_scatter_of_a_far_cloud_keeps_its_digits() -> None:
    """Sums of squares around zero would lose all of them: (1e8)² against 1."""
    cloud = shifted(2, 1_000, 3, offset=0.0)
    kernel = NumpyMoments(MomentParts(), double=False)
    for part in np.split(cloud + 1e8, 10):
        kernel.add(part)
    found = kernel.result()
    assert found is not None
    np.testing.assert_allclose(found.covariance, np.cov(cloud.T, bias=True), atol=1e-7)


@pytest.mark.parametrize("scale", [1e-30, 1e25])
def test_lengths_that_float32_cannot_square(scale: float) -> None:
    cloud = (shifted(3, 100, 3) * scale).astype(np.float32)
    found = moments(cloud)
    double = moments(cloud.astype(np.float64))
    assert found.zero_rows == 0
    assert found.norm_sum == pytest.approx(double.norm_sum, rel=1e-6)
    np.testing.assert_allclose(found.unit_sum, double.unit_sum, rtol=1e-6)


def test_float16_sums_do_not_overflow() -> None:
    cloud = np.full((5_000, 2), 60_000, np.float16)
    found = moments(cloud)
    assert found.mean == pytest.approx([60_000, 60_000], rel=1e-3)
    assert np.isfinite(found.norm_square_sum)


def test_without_the_dear_parts() -> None:
    kernel = NumpyMoments(MomentParts(scatter=False, dimensions=False), double=False)
    cloud = shifted(4, 100, 5)
    kernel.add(cloud)
    found = kernel.result()
    assert found is not None
    assert found.scatter is None
    np.testing.assert_allclose(found.mean, cloud.mean(axis=0))
    with pytest.raises(ValueError, match="without the scatter"):
        _ = found.covariance
