from __future__ import annotations

import numpy as np
import pytest

from isoscope.measures.kernels.partition_sums import (
    LARGEST_EXPONENT,
    ORDERS,
    cheapest_split,
    largest_exponent,
    log_partitions,
    series_logarithms,
)
from isoscope.measures.kernels.working_memory import WorkingMemory

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


@pytest.mark.parametrize("order", [ORDERS[0], 6, ORDERS[-1]])
@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
def test_a_series_is_exact_up_to_its_largest_exponent(order: int, dtype: np.dtype) -> None:
    largest = largest_exponent(order, dtype)
    assert 0 < largest < LARGEST_EXPONENT
    unit = np.random.default_rng(0).uniform(-1, 1, (500, 6))
    totals = np.array([(unit**m).sum(axis=0) for m in range(order + 1)])
    exponents = np.linspace(0, largest, 6)
    found = series_logarithms(totals, exponents)
    for row, sign in enumerate((1, -1)):
        expected = np.log(np.exp(sign * exponents * unit).sum(axis=0))
        np.testing.assert_allclose(found[row], expected, atol=np.finfo(dtype).eps / 5)


def test_families_take_the_series_where_it_saves_time() -> None:
    falling = np.linspace(4, 0, 100) ** 3 / 16
    split = cheapest_split(np.array([falling, falling / 2, np.full(100, 4.0)]), SINGLE)
    assert 0 < split.starts[1] < split.starts[0] < 100
    assert split.starts[2] == 100
    assert largest_exponent(split.order, SINGLE) >= falling[split.starts[0]]
    # A direction whose coordinates are not numbers is not summed as a series, nor is any before.
    assert cheapest_split(np.array([[0.1, np.nan, 0.1, 0.1]]), SINGLE).first in (2, 4)
    assert cheapest_split(np.full((1, 10), 4.0), SINGLE).starts == (10,)


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 40.0, 1e4])
def test_sums_equal_the_definition(dtype: np.dtype, scale: float) -> None:
    random = np.random.default_rng(1)
    t = (random.standard_normal((900, 40)) * scale / np.arange(1, 41)).astype(dtype)
    t[:, 7] = 0
    gains = [np.ones(40), np.linspace(0.5, 0, 40), 1 / np.maximum(t.std(axis=0), 1e-3)]
    found = log_partitions(t, gains, WorkingMemory())
    for row, gain in enumerate(gains):
        exponents = t.astype(np.longdouble) * gain
        both = np.stack((exponents, -exponents))
        top = both.max(axis=1, keepdims=True)
        expected = top[:, 0] + np.log(np.exp(both - top).sum(axis=1))
        # Exponents are rounded in the type of t, each by half an eps of its size, and so are sums
        # over a block.
        atol = np.finfo(dtype).eps * (12 + np.abs(exponents).max(axis=0))
        assert (np.abs(found[row] - expected) <= atol).all()
