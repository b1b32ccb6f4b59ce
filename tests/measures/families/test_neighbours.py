from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from manifolds import MANIFOLDS
from scipy.stats import skew

from isoscope import measure
from isoscope.measures.families.neighbours import occurrences, two_nearest

THEIRS = json.loads(
    (Path(__file__).parents[2] / "other_packages/scikit_dimension_0_5_0.json").read_text()
)


def test_hubness_follows_its_definition() -> None:
    cloud = shifted(0, 300, 7)
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    counts = np.zeros(300)
    for row in range(300):
        cosines = units @ units[row]
        cosines[row] = -2
        counts[np.argsort(-cosines)[:10]] += 1
    np.testing.assert_array_equal(occurrences(units, 10), counts)
    assert measure(cloud, "hubness", "none").value("hubness") == pytest.approx(skew(counts))


def test_stripes_of_rows_change_nothing() -> None:
    units = shifted(1, 1_300, 5)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -2)
    nearest = np.argsort(-cosines, axis=1)[:, :10]
    expected = np.bincount(nearest.reshape(-1), minlength=1_300)
    np.testing.assert_array_equal(occurrences(units, 10), expected)


def test_hubness_needs_more_rows_than_neighbours() -> None:
    row = measure(shifted(0, 11, 4), "hubness", "none").rows[0]
    assert row.value is None
    assert "more than 11 rows" in row.note


def test_two_nearest_follow_their_definition() -> None:
    cloud = shifted(2, 600, 4)
    distances = np.linalg.norm(cloud[:, None] - cloud, axis=2)
    np.testing.assert_allclose(two_nearest(cloud), np.sort(distances, axis=1)[:, 1:3], rtol=1e-12)


@pytest.mark.parametrize("name", sorted(MANIFOLDS))
def test_the_dimension_of_known_surfaces(name: str) -> None:
    make, dimension = MANIFOLDS[name]
    found = measure(make(), "intrinsic_dimension", "none").rows[0]
    # A thousand neighbours give it within a few hundredths (Facco et al., figure 2).
    assert found.value == pytest.approx(dimension, rel=0.08)
    assert f"{len(make()):,} sampled rows" in found.note
    # Both leave out the largest tenth; which ratio is the first of it differs by one.
    assert found.value == pytest.approx(THEIRS["dimension"][name], rel=0.005)


def test_repeated_rows_are_left_out_and_counted() -> None:
    cloud = shifted(3, 500, 3)
    row = measure(np.concatenate((cloud, cloud[:20])), "intrinsic_dimension", "none").rows[0]
    alone = measure(cloud, "intrinsic_dimension", "none").rows[0]
    assert "20 repeated rows left out" in row.note
    assert row.value == pytest.approx(alone.value)
    same = measure(np.ones((50, 3)), "intrinsic_dimension", "none").rows[0]
    assert same.value is None


def test_an_offset_far_away_changes_nothing() -> None:
    cloud = shifted(4, 400, 5)
    near, far = (
        measure(cloud + offset, "intrinsic_dimension", "none").rows[0].value
        for offset in (0.0, 1e6)
    )
    assert far == pytest.approx(near, rel=1e-3)


def test_corrections_see_the_same_sample() -> None:
    cloud = shifted(5, 6_000, 5)
    result = measure(cloud, ["hubness", "intrinsic_dimension"], ["none", "center"])
    one, other = (result.value("intrinsic_dimension", space) for space in ("none", "center"))
    assert one == pytest.approx(other, rel=1e-6)
    assert result.rows[0].n == 4_096


def test_equal_directions_have_no_hubs() -> None:
    row = measure(np.ones((50, 3)), "hubness", "none").rows[0]
    assert row.value is None
    assert "same" in row.note
