"""How far two clouds lie apart: against definitions, and without what sampling alone makes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from isoscope.data.arrays import ArrayCloud
from isoscope.measures.reads.moments import MomentParts
from isoscope.verbs.diff.effects import Effects, effects, length_distance
from isoscope.verbs.diff.two_clouds import Reading, TwoSides

Matrix = NDArray[np.float64]


def sides(a: Matrix, b: Matrix, *, paired: bool) -> TwoSides:
    clouds = ArrayCloud(a, "a"), ArrayCloud(b, "b")
    return Reading(MomentParts(), 20_000, 0).both(*clouds, paired=paired)


def found(a: Matrix, b: Matrix, *, paired: bool = False) -> Effects:
    result = effects(sides(a, b, paired=paired))
    assert result is not None
    return result


def test_figures_of_many_rows_are_those_of_the_distribution() -> None:
    random = np.random.default_rng(0)
    scales = np.array([2.0, 1.0, 0.5])
    a = random.standard_normal((20_000, 3)) * scales + 1
    b = random.standard_normal((20_000, 3)) * scales * [1, 2, 1] + [1, 1, 2.5]
    value = found(a, b)
    total_a, total_b = 4 + 1 + 0.25, 4 + 4 + 0.25
    spread = np.sqrt((total_a + total_b) / 2)
    # 20,000 rows know a mean to a hundredth of the spread and a variance to a hundredth.
    assert value.mean_shift == pytest.approx(1.5 / spread, abs=0.02)
    between = (1.5 / 2) ** 2
    assert value.mean_share == pytest.approx(between / (between + spread**2), rel=0.05)
    middle = np.linalg.norm([4, 2.5, 0.25])
    assert value.covariance_distance == pytest.approx(3 / middle, rel=0.03)
    assert value.total_variance_ratio == pytest.approx(total_b / total_a, rel=0.02)
    shares = np.array([4, 1, 0.25]) / total_a
    assert value.effective_ranks[0] == pytest.approx(
        np.exp(-(shares * np.log(shares)).sum()), rel=0.02
    )
    lengths = np.linalg.norm(b, axis=1)
    assert value.mean_lengths[1] == pytest.approx(lengths.mean(), rel=1e-12)
    np.testing.assert_allclose(value.length_quantiles[1], np.percentile(lengths, (5, 50, 95)))


@pytest.mark.parametrize("paired", [False, True])
def test_what_sampling_makes_is_taken_out(paired: bool) -> None:
    shifts, distances, plain = [], [], []
    for seed in range(60):
        random = np.random.default_rng(seed)
        common = random.standard_normal((100, 20)) if paired else 0
        a, b = (random.standard_normal((100, 20)) + common for _ in range(2))
        value = found(a, b, paired=paired)
        shifts.append(value.mean_shift**2)
        distances.append(value.covariance_distance**2)
        apart = np.cov(a.T) - np.cov(b.T)
        plain.append((apart**2).sum() / (((np.cov(a.T) + np.cov(b.T)) / 2) ** 2).sum())
    # Squares are cut off at zero, so that half of what is left of them shows.
    assert np.mean(plain) > 0.2
    assert np.mean(distances) < 0.12 * np.mean(plain)
    assert np.mean(shifts) < 0.15 * 2 / 100


def test_constant_clouds_have_none() -> None:
    assert effects(sides(np.ones((60, 3)), np.ones((60, 3)), paired=False)) is None


def test_the_distance_of_norms_is_wassersteins() -> None:
    random = np.random.default_rng(0)
    a, b = random.gamma(4, 1, 500), random.gamma(5, 1, 500)
    wanted = wasserstein_distance(a, b) / ((a.mean() + b.mean()) / 2)
    assert length_distance(a, b) == pytest.approx(wanted, rel=1e-12)
    assert length_distance(a, b[:333]) == pytest.approx(
        wasserstein_distance(a, b[:333]) / ((a.mean() + b[:333].mean()) / 2), rel=0.02
    )
    assert length_distance(a, 1.05 * a) == pytest.approx(0.05 / 1.025)
    assert length_distance(np.zeros(3), np.zeros(4)) == 0
