from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from clouds_for_tests import joined, shifted

import isoscope
from isoscope.errors import DataError, UsageError

CLOUD = shifted(0, 500, 6)


def batches() -> Iterator[np.ndarray]:
    yield CLOUD[:1]
    yield CLOUD[1:1]
    yield CLOUD[1:333]
    yield CLOUD[333:]


def test_a_function_that_makes_batches() -> None:
    cloud = isoscope.open_cloud(batches)
    assert (cloud.rows, cloud.widths) == (None, (6,))
    np.testing.assert_array_equal(joined(cloud), CLOUD)
    one, other = isoscope.measure(batches), isoscope.measure(CLOUD)
    for left, right in zip(one.rows, other.rows, strict=True):
        assert (left.value is None) == (right.value is None)
        if right.value is not None:
            assert left.value == pytest.approx(right.value, rel=1e-9, abs=1e-12)


def test_a_list_of_arrays() -> None:
    np.testing.assert_array_equal(joined(isoscope.open_cloud([CLOUD[:9], CLOUD[9:]])), CLOUD)


def test_a_list_of_tensors() -> None:
    torch = pytest.importorskip("torch")
    tensors = (torch.from_numpy(CLOUD[:9]), torch.from_numpy(CLOUD[9:]))
    assert isoscope.measure(tensors).value("mean_cosine") == pytest.approx(
        isoscope.measure(CLOUD).value("mean_cosine")
    )


def test_what_can_be_read_only_once() -> None:
    with pytest.raises(UsageError, match="pass a function that makes it"):
        isoscope.open_cloud(batches())


def test_batches_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="batch 1 holds 5 × float64, the first holds 6"):
        isoscope.measure([CLOUD, CLOUD[:, :5]])
    with pytest.raises(DataError, match="batch 1 holds 6 × float32"):
        isoscope.measure([CLOUD, CLOUD.astype(np.float32)])
    with pytest.raises(DataError, match="there are no batches"):
        isoscope.open_cloud(lambda: [])
    with pytest.raises(DataError, match="a single row is left"):
        isoscope.measure([CLOUD[:1]])
