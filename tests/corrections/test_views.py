"""Estimators against the views of ``measure``: the same numbers, made and not made."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.corrections import make_correction

CLOUDS = {
    "many rows": shifted(0, 3_000, 12),
    "fewer rows than dimensions": shifted(1, 20, 30),
    "low rank": shifted(2, 500, 4) @ np.random.default_rng(0).standard_normal((4, 9)),
    "single precision": shifted(3, 3_000, 12).astype(np.float32),
}


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize(
    "correction",
    [
        "center",
        "all-but-the-top",
        "all-but-the-top:n_components=3",
        "all-but-the-top:n_components=3:project=original",
        "whiten",
    ],
)
def test_corrected_clouds_measure_as_views_do(name: str, correction: str) -> None:
    cloud = CLOUDS[name]
    view = isoscope.measure(cloud, corrections=[correction])
    made = make_correction(correction).fit_transform(cloud)
    real = isoscope.measure(made, corrections=["none"])
    single = cloud.dtype == np.float32
    for row in real.rows:
        mine = view.row(row.measure, correction)
        if row.measure == "mean_alignment" and "original" not in correction:
            continue  # the mean is zero in a view, and rounding in a corrected cloud
        if correction == "whiten" and row.measure.startswith(("i1", "i2")):
            continue  # a whitened cloud's eigenvectors are open, and the view takes its axes
        loose = single or row.measure.startswith("cosine_quantiles")
        tolerance = {"abs": 2e-5, "rel": 1e-4} if loose else {"abs": 1e-10, "rel": 1e-8}
        assert mine.value == pytest.approx(row.value, **tolerance), row.measure


def test_components_of_a_view_are_those_of_the_estimator() -> None:
    cloud = CLOUDS["many rows"]
    made = make_correction("whiten").fit_transform(cloud)
    rows = isoscope.measure(cloud, corrections=["whiten"]).table("outlier_dimensions", "whiten")
    low, high = made.argmin(axis=1), made.argmax(axis=1)
    for row in rows.rows:
        assert row["share_minimum"] == np.mean(low == row["component"])
        assert row["share_maximum"] == np.mean(high == row["component"])
