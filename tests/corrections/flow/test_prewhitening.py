"""The linear step of the flow against scipy and linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from isoscope.corrections.fit import read_summary
from isoscope.corrections.flow.gaussian import Prewhitening, prewhiten
from isoscope.data.arrays import ArrayCloud
from isoscope.errors import DataError
from isoscope.measures.reads.moments import MomentParts


def solved(x: np.ndarray, unseen: np.ndarray | None = None) -> Prewhitening:
    moments = read_summary(ArrayCloud(x), MomentParts(dimensions=False)).moments
    return prewhiten(moments, x.dtype.name, (x if unseen is None else unseen).astype(np.float64))


def cloud(rows: int = 300, width: int = 6, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    mixing = generator.normal(size=(width, width)) * np.geomspace(1, 50, width)
    return generator.normal(size=(rows, width)) @ mixing + generator.normal(size=width) * 20


def mean_density(rows: np.ndarray, share: float, unseen: np.ndarray) -> float:
    deviations = rows.std(axis=0)
    drawn = (1 - share) * np.corrcoef(rows.T) + share * np.eye(rows.shape[1])
    covariance = drawn * np.multiply.outer(deviations, deviations)
    found = multivariate_normal(rows.mean(axis=0), covariance).logpdf(unseen).mean()
    return float(found)


@pytest.mark.parametrize(("rows", "width"), [(300, 6), (40, 30), (8, 20)])
def test_shrinkage_makes_unseen_rows_likeliest(rows: int, width: int) -> None:
    both = cloud(rows + 50, width)
    x, unseen = both[:rows], both[rows:]
    linear = solved(x, unseen)
    best = mean_density(x, linear.shrinkage, unseen)
    # Its neighbours among the shares that are tried are a factor of 10^0.1 away.
    for factor in (0.5, 0.8, 1.25, 2):
        assert mean_density(x, min(1.0, linear.shrinkage * factor + 1e-9), unseen) <= best + 1e-9
    # The Gaussian of the linear step is the one that scipy has for the same shrunk matrix.
    w = (unseen - linear.mean) @ linear.forward
    normal = multivariate_normal(np.zeros(width)).logpdf(w).mean()
    assert normal + linear.log_det == pytest.approx(best)


def test_many_rows_need_no_shrinkage_and_few_much() -> None:
    both = cloud(20_000, 6)
    assert solved(both[:18_000], both[18_000:]).shrinkage < 1e-3
    both = cloud(60, 40)
    assert solved(both[:10], both[10:]).shrinkage > 0.05


def test_two_rows_have_a_density_everywhere() -> None:
    """They lie on a line, and say nothing of other directions."""
    linear = solved(cloud(2, 5))
    assert linear.shrinkage > 0
    assert linear.n_directions == 5
    assert np.isfinite(linear.log_det)


def test_whitening_is_by_the_shrunk_matrix() -> None:
    x = cloud()
    linear = solved(x, 2 * cloud(20, seed=1))
    assert 0 < linear.shrinkage < 1
    deviations = x.std(axis=0)
    correlation = np.corrcoef(x.T)
    shrunk = (1 - linear.shrinkage) * correlation + linear.shrinkage * np.eye(6)
    covariance = shrunk * np.multiply.outer(deviations, deviations)
    np.testing.assert_allclose(linear.forward.T @ covariance @ linear.forward, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(linear.backward.T @ linear.backward, covariance, rtol=1e-9)
    assert linear.log_det == pytest.approx(-0.5 * np.linalg.slogdet(covariance)[1])
    np.testing.assert_allclose(linear.frame @ linear.frame.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(linear.mean, x.mean(axis=0))


def test_backward_undoes_forward() -> None:
    x = cloud()
    linear = solved(x)
    back = linear.mean + (x - linear.mean) @ linear.forward @ linear.backward
    np.testing.assert_allclose(back, x, rtol=1e-10)


def test_dead_dimensions_are_left_out() -> None:
    x = cloud().astype(np.float32)
    x[:, 1] = 7
    x[:, 4] = 3 + 1e-7 * np.sign(x[:, 0])
    linear = solved(x)
    assert linear.dropped.tolist() == [1, 4]
    assert linear.n_directions == 4
    assert not linear.forward[[1, 4]].any()
    assert not linear.frame[:, [1, 4]].any()
    living = solved(np.delete(x, [1, 4], axis=1))
    assert linear.log_det == pytest.approx(living.log_det)
    assert linear.shrinkage == living.shrinkage


def test_a_direction_without_variance_is_left_out_where_rows_show_it() -> None:
    """The density is one on the plane Σ x = 0: its coordinates there must not matter."""
    x = cloud()
    x -= x.mean(axis=1, keepdims=True)
    linear = solved(x)
    assert linear.n_directions == 5
    assert not len(linear.dropped)
    back = linear.mean + (x - linear.mean) @ linear.forward @ linear.backward
    np.testing.assert_allclose(back, x, atol=1e-9)
    _, _, axes = np.linalg.svd(np.ones((1, 6)))
    # ln volume on the plane: the determinant in any orthonormal basis of it.
    inside = linear.backward @ axes[1:].T
    assert linear.log_det == pytest.approx(-np.linalg.slogdet(inside)[1])


def test_few_rows_leave_all_directions_in() -> None:
    linear = solved(cloud(8, 20))
    assert linear.n_directions == 20
    assert np.linalg.matrix_rank(linear.forward) == 20


def test_constant_rows_are_refused() -> None:
    with pytest.raises(DataError, match="all 3 dimensions are constant"):
        solved(np.full((5, 3), 2.0))


def test_arrays_and_back() -> None:
    linear = solved(cloud())
    again = Prewhitening.from_arrays(linear.to_arrays())
    for name, value in linear.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], value)
    assert isinstance(again.log_det, float)
