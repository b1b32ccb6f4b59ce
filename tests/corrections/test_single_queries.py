"""A single vector is corrected without the checks and threads of many, and to the same numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from clouds_for_tests import shifted
from threadpoolctl import threadpool_limits

from isoscope.compute import threads
from isoscope.corrections import Center, Whiten, make_correction
from isoscope.corrections import base as base_module
from isoscope.errors import DataError

CLOUD = shifted(0, 400, 24, offset=2)
NAMES = [
    "center", "whiten", "whiten:renormalize=true", "all-but-the-top", "standardize", "clip",
    "center-scaled", "cluster-pc-removal:n_clusters=3:n_components=2",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_a_query_gets_the_numbers_of_a_batch(name: str, dtype: str) -> None:
    cloud = CLOUD.astype(dtype)
    fitted = make_correction(name).fit(cloud)
    batch = fitted.transform(cloud[:40])
    before = cloud[5:6].copy()
    one = fitted.transform(cloud[5:6])
    assert one.dtype == cloud.dtype
    tolerance = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-11}[dtype]
    np.testing.assert_allclose(one[0], batch[5], rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(cloud[5:6], before)
    assert not np.shares_memory(one, cloud)


def test_no_check_of_scikit_learn_and_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Whiten().fit(CLOUD)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(base_module, "validate_data", refused)
    monkeypatch.setattr(base_module, "check_is_fitted", refused)
    monkeypatch.setattr(threads, "Lane", refused)
    fitted.transform(CLOUD[:1])
    with pytest.raises(AssertionError):
        fitted.transform(np.asfortranarray(CLOUD[:1]).astype(int))


def test_the_digits_do_not_depend_on_threads_of_blas() -> None:
    cloud = shifted(1, 900, 512).astype(np.float32)
    fitted = Whiten().fit(cloud)
    with threadpool_limits(1):
        alone = fitted.transform(cloud[:1])
    np.testing.assert_array_equal(fitted.transform(cloud[:1]), alone)


def test_what_is_wrong_is_still_said() -> None:
    fitted = Center().fit(CLOUD)
    bad = CLOUD[:1].copy()
    bad[0, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fitted.transform(bad)
    with pytest.raises(DataError, match="23 features"):
        fitted.transform(CLOUD[:1, :23])
    with pytest.raises(ValueError, match="minimum of 1"):
        fitted.transform(CLOUD[:0])
    with pytest.raises(ValueError, match="2D array"):
        fitted.transform(CLOUD[0])


def test_names_of_dimensions_are_still_looked_at() -> None:
    pandas = pytest.importorskip("pandas")
    fitted = Center().fit(pandas.DataFrame(CLOUD, columns=[f"c{k}" for k in range(24)]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.transform(CLOUD[:1])
    assert any("feature names" in str(one.message) for one in caught)


def test_a_zero_vector_stays_one() -> None:
    fitted = Whiten().fit(CLOUD)
    assert not fitted.transform(np.zeros((1, 24))).any()
    rows = np.zeros((1, 24))
    rows[0, 5] = 1.0
    assert fitted.transform(rows).any()


@pytest.mark.parametrize("size", [1e25, 1e-30])
def test_squares_beyond_single_precision_are_no_fault_of_a_query(size: float) -> None:
    """The check for NaN sums squares, which overflow long before the numbers themselves do."""
    rows = (np.random.default_rng(3).normal(size=(40, 5)) * size).astype(np.float32)
    fitted = make_correction("center").fit(rows)
    one, many = fitted.transform(rows[:1]), fitted.transform(rows)
    assert np.isfinite(one).all()
    assert np.array_equal(one, many[:1])
