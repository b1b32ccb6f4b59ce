"""What must not change a number, and what must: driven by hypothesis.

Tolerances: sums in float64 move by some 1e-15 with their order and eigenvectors by that over the
eigengap, at least 1e-2 here; 1e-9 leaves room for both. Float32 projections move by 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import cross_polytope, shifted
from hypothesis import given
from hypothesis import strategies as st

import isoscope
from isoscope.measures.views import DEFAULT_CORRECTIONS

OFFSETS = st.sampled_from([0.0, 0.3, 3.0])


def numbers(result: isoscope.Result) -> dict[tuple[str, str], float]:
    return {
        (row.measure, row.correction): row.log10 if row.log10 is not None else row.value
        for row in result.rows
        if row.value is not None
    }


def assert_same(one: isoscope.Result, other: isoscope.Result, tolerance: float) -> None:
    left, right = numbers(one), numbers(other)
    assert left.keys() == right.keys()
    for key, value in left.items():
        assert right[key] == pytest.approx(value, rel=tolerance, abs=tolerance), key


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), offset=OFFSETS, dtype=st.sampled_from(["float32", "float64"]))
def test_row_order_threads_and_batch_size(seed: int, offset: float, dtype: str) -> None:
    cloud = shifted(seed, 600, 6, offset).astype(dtype)
    shuffled = np.random.default_rng(seed).permutation(cloud)
    tolerance = 1e-9 if dtype == "float64" else 2e-6
    reference = isoscope.measure(cloud, workers=1)
    assert_same(reference, isoscope.measure(shuffled, workers=1), tolerance)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("data.arrays", "data.base", "compute.map_reduce"):
            patch.setattr(f"isoscope.{module}.rows_per_batch", lambda _: 37)
        for workers in (1, 2, 3):
            assert_same(reference, isoscope.measure(cloud, workers=workers), tolerance)


@given(seed=st.integers(0, 2**32))
def test_a_cloud_that_was_centred_stored_in_single_and_read_again(seed: int) -> None:
    """Without a rule for signs its I1 would be the sign of rounding noise."""
    cloud = shifted(seed, 500, 5)
    centred = (cloud - cloud.mean(axis=0)).astype(np.float32)
    shuffled = np.random.default_rng(seed).permutation(centred)
    result = isoscope.measure(centred)
    assert_same(result, isoscope.measure(shuffled), 2e-6)
    assert result.value("i1") == pytest.approx(result.value("i1", "center"), rel=1e-5)
    assert result.value("mean_alignment") is None


@given(seed=st.integers(0, 2**32), offset=OFFSETS)
def test_rotation_changes_nothing_but_the_dimensions(seed: int, offset: float) -> None:
    cloud = shifted(seed, 300, 6, offset)
    random = np.random.default_rng(seed)
    rotation = np.linalg.qr(random.standard_normal((6, 6)))[0]
    assert_same(isoscope.measure(cloud), isoscope.measure(cloud @ rotation), 1e-9)


@given(seed=st.integers(0, 2**32), factor=st.sampled_from([1e-3, 0.5, 2.0, 1e3]))
def test_scaling_changes_what_depends_on_length_and_nothing_else(seed: int, factor: float) -> None:
    cloud = shifted(seed, 300, 5)
    once, scaled = isoscope.measure(cloud), isoscope.measure(cloud * factor)
    dependent = {item.name for item in isoscope.all_measures() if item.length_dependent}
    left, right = numbers(once), numbers(scaled)
    for (measure, correction), value in left.items():
        after = right[measure, correction]
        if measure not in dependent or correction == "whiten":
            assert after == pytest.approx(value, rel=1e-8, abs=1e-9), (measure, correction)
        elif measure in ("mean_norm", "norm_of_mean"):
            assert after == pytest.approx(value * factor, rel=1e-9)
        elif value != 0:
            assert after != pytest.approx(value, rel=1e-3), (measure, correction)


@given(width=st.integers(3, 6), seed=st.integers(0, 1_000))
def test_repeated_eigenvalues_get_a_note_a_range_and_a_settled_value(width: int, seed: int) -> None:
    cloud = np.random.default_rng(seed).permutation(cross_polytope(width) * 3.0)
    row = isoscope.measure(cloud, ["i1"]).row("i1")
    assert row.value == pytest.approx(1.0, abs=1e-12)
    assert f"{width} directions have repeated eigenvalues" in row.note
    assert 0 < row.extra["basis_low"] <= row.extra["basis_high"] <= 1.0
    assert row.extra["basis_low"] < 0.999
    whitened = isoscope.measure(cloud, ["i1"], ["whiten"]).row("i1", "whiten")
    assert whitened.value == pytest.approx(1.0, abs=1e-12)


def test_a_degenerate_cloud_does_not_depend_on_batches_or_threads() -> None:
    """Sums around batch means differ in rounding, and LAPACK's eigenvectors would with them."""
    random = np.random.default_rng(0)
    cloud = np.concatenate([cross_polytope(5), 2 * cross_polytope(5)] * 7) + 0.0
    reference = isoscope.measure(cloud)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("isoscope.compute.map_reduce.rows_per_batch", lambda _: 1)
        for step in (1, 3, 11, 64):
            patch.setattr("isoscope.data.arrays.rows_per_batch", lambda _, step=step: step)
            for workers in (1, 2, 3):
                again = isoscope.measure(random.permutation(cloud), workers=workers)
                assert_same(reference, again, 1e-9)
                assert "5 directions have repeated eigenvalues" in again.row("i1").note


def test_the_same_call_gives_the_same_bits() -> None:
    cloud = shifted(0, 9_000, 400).astype(np.float32)
    assert isoscope.measure(cloud).to_json() == isoscope.measure(cloud).to_json()


def test_every_correction_is_measured_by_default() -> None:
    result = isoscope.measure(shifted(0, 50, 4))
    assert tuple(dict.fromkeys(row.correction for row in result.rows)) == DEFAULT_CORRECTIONS
