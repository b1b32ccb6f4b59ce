"""Anything with fit and transform is a correction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from isoscope.corrections.named import NamedCorrection, fitted, in_memory, named
from isoscope.data.arrays import ArrayCloud
from isoscope.errors import DataError, UsageError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9_000, 4)) + 3


class Plain:
    """A transformer that is no scikit-learn estimator."""

    def __init__(self, made: Any = None) -> None:
        self.made = made

    def fit(self, X: Any, y: Any = None) -> Plain:
        del y
        self.seen = len(X)
        return self

    def transform(self, X: Any) -> Any:
        return X if self.made is None else self.made

    def __str__(self) -> str:
        return "plain\n  one"


def fit(one: NamedCorrection) -> NamedCorrection:
    (ready,) = fitted([one], ArrayCloud(X), None)
    return ready


def test_none_leaves_vectors_as_they_are() -> None:
    (none,) = named(["none"])
    assert fit(none).apply(X) is X


def test_a_transformer_is_fitted_on_all_rows_and_left_untouched() -> None:
    scaler = StandardScaler(with_std=False)
    (one,) = named([scaler])
    ready = fit(one)
    assert ready.apply(X[:2]) == pytest.approx(X[:2] - X.mean(axis=0), abs=1e-12)
    assert not hasattr(scaler, "mean_")
    assert one.name == "StandardScaler(with_std=False)"


def test_names_are_those_of_the_command_line() -> None:
    texts = ["center", "none", "all-but-the-top:n_components=2", "center-scaled"]
    ready = dict(zip(texts, fitted(named(texts), ArrayCloud(X), None), strict=True))
    assert [one.name for one in ready.values()] == texts
    centred = X[:3] - X.mean(axis=0)
    assert ready["center"].apply(X[:3]) == pytest.approx(centred, abs=1e-12)
    removed = PCA(2).fit(X).components_
    expected = centred - centred @ removed.T @ removed
    assert ready["all-but-the-top:n_components=2"].apply(X[:3]) == pytest.approx(expected, abs=1e-9)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    scaled = X[:3] - lengths[:3] * (X / lengths).mean(axis=0)
    assert ready["center-scaled"].apply(X[:3]) == pytest.approx(scaled, abs=1e-9)


def test_what_is_no_estimator_works_too() -> None:
    (one,) = named([Plain()])
    ready = fit(one)
    assert one.name == "plain one"
    assert ready.transformer is not None
    assert ready.transformer.seen == 9_000


def test_fewer_dimensions_are_fine() -> None:
    (one,) = named([PCA(2, random_state=0)])
    assert fit(one).apply(X[:3]).shape == (3, 2)


def test_repeats_go_and_the_order_stays() -> None:
    assert [one.name for one in named([Plain(), "none", " none "])] == ["plain one", "none"]


@pytest.mark.parametrize("made", [np.full((2, 4), np.nan), np.zeros((3, 4)), np.zeros(2)])
def test_what_a_correction_must_not_return(made: np.ndarray) -> None:
    (one,) = named([Plain(made)])
    with pytest.raises(DataError, match="correction Plain|correction plain"):
        fit(one).apply(X[:2])


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="at least one correction"):
        named([])
    with pytest.raises(UsageError, match="fit and transform, which int does not"):
        named([3])  # type: ignore[list-item]


def test_loading_joins_the_batches_in_order() -> None:
    assert np.array_equal(in_memory(ArrayCloud(X)), X)
