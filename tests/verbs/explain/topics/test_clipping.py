"""Outlier dimensions and clipping against the definitions, over all pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from isoscope.corrections.registry import make_correction
from isoscope.errors import DataError
from isoscope.verbs.explain.topics.outliers import (
    AT_ONCE,
    clip_text,
    clipped_layer,
    cosines_without,
    fall_by_chance,
    often,
)


def made(
    seed: int, rows: int = 200, width: int = 128, planted: dict[int, float] | None = None
) -> np.ndarray:
    """Normal vectors with an offset in some dimensions."""
    vectors = np.random.default_rng(seed).standard_normal((rows, width))
    for dimension, offset in (planted or {}).items():
        vectors[:, dimension] += offset
    return vectors.astype(np.float32)


def over_pairs(vectors: np.ndarray, clipped: list[int]) -> float:
    """Return the mean cosine, one pair after the other."""
    wide = vectors.astype(np.float64)
    wide[:, clipped] = 0.0
    kept = [row for row in wide if row.any()]
    cosines = [
        float(one @ other / np.sqrt((one @ one) * (other @ other)))
        for one, other in combinations(kept, 2)
    ]
    return float(np.mean(cosines))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_mean_cosine_is_that_of_all_pairs(seed: int) -> None:
    vectors = made(seed, rows=60, planted={5: 9.0, 17: -7.0})
    sets = [[], [5], [17], [5, 17], [0, 1, 2]]
    found = cosines_without(vectors, sets)
    # Sums of 60 unit vectors in float64: rounding is some 1e-16 of the terms.
    assert found == pytest.approx([over_pairs(vectors, clipped) for clipped in sets], abs=1e-13)
    assert found[0] == pytest.approx(cosines_without(vectors, [[]])[0], abs=0)


def test_blocks_of_vectors_are_added_up() -> None:
    vectors = made(3, rows=2 * AT_ONCE + 7, width=6, planted={1: 4.0})
    units = vectors.astype(np.float64)
    units[:, 1] = 0.0
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    cosines = units @ units.T
    n = len(vectors)
    expected = (cosines.sum() - np.trace(cosines)) / (n * n - n)
    assert cosines_without(vectors, [[1]]) == pytest.approx([expected], abs=1e-13)


def test_a_huge_outlier_leaves_no_rounding() -> None:
    vectors = made(4, rows=40, width=16) * np.float32(1e-3)
    vectors[:, 3] = 1e6
    (found,) = cosines_without(vectors, [[3]])
    # A squared length of 1e12 less that of the outlier would be wrong from the first digit on.
    assert found == pytest.approx(over_pairs(vectors, [3]), abs=1e-12)


def test_vectors_that_clipping_makes_zero_are_left_out() -> None:
    vectors = np.array([[1, 0, 0], [0, 2, 0], [0, 1, 1], [3, 0, 0]], np.float32)
    assert cosines_without(vectors, [[0]]) == pytest.approx([np.sqrt(0.5)])
    assert cosines_without(vectors, [[1]]) == pytest.approx([1 / 3])
    assert cosines_without(vectors, [[0, 2]]) == pytest.approx([1.0])
    assert cosines_without(vectors, [[0, 1, 2], [1, 2]]) == [None, pytest.approx(1.0)]
    assert cosines_without(vectors[:3], [[1, 2]]) == [None]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_dimensions_are_found(seed: int) -> None:
    vectors = made(seed, planted={7: 12.0, 40: -9.0})
    layer = clipped_layer(vectors, "block 1")
    assert layer.dimensions == [7, 40]
    assert layer.correction == "clip:dimensions=7+40"
    assert [one.dimension for one in layer.outliers] == [7, 40]
    seven, forty = layer.outliers
    assert seven.share_maximum == np.mean(vectors.argmax(axis=1) == 7)
    assert seven.share_minimum == np.mean(vectors.argmin(axis=1) == 7)
    assert forty.share_minimum == forty.share == np.mean(vectors.argmin(axis=1) == 40)
    mean = vectors.astype(np.float64).mean(axis=0)
    assert layer.mean == pytest.approx(mean, abs=1e-12)
    assert seven.mean == pytest.approx(mean[7], abs=1e-12)
    assert seven.deviations == pytest.approx((mean[7] - mean.mean()) / mean.std())
    assert layer.before == pytest.approx(over_pairs(vectors, []), abs=1e-12)
    assert layer.after == pytest.approx(over_pairs(vectors, [7, 40]), abs=1e-12)
    assert seven.mean_cosine_without_it == pytest.approx(over_pairs(vectors, [7]), abs=1e-12)
    assert forty.mean_cosine_without_it == pytest.approx(over_pairs(vectors, [40]), abs=1e-12)
    assert layer.after is not None
    assert layer.before is not None
    assert layer.change == layer.after - layer.before


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_nothing_stands_out_of_even_vectors(seed: int) -> None:
    layer = clipped_layer(made(seed), "block 1")
    assert layer.outliers == ()
    assert layer.change == 0.0


def test_a_mean_far_from_the_others_stands_out_though_it_is_no_extreme() -> None:
    vectors = made(0, width=256, planted={9: 1.5})
    vectors[:, 100] *= 20  # which is the minimum of half of the vectors, the maximum of the others
    layer = clipped_layer(vectors, "block 1")
    assert layer.dimensions == [9, 100]
    nine = next(one for one in layer.outliers if one.dimension == 9)
    assert nine.share < often(256)
    assert abs(nine.deviations) > 6
    assert layer.outliers[0].dimension == 100  # an extreme most often comes first


def test_a_tenth_of_the_vectors_and_more_in_few_dimensions() -> None:
    assert often(768) == often(80) == 0.1
    assert often(32) == 0.25
    assert often(4) == 0.9
    vectors = made(1, rows=1_000, width=100)
    vectors[:100, 3], vectors[100:, 3] = 9.0, -1.0  # their mean is 0
    assert clipped_layer(vectors, "x").dimensions == [3]
    vectors[99, 3] = -1.0
    assert clipped_layer(vectors, "x").dimensions == []


def test_zero_vectors_have_no_extremes() -> None:
    vectors = made(2, rows=100, width=100, planted={50: 9.0})
    vectors[:60] = 0.0
    layer = clipped_layer(vectors, "x")
    assert layer.dimensions == [50]  # and not 0, the first of equals in 60 vectors
    assert layer.outliers[0].share_maximum == np.mean(vectors[60:].argmax(axis=1) == 50)


def test_corrections_can_be_made_from_their_names() -> None:
    vectors = made(0, rows=30, planted={7: 12.0, 40: -9.0})
    for dimensions in ([7], [7, 40]):
        clipped = make_correction(clip_text(dimensions)).fit_transform(vectors)
        expected = vectors.copy()
        expected[:, dimensions] = 0.0
        assert np.array_equal(clipped, expected)


@pytest.mark.parametrize("width", [16, 32, 128, 768])
def test_an_offset_in_a_random_direction_falls_less(width: int) -> None:
    """Its largest dimensions stand out in few dimensions, and yet chance made them."""
    rng = np.random.default_rng(width)
    for _ in range(25):
        level = rng.uniform(0.05, 0.95)  # of the mean cosine
        noise = rng.standard_normal((150, width)) * np.sqrt((1 - level) / level)
        vectors = (noise + rng.standard_normal(width)).astype(np.float32)
        layer = clipped_layer(vectors, "x")
        assert layer.change is not None
        assert -layer.change <= fall_by_chance(len(layer.outliers), width)


def test_the_bound_of_the_fall_is_reached_at_the_worst_cosine() -> None:
    for clipped, width in ((1, 64), (3, 64), (5, 768), (20, 40)):
        bound = fall_by_chance(clipped, width)
        places = (np.arange(clipped) + 0.01) / width
        rng = np.random.default_rng(0)
        sizes = np.quantile(np.abs(rng.standard_normal(2_000_000)), 1 - places)
        share = min(float((sizes**2).sum()) / width, 1.0)
        cosines = np.linspace(0, 1, 100_001)[:-1]
        falls = cosines - cosines * (1 - share) / (1 - share * cosines)
        assert bound == pytest.approx(falls.max(), rel=0.05)  # quantiles of two million numbers
    assert fall_by_chance(0, 64) == 0.0
    assert fall_by_chance(64, 64) == 1.0


def test_one_vector_is_no_layer() -> None:
    with pytest.raises(DataError, match="block 1"):
        clipped_layer(made(0)[:1], "block 1")
