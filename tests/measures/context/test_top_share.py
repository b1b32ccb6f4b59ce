"""The largest eigenvalue by powers: that of the decomposition, and only where it is certain."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.measures.context.top_share import by_powers, largest_eigenvalues, top_share


def by_svd(vectors: np.ndarray) -> float:
    squares = np.linalg.svd(vectors.astype(np.float64), compute_uv=False) ** 2
    return float(squares[0] / squares.sum())


@pytest.mark.parametrize("shape", [(4, 7, 30), (3, 40, 6), (2, 5, 5), (1, 1, 3)])
def test_top_share_is_that_of_singular_values(shape: tuple[int, int, int]) -> None:
    groups = np.random.default_rng(0).standard_normal(shape) + 0.3
    np.testing.assert_allclose(top_share(groups), [by_svd(one) for one in groups], rtol=1e-12)


def with_eigenvalues(*values: float) -> np.ndarray:
    """Return a matrix of 30 × 30 with some eigenvalues that are not zero."""
    turn = np.linalg.qr(np.random.default_rng(len(values)).standard_normal((30, 30)))[0]
    return np.asarray((turn[:, : len(values)] * values) @ turn[:, : len(values)].T)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e140])
def test_separate_eigenvalues_are_found_by_powers(scale: float) -> None:
    grams = scale * np.stack(
        [with_eigenvalues(3, 1, 0.5), with_eigenvalues(1), with_eigenvalues(2, *[0.1] * 20)]
    )
    found, certain = by_powers(grams)
    assert certain.all()
    np.testing.assert_allclose(found, [3 * scale, scale, 2 * scale], rtol=1e-14)


def test_eigenvalues_that_are_close_are_left_to_the_decomposition() -> None:
    grams = np.stack([with_eigenvalues(1, 0.999), with_eigenvalues(1, 1, 1), np.zeros((30, 30))])
    assert not by_powers(grams)[1].any()
    np.testing.assert_allclose(largest_eigenvalues(grams), [1, 1, 0], rtol=1e-14, atol=1e-300)


def test_a_start_without_the_largest_direction_is_noticed() -> None:
    # All rows of the largest part add up to zero, so that the powers begin in another direction.
    halves = np.repeat([1.0, -1.0], 15)
    gram = 4 * np.outer(halves, halves) + np.ones((30, 30))
    found = largest_eigenvalues(gram[None])
    np.testing.assert_allclose(found, [120.0], rtol=1e-14)
