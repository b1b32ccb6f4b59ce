"""Views against clouds that were really corrected: the same numbers, without the copy."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope

CLOUDS = {
    "many rows": shifted(0, 6_000, 12),
    "fewer rows than dimensions": shifted(1, 20, 30),
    "low rank": shifted(2, 500, 4) @ np.random.default_rng(0).standard_normal((4, 9)),
}


def corrected(cloud: np.ndarray, correction: str) -> np.ndarray:
    centred = cloud - cloud.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(cloud))
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)  # the sign of a component: its largest entry is > 0
    vectors = vectors * np.sign(vectors[largest, np.arange(len(values))])
    top = vectors[:, :3]
    if correction == "center":
        return centred
    if correction == "all-but-the-top:n_components=3":
        return centred - centred @ top @ top.T
    if correction == "all-but-the-top:n_components=3:project=original":
        return centred - cloud @ top @ top.T
    kept = values > values[0] * 1e-13
    return np.where(kept, centred @ vectors / np.sqrt(np.where(kept, values, 1)), 0.0)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize(
    "correction",
    [
        "center",
        "all-but-the-top:n_components=3",
        "all-but-the-top:n_components=3:project=original",
        "whiten",
    ],
)
def test_a_view_equals_the_corrected_cloud(name: str, correction: str) -> None:
    cloud = CLOUDS[name]
    made = corrected(cloud, correction)
    view = isoscope.measure(cloud, corrections=[correction])
    real = isoscope.measure(made, corrections=["none"])
    for row in real.rows:
        mine = view.row(row.measure, correction)
        if row.measure == "mean_alignment" and "original" not in correction:
            assert mine.value is None
            continue
        if correction == "whiten" and row.measure.startswith(("i1", "i2")):
            continue  # a whitened cloud's eigenvectors are open; the oracle takes its axes
        # Cosines of a large sample's pairs are taken in single precision.
        tolerance = 1e-6 if row.measure.startswith("cosine_quantiles") else 1e-12
        assert mine.value == pytest.approx(row.value, abs=tolerance, rel=1e-10), row.measure
        if row.log10 is not None:
            assert mine.log10 == pytest.approx(row.log10, abs=1e-12, rel=1e-10), row.measure


@pytest.mark.parametrize("correction", ["center", "all-but-the-top:n_components=3", "whiten"])
def test_tables_of_a_view_equal_those_of_the_corrected_cloud(correction: str) -> None:
    cloud = CLOUDS["many rows"]
    made = corrected(cloud, correction)
    view = isoscope.measure(cloud, corrections=[correction])
    outliers = view.table("outlier_dimensions", correction).rows
    low, high = made.argmin(axis=1), made.argmax(axis=1)
    key = "component" if correction == "whiten" else "dimension"
    assert len(outliers) == 12
    for row in outliers:
        assert row["share_minimum"] == np.mean(low == row[key])
        assert row["share_maximum"] == np.mean(high == row[key])
        share = made[:, row[key]].var() / made.var(axis=0).sum()
        assert row["share_of_variance"] == pytest.approx(share)
    bins = view.table("norm_density", correction).rows
    lengths = np.linalg.norm(made, axis=1)
    for row in bins:
        assert row["count"] == np.sum((lengths >= row["from"]) & (lengths < row["to"]))
    assert sum(row["count"] for row in bins) == len(cloud)
    spectrum = view.table("spectrum", correction).rows
    singular = np.linalg.svd(made, compute_uv=False)
    np.testing.assert_allclose(
        [row["singular_value"] for row in spectrum], singular, atol=1e-6 * singular[0]
    )


def test_default_number_of_components_is_a_hundredth() -> None:
    cloud = shifted(3, 400, 150)
    result = isoscope.measure(
        cloud, ["participation_ratio"], ["all-but-the-top", "all-but-the-top:n_components=2"]
    )
    assert result.rows[0].value == result.rows[1].value


def test_ill_conditioned_single_precision_is_projected_in_double() -> None:
    """Beyond a stretch of a thousand the whitened ln Z of float32 would be noise."""
    cloud = (shifted(4, 5_000, 6, 0) * np.logspace(0, -4.5, 6)).astype(np.float32)
    row = isoscope.measure(cloud, ["i1"], ["whiten"]).row("i1", "whiten")
    assert "projections in float64" in row.protocol
    double = isoscope.measure(cloud, ["i1"], ["whiten"], precision="double").row("i1", "whiten")
    assert row.log10 == pytest.approx(double.log10, rel=1e-9)


def test_dead_dimensions_are_dropped_by_whitening() -> None:
    random = np.random.default_rng(0)
    cloud = random.standard_normal((1_000, 8)).astype(np.float32)
    cloud[:, 3] = 0.7
    cloud[:, 5] = 1e-9 * random.standard_normal(1_000)
    result = isoscope.measure(cloud)
    dead = [row["dimension"] for row in result.table("dead_dimensions").rows]
    assert dead == [3, 5]
    assert result.value("iso_score", "whiten") == pytest.approx((6 - 1) / 7)
    assert len(result.table("dead_dimensions", "whiten").rows) == 2
    assert result.value("mean_norm", "whiten") == pytest.approx(np.sqrt(6), rel=0.05)
