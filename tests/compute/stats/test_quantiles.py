"""Quantiles without scipy, against scipy's."""

from __future__ import annotations

import pytest
from scipy.special import betaincinv, chdtri, stdtrit

from isoscope.compute.stats.quantiles import beta_quantile, chi_square_limit, student_quantile


@pytest.mark.parametrize("freedom", [1, 2, 3, 9, 10, 30, 61, 400])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_student_quantile_equals_that_of_scipy(freedom: int, level: float) -> None:
    expected = stdtrit(freedom, (1 + level) / 2)
    assert student_quantile(freedom, level) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("freedom", [0.3, 1.0, 1.7, 12.5, 768.0, 5e4])
@pytest.mark.parametrize("alpha", [0.5, 0.01, 1e-6])
def test_chi_square_limit_equals_that_of_scipy(freedom: float, alpha: float) -> None:
    assert chi_square_limit(freedom, alpha) == pytest.approx(chdtri(freedom, alpha), rel=1e-11)


@pytest.mark.parametrize("dimension", [2, 3, 10, 768, 4096, 100_000])
@pytest.mark.parametrize("level", [0.9, 0.01, 1e-4, 1e-9])
def test_beta_quantile_equals_that_of_scipy(dimension: int, level: float) -> None:
    a, b = (dimension - 1) / 2, 0.5
    assert beta_quantile(a, b, level) == pytest.approx(betaincinv(a, b, level), rel=1e-10)
