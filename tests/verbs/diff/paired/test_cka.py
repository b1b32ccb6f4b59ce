"""Linear CKA from sums: against n × n kernels, and what it must not change with."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from isoscope.verbs.diff.paired.cka import CrossSums, LinearCKA, linear_cka

Matrix = NDArray[np.float64]


def scatter(x: Matrix) -> Matrix:
    centred = x - x.mean(axis=0)
    return centred.T @ centred


def cka_of(x: Matrix, y: Matrix, step: int = 7, shift: float = 0.0) -> LinearCKA:
    """From the sums of batches, of two threads."""
    halves = [CrossSums(x[0] + shift, y[0] - shift) for _ in range(2)]
    for place, first in enumerate(range(0, len(x), step)):
        halves[place % 2].add(x[first : first + step], y[first : first + step])
    return linear_cka(halves[0].merge(halves[1]), (scatter(x), scatter(y)))


def hsic_plain(k: Matrix, m: Matrix) -> float:
    """tr(KHLH), Gretton et al. 2005."""
    n = len(k)
    h = np.eye(n) - 1 / n
    return float(np.trace(k @ h @ m @ h))


def hsic_unbiased(k: Matrix, m: Matrix) -> float:
    """Song et al. 2012, equation 5, as it stands there."""
    n = len(k)
    k, m = k - np.diag(np.diag(k)), m - np.diag(np.diag(m))
    one = np.ones(n)
    middle = (one @ k @ one) * (one @ m @ one) / ((n - 1) * (n - 2))
    return float((np.trace(k @ m) + middle - 2 / (n - 2) * (one @ k @ m @ one)) / (n * (n - 3)))


def clouds(seed: int, rows: int = 40, widths: tuple[int, int] = (6, 9)) -> tuple[Matrix, Matrix]:
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, widths[0])) + 4
    y = x @ random.standard_normal(widths) + 2 * random.standard_normal((rows, widths[1])) - 3
    return x, y


@pytest.mark.parametrize("seed", range(4))
def test_both_are_what_kernels_of_all_rows_give(seed: int) -> None:
    x, y = clouds(seed)
    found = cka_of(x, y)
    k, m = x @ x.T, y @ y.T
    for value, hsic in ((found.plain, hsic_plain), (found.debiased, hsic_unbiased)):
        # Products of four numbers of size up to ten, summed: 1e-9 leaves room for cancellation.
        assert value == pytest.approx(hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m)), rel=1e-9)


def test_a_common_offset_costs_no_digits() -> None:
    x, y = clouds(0)
    near = cka_of(x, y)
    far = cka_of(x + 1e4, y - 1e5)
    assert far.plain == pytest.approx(near.plain, rel=1e-8)
    assert far.debiased == pytest.approx(near.debiased, rel=1e-8)
    moved = cka_of(x, y, shift=3.0)
    assert moved.debiased == pytest.approx(near.debiased, rel=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.floats(0.01, 100))
def test_turning_and_scaling_change_nothing(seed: int, scale: float) -> None:
    x, y = clouds(seed)
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((9, 9)))[0]
    before, after = cka_of(x, y), cka_of(x, scale * y @ turn)
    assert after.plain == pytest.approx(before.plain, rel=1e-8)
    assert after.debiased == pytest.approx(before.debiased, rel=1e-7)
    same = cka_of(y, scale * y @ turn)
    assert same.plain == pytest.approx(1, rel=1e-9)
    assert same.debiased == pytest.approx(1, rel=1e-8)


def test_only_the_debiased_one_is_zero_for_unrelated_clouds() -> None:
    random = np.random.default_rng(0)
    x, y = random.standard_normal((1_000, 768)), random.standard_normal((1_000, 768))
    found = cka_of(x, y, step=500)
    # d / (n + d) of unrelated clouds, as the module says
    assert found.plain == pytest.approx(768 / 1_768, abs=0.01)
    assert found.debiased == pytest.approx(0, abs=0.01)


def test_a_constant_cloud_has_none() -> None:
    x, _ = clouds(0)
    found = cka_of(x, np.full((40, 3), 2.0))
    assert found.plain is None
    assert "rows of B are the same" in found.note
