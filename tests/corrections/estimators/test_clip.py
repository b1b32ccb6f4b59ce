"""Which dimensions are clipped, by the rule that Clip states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from clouds_for_tests import shifted

from isoscope.corrections import Clip
from isoscope.errors import UsageError


def with_outliers(width: int, outliers: dict[int, float], rows: int = 400) -> np.ndarray:
    """Return noise with an offset in some dimensions only."""
    cloud = np.random.default_rng(0).standard_normal((rows, width))
    for dimension, size in outliers.items():
        cloud[:, dimension] += size
    return cloud


def shares(cloud: np.ndarray) -> np.ndarray:
    """Each dimension's share of the mean cosine, pair by pair."""
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    parts = sum(a * b for a, b in itertools.combinations(units, 2))
    return np.asarray(parts / np.sum(parts))


def test_the_rule_is_the_share_of_the_mean_cosine() -> None:
    cloud = with_outliers(400, {7: 30.0, 120: 8.0, 300: 5.0}, rows=60)
    found = shares(cloud)
    assert found[7] > 0.5
    assert 0.05 < found[120] < 0.1
    assert found[300] < 0.05
    assert list(Clip().fit(cloud).dimensions_) == [7, 120]
    assert list(Clip(threshold=0.1).fit(cloud).dimensions_) == [7]
    assert list(Clip(threshold=found[120] - 1e-9).fit(cloud).dimensions_) == [7, 120]
    assert list(Clip(threshold=found[120] + 1e-9).fit(cloud).dimensions_) == [7]


def test_others_stay_as_they_are() -> None:
    cloud = with_outliers(100, {7: 20.0})
    corrected = Clip().fit_transform(cloud)
    assert (corrected[:, 7] == 0).all()
    others = np.arange(100) != 7
    assert (corrected[:, others] == cloud[:, others]).all()


def test_without_a_common_direction_nothing_is_clipped() -> None:
    """A dimension that varies a lot is no offset: the mean cosine stays near 0."""
    cloud = with_outliers(100, {})
    cloud[:, 3] *= 20
    assert Clip().fit(cloud).dimensions_.size == 0
    assert Clip().fit(np.zeros((5, 3))).dimensions_.size == 0
    assert Clip().fit(cloud[:1]).dimensions_.size == 0


def test_a_dimension_that_varies_widely_is_found_by_its_length() -> None:
    cloud = with_outliers(400, {7: 30.0}, rows=300)
    cloud[:, 3] *= 12
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    found = (units**2).mean(axis=0)
    assert found[3] < found[7]
    assert list(Clip(by="length").fit(cloud).dimensions_) == [3, 7]
    assert list(Clip(by="length", threshold=found[3] + 1e-9).fit(cloud).dimensions_) == [7]
    assert list(Clip(by="length").fit(with_outliers(400, {})).dimensions_) == []
    assert list(Clip(by="length").fit(np.zeros((5, 3))).dimensions_) == []


def test_an_offset_in_no_particular_dimension_is_not_clipped() -> None:
    random = np.random.default_rng(0)
    for width in (20, 300):
        offset = random.standard_normal(width) * 5
        assert Clip().fit(random.standard_normal((200, width)) + offset).dimensions_.size == 0


def test_in_few_dimensions_almost_all_of_it_stands_out() -> None:
    assert list(Clip().fit(with_outliers(4, {2: 30.0})).dimensions_) == [2]


@pytest.mark.parametrize("dimensions", [[2, 0], (0, 2), np.array([0, 2])])
def test_named_dimensions(dimensions: object) -> None:
    cloud = shifted(0, 50, 5)
    fitted = Clip(dimensions).fit(cloud)  # type: ignore[arg-type]
    assert list(fitted.dimensions_) == [0, 2]
    assert list(Clip([]).fit(cloud).dimensions_) == []


@pytest.mark.parametrize("dimensions", ["some", [1.5], [-1], [5], None])
def test_wrong_dimensions_are_refused(dimensions: object) -> None:
    with pytest.raises(UsageError, match="dimension"):
        Clip(dimensions).fit(shifted(0, 50, 5))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="threshold"):
        Clip(threshold=2).fit(shifted(0, 50, 5))
    with pytest.raises(UsageError, match="cosine or length"):
        Clip(by="width").fit(shifted(0, 50, 5))  # type: ignore[arg-type]
