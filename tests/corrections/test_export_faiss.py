"""Corrections inside an index of faiss."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoscope.corrections import (
    AllButTheTop,
    Center,
    Clip,
    ClusterRemoval,
    Correction,
    ScaledCenter,
    Standardize,
    Whiten,
)
from isoscope.errors import DataError, UsageError

# What SWIG writes makes Python 3.12 and later warn on import.
pytestmark = pytest.mark.filterwarnings("ignore:builtin type .*:DeprecationWarning")

WIDTH = 16
RANDOM = np.random.default_rng(8)
CLOUD = (RANDOM.standard_normal((500, WIDTH)) @ RANDOM.standard_normal((WIDTH, WIDTH)) + 4).astype(
    np.float32
)
QUERIES = CLOUD[:40] + RANDOM.standard_normal((40, WIDTH)).astype(np.float32)

AFFINE = [
    Center(),
    Center(renormalize=True),
    AllButTheTop(2),
    AllButTheTop(2, project="original", renormalize=True),
    Whiten(),
    Whiten(5, renormalize=True),
    Whiten(kind="zca"),
    Standardize(),
    Clip([0, 3]),
    Clip(renormalize=True),
]


@pytest.fixture
def faiss() -> Any:
    return pytest.importorskip("faiss", reason="faiss-cpu is not installed")


def rounding(correction: Any, vectors: np.ndarray) -> np.ndarray:
    """Bound the length of what single precision does to every corrected vector.

    A and b are rounded, and each of the d products and sums of x A + b is: d + 3 roundings at most
    of Σ |x_j| |A_jk| + |b_k|. Bringing to length 1 divides them, and adds d + 3 of its own.
    """
    wide = vectors.astype(np.float64)
    sizes = np.abs(wide) @ np.abs(correction.matrix_) + np.abs(correction.offset_)
    lengths = (WIDTH + 3) * 2.0**-24 * np.linalg.norm(sizes, axis=1)
    if not correction.renormalize:
        return lengths
    whole = np.linalg.norm(wide @ correction.matrix_ + correction.offset_, axis=1)
    return 2 * lengths / whole + (WIDTH + 3) * 2.0**-24


@pytest.mark.parametrize("correction", AFFINE, ids=repr)
def test_an_index_finds_what_one_over_corrected_vectors_finds(
    correction: Correction, faiss: Any, tmp_path: Path
) -> None:
    correction.fit(CLOUD)
    corrected = correction.transform(CLOUD.astype(np.float64))
    queries = correction.transform(QUERIES.astype(np.float64))
    exact = queries @ corrected.T
    index = correction.to_faiss(faiss.IndexFlatIP(corrected.shape[1]))
    index.add(CLOUD)
    path = str(tmp_path / "index.faiss")
    faiss.write_index(index, path)
    loaded = faiss.read_index(path)
    scores, rows = index.search(QUERIES, 10)
    # q · y is off by ‖δq‖ ‖y‖ + ‖q‖ ‖δy‖ at most, and by the roundings of the product itself.
    longest, longest_query = (np.linalg.norm(v, axis=1).max() for v in (corrected, queries))
    off = rounding(correction, QUERIES).max() * longest
    off += rounding(correction, CLOUD).max() * longest_query
    off += WIDTH * 2.0**-24 * longest * longest_query
    np.testing.assert_allclose(scores, np.take_along_axis(exact, rows, 1), rtol=0, atol=off)
    np.testing.assert_allclose(scores, -np.sort(-exact, axis=1)[:, :10], rtol=0, atol=off)
    assert off < 0.01 * exact.std()
    for fresh, before in zip(loaded.search(QUERIES, 10), (scores, rows), strict=True):
        np.testing.assert_array_equal(fresh, before)


@pytest.mark.parametrize("correction", AFFINE, ids=repr)
def test_transforms_one_after_the_other(correction: Correction, faiss: Any) -> None:
    correction.fit(CLOUD)
    transforms = correction.to_faiss()
    assert all(isinstance(transform, faiss.VectorTransform) for transform in transforms)
    vectors = CLOUD
    for transform in transforms:
        vectors = transform.apply(vectors)
    expected = correction.transform(CLOUD.astype(np.float64))
    off = np.linalg.norm(vectors - expected, axis=1)
    assert (off <= rounding(correction, CLOUD)).all()


@pytest.mark.parametrize("correction", AFFINE, ids=repr)
def test_matrix_and_offset_are_the_correction(correction: Any) -> None:
    vectors = CLOUD.astype(np.float64)
    correction.fit(vectors)
    product = vectors @ correction.matrix_ + correction.offset_
    if correction.renormalize:
        product /= np.linalg.norm(product, axis=1, keepdims=True)
    np.testing.assert_allclose(correction.transform(vectors), product, rtol=1e-9, atol=1e-11)


def test_zero_vectors_stay_zero(faiss: Any) -> None:
    del faiss
    vectors = np.zeros((2, WIDTH), np.float32)
    for transform in Clip([1], renormalize=True).fit(CLOUD).to_faiss():
        vectors = transform.apply(vectors)
    np.testing.assert_array_equal(vectors, 0)


def test_an_index_of_another_width(faiss: Any) -> None:
    with pytest.raises(DataError, match=r"takes vectors of 16 dimensions, and whiten makes 5"):
        Whiten(5).fit(CLOUD).to_faiss(faiss.IndexFlatIP(WIDTH))


@pytest.mark.parametrize("correction", [ScaledCenter(), ClusterRemoval(2, 1)], ids=repr)
def test_what_is_no_affine_map(correction: Correction) -> None:
    with pytest.raises(UsageError, match=rf"{correction.name} is not an affine map .*whiten"):
        correction.fit(CLOUD).to_faiss()


def test_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(UsageError, match=r'needs faiss; pip install "isoscope\[search\]"'):
        Center().fit(CLOUD).to_faiss()


def test_digits_that_single_precision_has_not(faiss: Any) -> None:
    del faiss
    stretched = np.random.default_rng(1).standard_normal((200, 4)) * [1e5, 1, 1, 1]
    with pytest.warns(UserWarning, match="double precision"):
        Whiten().fit(stretched).to_faiss()
