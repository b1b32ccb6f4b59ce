from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.reads.geometry import eigen_system, repeated_runs, settled_basis


def test_runs_of_repeated_values() -> None:
    values = np.array([5.0, 3.0, 3.0 - 1e-9, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    assert repeated_runs(values, null=1e-12) == (slice(1, 3), slice(4, 7))
    assert repeated_runs(np.array([2.0, 1.0]), null=0.0) == ()
    assert repeated_runs(np.array([1.0]), null=0.0) == ()


@given(width=st.integers(2, 8), size=st.integers(2, 8), seed=st.integers(0, 2**32))
def test_a_settled_basis_depends_on_the_space_alone(width: int, size: int, seed: int) -> None:
    size = min(size, width)
    random = np.random.default_rng(seed)
    space = np.linalg.qr(random.standard_normal((width, size)))[0]
    turned = space @ np.linalg.qr(random.standard_normal((size, size)))[0]
    one, other = settled_basis(space), settled_basis(turned)
    np.testing.assert_allclose(np.abs(one), np.abs(other), atol=1e-6)
    np.testing.assert_allclose(one.T @ one, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(one @ one.T, space @ space.T, atol=1e-12)


def test_isotropic_matrices_get_the_coordinate_axes() -> None:
    noise = np.random.default_rng(0).standard_normal((6, 6)) * 1e-15
    system = eigen_system(2 * np.eye(6) + noise + noise.T)
    assert system.repeated == (slice(0, 6),)
    np.testing.assert_array_equal(system.vectors, np.eye(6))


@pytest.mark.parametrize("width", [1, 2, 20])
def test_eigen_systems_are_in_falling_order(width: int) -> None:
    matrix = np.cov(np.random.default_rng(1).standard_normal((width, 50))).reshape(width, width)
    system = eigen_system(matrix)
    assert (np.diff(system.values) <= 0).all()
    rebuilt = system.vectors * system.values @ system.vectors.T
    np.testing.assert_allclose(rebuilt, matrix, atol=1e-12)
