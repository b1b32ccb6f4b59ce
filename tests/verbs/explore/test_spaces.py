"""Layers under corrections."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from explored_for_tests import small, small_spaces

from isoscope.corrections import make_correction
from isoscope.errors import UsageError
from isoscope.verbs.explore import session as module
from isoscope.verbs.explore.session import CORRECTIONS, MEASURES, Spaces
from isoscope.verbs.explore.word_rows import Explored
from isoscope.verbs.measure.api import measure


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_a_space_holds_the_corrected_vectors(correction: str) -> None:
    spaces = small_spaces()
    vectors = expected = spaces.explored.layers["first"]
    if correction != "none":
        expected = make_correction(correction).fit(vectors).transform(vectors)
    space = spaces.get("first", correction)
    assert space.units.dtype == space.lengths.dtype == np.float32
    rows = np.arange(len(vectors))
    np.testing.assert_allclose(space.vectors(rows), expected, atol=2e-6)
    lengths = np.linalg.norm(space.units, axis=1)
    np.testing.assert_allclose(lengths[space.lengths > 0], 1, atol=1e-6)
    np.testing.assert_allclose(
        space.points(rows), (expected - expected.mean(axis=0)) @ space.plane.axes, atol=1e-4
    )
    np.testing.assert_allclose(space.origin, -expected.mean(axis=0) @ space.plane.axes, atol=1e-4)


def test_what_is_explored_does_not_change() -> None:
    explored = small()
    before = {name: vectors.copy() for name, vectors in explored.layers.items()}
    spaces = Spaces(explored)
    for correction in CORRECTIONS:
        spaces.get("last", correction)
    for name, vectors in explored.layers.items():
        np.testing.assert_array_equal(vectors, before[name])


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_measures_are_those_of_the_corrected_cloud(correction: str) -> None:
    spaces = small_spaces()
    vectors = spaces.explored.layers["last"]
    if correction != "none":
        vectors = make_correction(correction).fit(vectors).transform(vectors)
    expected = measure(vectors, MEASURES, "none", intervals=False)
    for name, row in zip(MEASURES, spaces.measures("last", correction), strict=True):
        assert row.measure == name
        assert row.n == len(vectors)
        # Vectors are kept as direction and length, which rounds them once more.
        assert row.value == pytest.approx(expected.value(name), rel=1e-4, abs=1e-6)


def test_only_some_rows_are_drawn_and_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MEASURED", 120)
    spaces, again, other = (Spaces(small(), 50, seed) for seed in (1, 1, 2))
    assert len(spaces.shown) == len(set(spaces.shown.tolist())) == 50
    np.testing.assert_array_equal(spaces.shown, again.shown)
    assert not np.array_equal(spaces.shown, other.shown)
    assert {row.n for row in spaces.measures("last", "center")} == {120}
    fitted_on_all = make_correction("center").fit(small().layers["last"])
    corrected = fitted_on_all.transform(small().layers["last"][spaces.measured])
    expected = measure(corrected, "mean_cosine", "none", intervals=False).value("mean_cosine")
    assert spaces.measures("last", "center")[0].value == pytest.approx(expected, abs=1e-6)


def test_a_space_is_made_once_even_for_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    spaces, made = small_spaces(), []
    make = spaces._make
    monkeypatch.setattr(spaces, "_make", lambda *key: (made.append(key), make(*key))[1])
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: spaces.get("last", "whiten"), range(16)))
    assert all(one is found[0] for one in found)
    assert sorted(made) == [("last", "none"), ("last", "whiten")]


def test_spaces_that_are_not_used_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    spaces = small_spaces()
    size = spaces.get("last", "none").bytes
    monkeypatch.setattr(module, "MOST_KEPT", 3 * size)
    spaces.get("last", "center")
    spaces.get("last", "whiten")
    spaces.get("last", "none")
    spaces.get("last", "all-but-the-top")
    assert ("last", "center") not in spaces._made
    assert {("last", "none"), ("last", "all-but-the-top")} <= set(spaces._made)
    assert sum(one.bytes for one in spaces._made.values()) <= 3 * size


def test_pictures_of_corrections_point_the_same_way() -> None:
    spaces = small_spaces()
    before = spaces.get("last", "none").points(spaces.shown)
    for correction in ("center", "whiten"):
        after = spaces.get("last", correction).points(spaces.shown)
        for axis in (0, 1):
            assert np.corrcoef(before[:, axis], after[:, axis])[0, 1] > 0.9


@pytest.mark.parametrize(
    ("layer", "correction", "words"),
    [
        ("middle", "none", "no layer of small is called 'middle'"),
        ("last", "center:x=1", "no correction of this page is called 'center:x=1'"),
        ("last", "flow", "no correction of this page is called 'flow'"),
    ],
)
def test_names_that_do_not_exist(layer: str, correction: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        small_spaces().get(layer, correction)


def test_a_row_alone_in_its_cluster_has_no_direction() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(1_500, 16)).astype(np.float32)
    vectors[7] = 1000
    names = np.array([str(row) for row in range(1_500)], dtype=object)
    spaces = Spaces(Explored("x", "", {"x": vectors}, names, names))
    space = spaces.get("x", "cluster-pc-removal")
    assert space.lengths[7] == 0
    assert np.isfinite(space.units).all()
    assert (space.lengths > 0).sum() > 1_400
