"""Fewer rows than dimensions: a factor of the scatter in the place of d × d matrices."""

from __future__ import annotations

import numpy as np
import pytest

import isoscope
from isoscope.compute.map_reduce import CHUNK
from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import rows_per_batch
from isoscope.errors import UsageError
from isoscope.measures.reads import request
from isoscope.measures.reads.geometry import geometry_of
from isoscope.measures.reads.moments import MomentParts, Moments
from isoscope.measures.reads.passes import first_read

RANDOM = np.random.default_rng(3)
CLOUD = RANDOM.standard_normal((60, 200)) * RANDOM.random(200) + RANDOM.standard_normal(200)
SOURCES = ["array", "single", "tensor"]


def source(kind: str) -> object:
    if kind == "tensor":
        return pytest.importorskip("torch").from_numpy(CLOUD)
    return CLOUD.astype(np.float32) if kind == "single" else CLOUD


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize(
    "corrections",
    [
        "none",
        "none,center,all-but-the-top,whiten",
        "all-but-the-top:n_components=90:project=original",
    ],
)
def test_the_numbers_are_those_of_the_whole_matrix(
    monkeypatch: pytest.MonkeyPatch, kind: str, corrections: str
) -> None:
    dense = isoscope.measure(source(kind), corrections=corrections)
    monkeypatch.setattr(request, "WIDE", 100)
    thin = isoscope.measure(source(kind), corrections=corrections)
    tolerance = 1e-5 if kind == "single" else 1e-9
    for one, other in zip(thin, dense, strict=True):
        for name in ("value", "log10", "low", "high"):
            expected = getattr(other, name)
            if expected is not None:
                expected = pytest.approx(expected, rel=tolerance, abs=tolerance)
            assert getattr(one, name) == expected, (one.measure, one.correction, name)
        assert one.note == other.note or "random bases" in one.note
    assert len(thin.tables) == len(dense.tables)


def moments_of(rows: np.ndarray, *, factored: bool) -> Moments:
    parts = MomentParts(factored=factored)
    return first_read(ArrayCloud(rows, "x"), parts, double=True)["x"].moments


def test_factors_merge_as_scatters_do() -> None:
    pieces = np.split(CLOUD, [10, 11, 40])[::2]  # a part has at least two rows
    thin = [moments_of(piece, factored=True) for piece in pieces]
    dense = [moments_of(piece, factored=False) for piece in pieces]
    merged, expected = thin[0].merge(thin[1]), dense[0].merge(dense[1])
    assert merged.scatter is None
    assert merged.factor is not None
    np.testing.assert_allclose(merged.covariance, expected.covariance, atol=1e-12)
    np.testing.assert_allclose(merged.variances, expected.variances, atol=1e-12)
    np.testing.assert_allclose(merged.mean, expected.mean, atol=1e-12)
    empty = Moments.empty(200, MomentParts(scatter=False))
    assert empty.merge(thin[0]).factor is thin[0].factor
    assert thin[0].merge(empty).factor is thin[0].factor


def test_factors_are_stored_beside_the_other_sums() -> None:
    found = moments_of(CLOUD, factored=True)
    again = Moments.from_arrays(found.to_arrays())
    assert again.scatter is None
    np.testing.assert_array_equal(again.factor, found.factor)


def test_constants_have_no_variance() -> None:
    rows = np.full((30, 90), 0.1)
    rows[:, 0] = np.arange(30)
    found = moments_of(rows, factored=True).variances
    assert found is not None
    assert found[1:].max() < 1e-33


def test_eigenvectors_that_are_not_there() -> None:
    geometry = geometry_of(moments_of(CLOUD, factored=True), "float64")
    whole = geometry_of(moments_of(CLOUD, factored=False), "float64")
    assert geometry.centred.vectors.shape[1] < 200
    np.testing.assert_allclose(geometry.centred.values, whole.centred.values, atol=1e-12)
    np.testing.assert_allclose(
        np.abs(geometry.centred.vectors[:, :59]), np.abs(whole.centred.vectors[:, :59]), atol=1e-8
    )
    assert geometry.centred.coordinates(CLOUD).shape == CLOUD.shape


def test_the_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "WIDE", 100)
    rows = 3 * CHUNK * rows_per_batch(4_096) // 4
    cloud = np.random.default_rng(0).standard_normal((rows, 4_096)).astype(np.float32)
    found = [
        isoscope.measure(cloud, "effective_rank", "none", workers=workers).value("effective_rank")
        for workers in (1, 3)
    ]
    assert found[0] == found[1]


def test_twenty_thousand_dimensions_take_no_large_matrix() -> None:
    cloud = np.random.default_rng(0).standard_normal((6, 20_000)).astype(np.float32)
    with isoscope.compute.memory.limited("100MB"):
        result = isoscope.measure(cloud)
    assert result.value("effective_rank") == pytest.approx(5, abs=0.1)
    with (
        isoscope.compute.memory.limited("1MB"),
        pytest.raises(UsageError, match="about 200.0 MB for matrices of 125 × 20,000"),
    ):
        isoscope.measure(np.zeros((125, 20_000)))
