from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope

QUANTILES = [1, 5, 50, 95, 99]


def by_definition(vectors: np.ndarray) -> np.ndarray:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [units[i] @ units[j] for i in range(len(units)) for j in range(i)]
    return np.quantile(pairs, np.array(QUANTILES) / 100)


def test_quantiles_of_all_pairs_of_a_small_cloud() -> None:
    cloud = shifted(0, 120, 6)
    corrections = ["none", "center", "all-but-the-top:n_components=2:project=original"]
    result = isoscope.measure(cloud, ["cosine_quantiles"], corrections)
    centred = cloud - cloud.mean(axis=0)
    top = np.linalg.eigh(np.cov(cloud.T))[1][:, -2:]
    made = [cloud, centred, centred - cloud @ top @ top.T]
    for correction, vectors in zip(corrections, made, strict=True):
        found = [result.value(f"cosine_quantiles/{q}%", correction) for q in QUANTILES]
        np.testing.assert_allclose(found, by_definition(vectors), atol=1e-6)


def test_a_sample_of_a_large_cloud_is_near_and_its_size_is_printed() -> None:
    cloud = shifted(1, 30_000, 8)
    result = isoscope.measure(cloud, ["cosine_quantiles"], ["none"])
    random = np.random.default_rng(0)
    i, j = random.integers(0, 30_000, (2, 200_000))
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    truth = np.quantile(np.einsum("ij,ij->i", units[i], units[j]), np.array(QUANTILES) / 100)
    found = [result.value(f"cosine_quantiles/{q}%") for q in QUANTILES]
    # 1,024 rows: quantiles of their pairs move by a few hundredths from sample to sample.
    np.testing.assert_allclose(found, truth, atol=0.05)
    assert result.rows[0].n == 1_024
    assert "1,024 sampled rows" in result.rows[0].note


def test_zero_vectors_and_undefined_quantiles() -> None:
    cloud = np.concatenate((shifted(2, 30, 3), np.zeros((4, 3))))
    result = isoscope.measure(cloud, ["cosine_quantiles"], ["none"])
    assert result.rows[0].n == 30
    nothing = isoscope.measure(np.zeros((4, 3)), ["cosine_quantiles"], ["none"])
    assert nothing.rows[0].value is None
    assert isoscope.measure(cloud).value("cosine_quantiles/50%") == pytest.approx(
        result.value("cosine_quantiles/50%")
    )
