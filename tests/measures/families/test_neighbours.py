from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from manifolds import MANIFOLDS
from scipy.stats import skew

from isoscope import measure
from isoscope.errors import UsageError
from isoscope.measures.families.neighbours import equal_rows, occurrences, two_nearest

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


def with_repeats(seed: int, kinds: int, rows: int, width: int) -> np.ndarray:
    """Rows of which many are the same, as the tokens of a text in an embedding layer are."""
    rng = np.random.default_rng(seed)
    cloud = (0.1 * rng.normal(size=(kinds, width)) + 0.02).astype(np.float32)
    return np.asarray(cloud[rng.integers(0, kinds, rows)])


@pytest.mark.parametrize("offset", [0.0, 3.0])
@pytest.mark.parametrize("rows", [1_381, 1_382, 1_383])
def test_centring_leaves_the_dimension_of_repeated_rows(rows: int, offset: float) -> None:
    cloud = with_repeats(0, 500, rows, 896) + np.float32(offset)
    found = measure(cloud, "intrinsic_dimension", ["none", "center"]).rows
    kinds = len(np.unique(cloud, axis=0))
    assert [row.n for row in found] == [kinds, kinds]
    assert found[1].value == pytest.approx(found[0].value, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_differ_by_rounding_are_one_row(dtype: type) -> None:
    exact = with_repeats(1, 300, 900, 64).astype(dtype)
    roundings = np.random.default_rng(2).integers(-2, 3, exact.shape) * np.finfo(dtype).eps
    cloud = (exact * (1 + roundings)).astype(dtype)
    assert len(np.unique(cloud, axis=0)) == 900
    alone, rounded, centred = (
        measure(one, "intrinsic_dimension", view).rows[0]
        for one, view in ((exact, "none"), (cloud, "none"), (cloud, "center"))
    )
    assert rounded.n == centred.n == alone.n == len(np.unique(exact, axis=0))
    assert rounded.value == pytest.approx(alone.value, rel=1e-3)
    assert centred.value == pytest.approx(rounded.value, rel=1e-6)


def test_rows_are_equal_up_to_a_tolerance() -> None:
    rows = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 0.05], [5.0, 0.2], [0.05, 0.0], [5.0, 0.0]])
    labels = equal_rows(rows, 0.1)
    groups = {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}
    assert groups == {frozenset({0, 2, 4}), frozenset({1, 5}), frozenset({3})}
    assert len(set(equal_rows(rows, 0.0).tolist())) == 5
    assert len(set(equal_rows(np.ones((20, 3)), 0.0).tolist())) == 1


def test_equally_far_neighbours_have_no_dimension() -> None:
    cloud = shifted(3, 40, 200)
    row = measure(cloud, "intrinsic_dimension", "whiten").rows[0]
    assert row.value is None
    assert "equally far" in row.note


def test_equal_directions_have_no_hubs() -> None:
    row = measure(np.ones((50, 3)), "hubness", "none").rows[0]
    assert row.value is None
    assert "same" in row.note


def test_exact_looks_at_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.measures.reads.request.LARGE_SIZE", 100)
    monkeypatch.setattr("isoscope.measures.families.neighbours.LARGE_SIZE", 100)
    cloud = shifted(5, 700, 6)
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    names = ["hubness", "intrinsic_dimension"]
    sampled, whole = (measure(cloud, names, "none", exact=exact) for exact in (False, True))
    assert whole.value("hubness") == pytest.approx(skew(occurrences(units, 10)))
    assert all("on 700 rows;" in row.note for row in whole.rows)
    assert all("on 100 sampled rows;" in row.note for row in sampled.rows)
    assert sampled.value("hubness") != whole.value("hubness")


def test_exact_refuses_what_memory_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOSCOPE_MAX_MEMORY", "100MB")
    with pytest.raises(UsageError, match="leave out --exact"):
        measure(np.zeros((2_000_000, 2), np.float32) + 1, "hubness", "none", exact=True)
    assert measure(shifted(0, 400, 3), "hubness", "none", exact=True).value("hubness") is not None
