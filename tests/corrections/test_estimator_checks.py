"""scikit-learn's own checks of what a transformer is."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from isoscope.corrections import (
    AllButTheTop,
    Center,
    Clip,
    ClusterRemoval,
    ScaledCenter,
    Standardize,
    Whiten,
)

ESTIMATORS = [
    Center(),
    Center(renormalize=True),
    ScaledCenter(),
    AllButTheTop(),
    AllButTheTop(n_components=1, project="original"),
    Whiten(),
    Whiten(kind="zca"),
    Standardize(),
    Clip(),
    Clip(dimensions=[0]),
    ClusterRemoval(n_clusters=2, n_components=1),
]


# SkipTestWarning: the checks of array API input need SCIPY_ARRAY_API in the environment.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)
