"""Vectors near the ends of what floating point holds: the same numbers, or one line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import isoscope
from isoscope.corrections import AllButTheTop, Center, Correction, Standardize, Whiten
from isoscope.errors import DataError

CLOUD = np.random.default_rng(0).standard_normal((300, 8)) + 0.5
INVARIANT = "mean_cosine,effective_rank,participation_ratio,i1_scaled"


@pytest.fixture(autouse=True)
def no_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(1e-130, "f8"), (1e-100, "f8"), (1e130, "f8"), (5e37, "f4"), (1e-35, "f4"), (1e-40, "f4")],
)
def test_measures_that_do_not_depend_on_scale(scale: float, dtype: str) -> None:
    scaled = isoscope.measure((CLOUD * scale).astype(dtype), INVARIANT)
    expected = isoscope.measure(CLOUD, INVARIANT)
    # Below 1e-38 float32 has fewer digits.
    tolerance = 1e-3 if scale == 1e-40 else 1e-5
    for row, other in zip(scaled, expected, strict=True):
        assert row.value == pytest.approx(other.value, rel=tolerance, abs=tolerance)
        assert (row.low is None) == (other.low is None)
        if row.low is not None:
            assert row.low == pytest.approx(other.low, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("scale", [1e-310, 1e-320, 1e-150])
def test_squares_that_underflow(scale: float) -> None:
    with pytest.raises(DataError, match="array: squared lengths underflow: .*multiply them by a"):
        isoscope.measure(CLOUD * scale)


def test_zero_vectors_are_still_vectors() -> None:
    assert isoscope.measure(np.zeros((5, 3)), "mean_norm", "none").value("mean_norm") == 0.0


@pytest.mark.parametrize("scale", [5e37, 1e-40])
@pytest.mark.parametrize("kind", [Center, Whiten, Standardize, AllButTheTop])
def test_corrections(kind: type[Correction], scale: float) -> None:
    vectors = (CLOUD * scale).astype(np.float32)
    corrected = kind().fit(vectors).transform(vectors)
    expected = kind().fit(CLOUD).transform(CLOUD)
    unit = scale if kind in (Center, AllButTheTop) else 1.0
    np.testing.assert_allclose(corrected / unit, expected, atol=1e-3)


def test_clusters() -> None:
    vectors = (CLOUD * 5e37).astype(np.float32)
    found = isoscope.measure(vectors, "local_i1:n_clusters=3:seeds=1", "none")
    assert found.rows[0].log10 is not None


def test_nested_tensors() -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, that they may change
        nested = torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(2, 4)])
    with pytest.raises(DataError, match="tensor is nested; pass one row per vector"):
        isoscope.measure(nested)
