"""Sums of small batches around a point near the mean: those of the definitions."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.data.blocks import BLOCKS, Dealt
from isoscope.measures.kernels.numpy_kernel import NumpyMoments
from isoscope.measures.kernels.working_memory import WorkingMemory
from isoscope.measures.reads.moments import MomentParts, Moments

pytest.importorskip("torch")
from isoscope.measures.kernels.text_moments import TextMoments

RANDOM = np.random.default_rng(8)
SPREAD = np.geomspace(1, 1e-4, 12)
CLOUDS = {
    "random": RANDOM.standard_normal((500, 12)),
    "shifted": RANDOM.standard_normal((500, 12)) * SPREAD + 50,
    "of low rank": RANDOM.standard_normal((500, 3)) @ RANDOM.standard_normal((3, 12)),
    "short": RANDOM.standard_normal((500, 12)) * 1e-20,
    "long": RANDOM.standard_normal((500, 12)) * 1e25,
}


def sums(kernel: TextMoments | NumpyMoments, x: np.ndarray, dealt: Dealt | None) -> Moments:
    for start in range(0, len(x), 100):
        rows = slice(start, start + 100)
        kernel.add(x[rows], dealt=None if dealt is None else dealt.part(rows))
    found = kernel.result()
    assert found is not None
    return found


def by_text(x: np.ndarray, dealt: Dealt | None = None, **parts: bool) -> Moments:
    memory = WorkingMemory()
    return sums(TextMoments(MomentParts(**parts), lambda: memory, double=False), x, dealt)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CLOUDS)
def test_mean_and_scatter_are_those_of_the_definition(name: str, dtype: str) -> None:
    x = CLOUDS[name].astype(dtype)
    found, wide = by_text(x), x.astype(np.longdouble)
    centred = wide - wide.mean(axis=0)
    scale = float(np.abs(wide).max())
    np.testing.assert_allclose(found.mean, wide.mean(axis=0).astype(float), atol=1e-15 * scale)
    roots = np.sqrt((centred**2).sum(axis=0))
    expected = (centred.T @ centred) / np.outer(roots, roots)
    assert found.scatter is not None
    np.testing.assert_allclose(
        (found.scatter / np.outer(roots, roots)).astype(float), expected.astype(float), atol=2e-12
    )
    assert (found.scatter == found.scatter.T).all()


@pytest.mark.parametrize("name", CLOUDS)
def test_variances_alone_are_those_of_the_definition(name: str) -> None:
    x = CLOUDS[name].astype(np.float32)
    found, wide = by_text(x, scatter=False, variances=True), x.astype(np.longdouble)
    expected = ((wide - wide.mean(axis=0)) ** 2).sum(axis=0).astype(float)
    assert found.scatter is None
    assert found.square_sum is not None
    np.testing.assert_allclose(found.square_sum, expected, rtol=1e-11)


@pytest.mark.parametrize("deals", [True, False])
@pytest.mark.parametrize("name", CLOUDS)
def test_all_other_sums_are_those_of_the_kernel_for_any_cloud(name: str, deals: bool) -> None:
    x = CLOUDS[name].astype(np.float32)
    x[7] = x[333] = 0
    dealt = Dealt(np.repeat(RANDOM.integers(0, 99, 100), 5)) if deals else None
    found = by_text(x, dealt).to_arrays()
    other = sums(NumpyMoments(MomentParts(), double=True), x, dealt).to_arrays()
    assert found.keys() == other.keys()
    for key, expected in other.items():
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found[key], expected, rtol=1e-5, atol=1e-6 * scale, err_msg=key)
    if deals:
        assert found["blocks.vector_sum"].shape == (BLOCKS, 12)
        np.testing.assert_allclose(found["blocks.unit_sum"].sum(axis=0), found["unit_sum"])


def test_a_constant_dimension_has_no_variance() -> None:
    x = CLOUDS["random"].astype(np.float32)
    x[:, 3], x[:, 4] = 0.1, 1e4 / 3
    found = by_text(x)
    assert found.scatter is not None
    assert (found.scatter[3:5] == 0).all()
    assert found.mean[3] == np.float32(0.1)


def test_what_is_not_wanted_is_not_summed() -> None:
    found = by_text(CLOUDS["random"], scatter=False, dimensions=False)
    assert found.scatter is found.unit_square_sum is found.minimum_counts is found.blocks is None
    np.testing.assert_allclose(found.mean, CLOUDS["random"].mean(axis=0), atol=1e-15)
    memory = WorkingMemory()
    kernel = TextMoments(MomentParts(), lambda: memory, double=False)
    assert kernel.result() is None
    with pytest.raises(ValueError, match="no weights"):
        kernel.add(CLOUDS["random"], np.ones(500))
