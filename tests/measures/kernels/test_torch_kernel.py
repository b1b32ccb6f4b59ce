"""The torch kernel gives the numbers of the numpy kernel: 1e-12 in double, 1e-5 in single."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.measures.kernels.numpy_kernel import NumpyMoments
from isoscope.measures.reads.moments import MomentParts

torch = pytest.importorskip("torch")

from isoscope.measures.kernels.torch_kernel import TorchMoments  # noqa: E402

CORRECTIONS = [
    "none",
    "center",
    "all-but-the-top:n_components=2",
    "all-but-the-top:n_components=2:project=original",
    "whiten",
]
CLOUDS = {
    "ordinary": shifted(0, 3_000, 20),
    "far apart": shifted(1, 500, 8) * 300,
    "with zeros": np.concatenate((shifted(2, 100, 6), np.zeros((2, 6)))),
    "tiny": shifted(3, 100, 4) * 1e-25,
}


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_the_same_numbers(name: str, dtype: str, tolerance: float) -> None:
    cloud = CLOUDS[name].astype(dtype)
    one = isoscope.measure(cloud, corrections=CORRECTIONS)
    other = isoscope.measure(torch.from_numpy(cloud), corrections=CORRECTIONS)
    for left, right in zip(one.rows, other.rows, strict=True):
        assert (left.value is None) == (right.value is None), left.measure
        if left.value is not None:
            assert right.value == pytest.approx(left.value, rel=tolerance, abs=tolerance), left
        if left.log10 is not None:
            assert right.log10 == pytest.approx(left.log10, rel=tolerance, abs=tolerance), left
    if dtype == "float64":
        for mine, theirs in zip(one.tables, other.tables, strict=True):
            left, right = by_first_column(mine), by_first_column(theirs)
            assert left.keys() == right.keys()
            for key, row in left.items():
                for name, value in row.items():
                    # Whitened rounding, as in a cloud of rank 5 in 6 dimensions, may differ.
                    assert (value is None) == (right[key][name] is None)
                    if value is not None:
                        assert right[key][name] == pytest.approx(value, rel=1e-6, abs=1e-8)


def by_first_column(table: isoscope.Table) -> dict[object, dict[str, object]]:
    """Index rows by dimension, component or bin: equally prominent ones may swap places."""
    return {next(iter(row.values())): row for row in table.rows}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(dtype: torch.dtype) -> None:
    tensor = torch.from_numpy(shifted(4, 400, 8)).to(dtype)
    half = isoscope.measure(tensor)
    single = isoscope.measure(tensor.float().numpy())
    for measure in ("mean_cosine", "i1", "iso_score"):
        assert half.value(measure) == pytest.approx(single.value(measure), rel=1e-5)


def test_weights() -> None:
    cloud, weights = shifted(5, 60, 3), np.random.default_rng(0).random(60)
    numpy_kernel = NumpyMoments(MomentParts(), double=True)
    torch_kernel = TorchMoments(MomentParts(), double=True)
    for rows in (slice(0, 25), slice(25, 60)):
        numpy_kernel.add(cloud[rows], weights[rows])
        torch_kernel.add(torch.from_numpy(cloud[rows]), weights[rows])
    left, right = numpy_kernel.result(), torch_kernel.result()
    assert left is not None
    assert right is not None
    for name, array in left.to_arrays().items():
        np.testing.assert_allclose(right.to_arrays()[name], array, rtol=1e-12, atol=1e-12)


def test_a_tensor_that_needs_a_gradient() -> None:
    tensor = torch.from_numpy(shifted(6, 50, 3)).requires_grad_()
    assert isoscope.measure(tensor).value("mean_cosine") is not None
