"""Removal of the top components against the papers' formulas, vector by vector."""

from __future__ import annotations

import math

import numpy as np
import pytest
from clouds_for_tests import shifted
from corrected_by_hand import all_but_the_top

from isoscope.corrections import AllButTheTop
from isoscope.errors import UsageError

CLOUD = shifted(0, 300, 12)
NEW = shifted(1, 20, 12, offset=-0.3)


@pytest.mark.parametrize("project", ["centered", "original"])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_both_variants_follow_their_formula(project: str, count: int) -> None:
    """Biś et al. 2021, eq. 9-11, and Mu & Viswanath 2018, algorithm 1."""
    correction = AllButTheTop(count, project=project).fit(CLOUD)
    expected = all_but_the_top(CLOUD, NEW, count, project)
    np.testing.assert_allclose(correction.transform(NEW), expected, atol=1e-12)
    np.testing.assert_allclose(NEW @ correction.matrix_ + correction.offset_, expected, atol=1e-12)


@pytest.mark.parametrize(("width", "count"), [(12, 1), (100, 1), (101, 2), (250, 3)])
def test_a_hundredth_of_the_dimensions_by_default(width: int, count: int) -> None:
    assert math.ceil(width / 100) == count
    assert AllButTheTop().fit(shifted(2, 400, width)).n_components_ == count


def test_nothing_is_removed_beyond_the_rank() -> None:
    """Three vectors span two directions around their mean; the rest of the ten is arbitrary."""
    rows = shifted(3, 3, 10)
    correction = AllButTheTop(7).fit(rows)
    assert correction.components_.shape == (2, 10)
    np.testing.assert_allclose(correction.transform(rows), 0, atol=1e-12)
    away = np.linalg.svd(rows - rows.mean(axis=0))[2][5]
    np.testing.assert_allclose(
        correction.transform((rows.mean(axis=0) + away)[None]), [away], atol=1e-12
    )


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 12"):
        AllButTheTop(13).fit(CLOUD)
    with pytest.raises(UsageError, match="whole number"):
        AllButTheTop(-1).fit(CLOUD)
    with pytest.raises(UsageError, match="centered or original"):
        AllButTheTop(project="both").fit(CLOUD)  # type: ignore[arg-type]
    assert not hasattr(AllButTheTop(), "inverse_transform")
