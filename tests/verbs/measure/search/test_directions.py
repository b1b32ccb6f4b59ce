"""A sample as a search by cosine sees it."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted
from searched_by_hand import units

from isoscope.errors import DataError
from isoscope.verbs.measure.search.directions import (
    lengths_of,
    restricted,
    search_space,
    spaces_together,
)


def test_directions_less_their_mean() -> None:
    base = shifted(0, 50, 7)
    space, has, known = search_space(base, None)
    assert has.all()
    assert known is has
    np.testing.assert_allclose(space.base.moved, units(base) - units(base).mean(axis=0), atol=1e-7)
    np.testing.assert_allclose(space.base.units(space.shift), units(base), atol=1e-7)
    bits = np.unpackbits(space.base.signs, axis=1)[:, :7]
    assert (bits == (base > 0)).all()
    assert (space.rows, space.width, space.findable) == (50, 7, 49)


def test_queries_are_moved_as_the_base_is() -> None:
    base, queries = shifted(0, 50, 7), shifted(1, 9, 7)
    space, _, _ = search_space(base, queries)
    expected = units(queries) - units(base).mean(axis=0)
    np.testing.assert_allclose(space.queries.moved, expected, atol=1e-7)
    assert (space.itself == -1).all()
    assert space.findable == 50


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_lengths_of_any_size(scale: float) -> None:
    base = shifted(0, 20, 5)
    np.testing.assert_allclose(
        lengths_of(base * scale), np.linalg.norm(base, axis=1) * scale, rtol=1e-12
    )
    assert search_space(base * scale, None)[1].all()
    assert lengths_of(np.zeros((3, 2))).tolist() == [0, 0, 0]


def test_rows_without_a_direction_in_one_space_are_left_out_of_all() -> None:
    base, queries = shifted(0, 30, 6), shifted(1, 8, 6)
    base[3] = 0
    base[5, :2] = 0  # nothing is left of it in the second space
    queries[2, :2] = 0
    makers = {"all": lambda x: x, "two": lambda x: x[:, :2]}
    spaces, without = spaces_together(makers, base, queries)
    assert without == 3
    assert {space.rows for space in spaces.values()} == {28}
    assert {len(space.itself) for space in spaces.values()} == {7}
    own, without = spaces_together(makers, base)
    assert without == 2
    assert own["two"].itself.tolist() == list(range(28))
    kept = np.delete(base, [3, 5], axis=0)[:, :2]
    np.testing.assert_allclose(own["two"].base.units(own["two"].shift), units(kept), atol=1e-7)


def test_a_space_in_which_nothing_is_left_is_refused() -> None:
    makers = {"all": lambda x: x, "center": lambda x: x - x.mean(axis=0)}
    with pytest.raises(DataError, match="center leaves no vector with a direction"):
        spaces_together(makers, np.ones((30, 4)))
    with pytest.raises(DataError, match="all leaves no vector"):
        spaces_together(makers, shifted(0, 30, 4), np.zeros((3, 4)))


def test_a_space_keeps_who_is_who_when_rows_go() -> None:
    space, _, _ = search_space(shifted(0, 10, 3), None)
    some = np.arange(10) % 2 == 0
    smaller = restricted(space, some, some)
    assert smaller.queries is smaller.base
    assert (smaller.base.moved == space.base.moved[some]).all()
    assert restricted(space, some | True, some).base.moved is space.base.moved
