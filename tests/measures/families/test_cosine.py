from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted
from scipy.stats import t

import isoscope
from isoscope.data.blocks import BLOCKS, Dealt

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


def test_intervals_of_quantiles_follow_woodruff() -> None:
    """By hand: the share of pairs below a quantile varies by block, its error moves the share."""
    cloud = shifted(3, 200, 5)
    found = isoscope.measure(cloud, ["cosine_quantiles"], ["none"]).rows[2]
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    cosines = units @ units.T
    pairs = cosines[np.triu_indices(200, 1)]
    middle = np.quantile(pairs, 0.5)
    below = np.where(np.eye(200, dtype=bool), 0.0, cosines <= middle).sum(axis=1) / 199
    blocks = Dealt.by_position(0, 200).blocks
    parts = [2 * (below[blocks == b] - 0.5).sum() / 200 for b in range(BLOCKS)]
    reach = t.ppf(0.975, BLOCKS - 1) * np.sqrt(BLOCKS / (BLOCKS - 1) * np.sum(np.square(parts)))
    expected = np.quantile(pairs, [0.5 - reach, 0.5 + reach])
    np.testing.assert_allclose([found.low, found.high], expected, atol=2e-4)


def test_random_pairs_are_disjoint_and_from_different_documents() -> None:
    rng = np.random.default_rng(0)
    documents = np.repeat(np.arange(60), 40)
    cloud = np.repeat(rng.normal(size=(60, 30)), 40, axis=0)
    row = isoscope.measure(cloud, ["random_pair_cosine"], ["none"], documents=documents).rows[0]
    assert row.n == 60
    # Rows of one document are equal: one such pair among thirty would show.
    assert abs(row.value) < 3 * 30**-0.5 / 30**0.5  # type: ignore[arg-type]
    large = isoscope.measure(shifted(0, 9_000, 5), ["random_pair_cosine"], ["none"]).rows[0]
    assert large.n == 2_000
    assert "1,000 pairs" in large.note


def test_random_pairs_agree_with_the_mean_over_all_pairs() -> None:
    cloud = shifted(6, 20_000, 8)
    result = isoscope.measure(cloud, ["mean_cosine", "random_pair_cosine"], ["none"])
    row = result.rows[1]
    # Its interval, twice as wide so that one seed in a thousand would fail.
    low, high = row.low, row.high
    assert low is not None
    assert high is not None
    slack = (high - low) / 2
    assert low - slack < result.value("mean_cosine") < high + slack


def test_uniformity_follows_its_definition() -> None:
    cloud = shifted(7, 150, 4)
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    squared = [np.sum((units[i] - units[j]) ** 2) for i in range(len(units)) for j in range(i)]
    expected = np.log(np.mean(np.exp(-2 * np.array(squared))))
    found = isoscope.measure(cloud, ["uniformity"], ["none"]).value("uniformity")
    assert found == pytest.approx(expected, rel=1e-9)


def test_larger_samples_leave_the_quantiles_alone() -> None:
    cloud = shifted(8, 9_000, 5)
    alone = isoscope.measure(cloud, ["cosine_quantiles"], ["none"])
    beside = isoscope.measure(cloud, ["cosine_quantiles", "hubness"], ["none"])
    assert beside.value("cosine_quantiles/99%") == alone.value("cosine_quantiles/99%")


def test_all_means_more_than_the_default() -> None:
    cloud = shifted(9, 200, 4)
    named = {row.measure for row in isoscope.measure(cloud, "all", "none").rows}
    default = {row.measure for row in isoscope.measure(cloud, corrections="none").rows}
    assert named > default
    assert named - default == {
        "random_pair_cosine", "uniformity", "hubness", "intrinsic_dimension", "local_i1",
    }  # fmt: skip
