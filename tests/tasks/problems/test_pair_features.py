from __future__ import annotations

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.tasks.problems.classification import BLOCKS, pair_features

U = np.array([[1.0, -2.0], [0.5, 3.0]])
V = np.array([[4.0, 1.0], [0.5, -1.0]])


def test_both_kinds_by_hand() -> None:
    expected = [[1, -2, 4, 1, 3, 3, 4, -2], [0.5, 3, 0.5, -1, 0, 4, 0.25, -3]]
    np.testing.assert_array_equal(pair_features(U, V), expected)
    np.testing.assert_array_equal(pair_features(U, V, "symmetric"), np.array(expected)[:, 4:])


def test_only_ordered_features_tell_the_order() -> None:
    np.testing.assert_array_equal(
        pair_features(U, V, "symmetric"), pair_features(V, U, "symmetric")
    )
    assert (pair_features(U, V) != pair_features(V, U)).any()


@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks_have_one_width(kind: str) -> None:
    assert pair_features(U, V, kind).shape[1] == BLOCKS[kind] * U.shape[1]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="known: ordered, symmetric"):
        pair_features(U, V, "sum")
