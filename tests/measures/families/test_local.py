from __future__ import annotations

import math

import numpy as np
import pytest
from clouds_for_tests import shifted
from scipy.special import logsumexp

import isoscope
from isoscope.corrections import ClusterRemoval
from isoscope.errors import UsageError

RNG = np.random.default_rng(0)
CLOUD = np.concatenate([RNG.normal(size=(150, 4)) + offset for offset in (0, 6, -9)])


def test_every_cluster_is_centred_on_its_own_mean() -> None:
    name = "local_i1:n_clusters=3:seeds=2"
    found = isoscope.measure(CLOUD, name, "none").row(name)
    values = []
    for seed in range(2):
        clusters = ClusterRemoval(3, 0, random_state=seed).fit(CLOUD).assign(CLOUD)
        centred = CLOUD.copy()
        for cluster in np.unique(clusters):
            centred[clusters == cluster] -= CLOUD[clusters == cluster].mean(axis=0)
        values.append(isoscope.measure(centred, "i1", "none").value("i1"))
    assert found.value == pytest.approx(np.mean(values), rel=1e-9)
    assert found.log10 == pytest.approx(math.log10(np.mean(values)), rel=1e-9)
    assert found.extra["seed_1_log10"] == pytest.approx(math.log10(values[1]), rel=1e-9)
    assert found.value > isoscope.measure(CLOUD, "i1", "none").value("i1")


def test_one_cluster_is_the_centred_cloud() -> None:
    result = isoscope.measure(CLOUD, ["i1", "local_i1:n_clusters=1:seeds=1"], ["none", "center"])
    local = result.value("local_i1:n_clusters=1:seeds=1")
    assert local == pytest.approx(result.value("i1", "center"), rel=1e-9)
    assert result.row("local_i1:n_clusters=1:seeds=1", "center").value is None


def test_values_below_the_smallest_double_keep_their_logarithm() -> None:
    row = isoscope.measure(CLOUD * 200, "local_i1:n_clusters=2:seeds=2", "none").rows[0]
    assert row.value == 0
    assert row.log10 is not None
    assert row.log10 < -320


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("local_i1:clusters=2", "did you mean n_clusters"),
        ("local_i1:n_clusters=0", "whole number of at least 1"),
        ("local_i1:n_clusters", "whole number of at least 1"),
        ("i1:n_clusters=2", "no option of i1"),
    ],
)
def test_mistakes(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        isoscope.measure(shifted(0, 50, 3), name)


def test_rows_that_do_not_make_the_clusters_are_undefined() -> None:
    row = isoscope.measure(np.ones((40, 3)), "local_i1:n_clusters=4:seeds=2", "none").rows[0]
    assert row.value is None
    assert "do not form 4 clusters" in row.note


def by_hand(cloud: np.ndarray, groups: np.ndarray) -> float:
    """ln I1 of rows around the means of groups that are known, in double precision."""
    within = cloud.astype(np.float64)
    for group in np.unique(groups):
        within[groups == group] -= within[groups == group].mean(axis=0)
    projected = within @ np.linalg.eigh(within.T @ within)[1]
    logs = np.maximum(logsumexp(projected, axis=0), logsumexp(-projected, axis=0))
    return float(logs.min() - logs.max())


@pytest.mark.parametrize("shape", [(3_000, 24), (120, 2_048)])
def test_single_precision_far_from_the_origin(shape: tuple[int, int]) -> None:
    """Both with a scatter and, for few rows of many dimensions, without one."""
    rows, width = shape
    random = np.random.default_rng(1)
    groups = random.integers(0, 4, rows)
    places = random.standard_normal((4, width)) * 30 + 100
    spread = np.linspace(1, 0.1, width)
    cloud = (places[groups] + random.standard_normal((rows, width)) * spread).astype(np.float32)
    row = isoscope.measure(cloud, "local_i1:n_clusters=4:seeds=3", "none").rows[0]
    expected = by_hand(cloud, groups) / math.log(10)
    for seed in range(3):
        assert row.extra[f"seed_{seed}_log10"] == pytest.approx(expected, abs=2e-5)


def test_the_clusters_of_a_sample_are_those_of_all_rows_and_the_note_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("isoscope.corrections.clusters.centers.SAMPLED_PER_CLUSTER", 20)
    random = np.random.default_rng(2)
    groups = random.integers(0, 5, 2_000)
    cloud = random.standard_normal((5, 6))[groups] * 9 + random.standard_normal((2_000, 6))
    row = isoscope.measure(cloud, "local_i1:n_clusters=5:seeds=2", "none").rows[0]
    assert row.log10 == pytest.approx(by_hand(cloud, groups) / math.log(10), rel=1e-9)
    assert row.note == "5 clusters, mean of 2 seeds, found on 100 sampled rows"


def test_all_seeds_share_three_reads() -> None:
    stages: list[str] = []
    isoscope.measure(
        shifted(0, 400, 5), "local_i1:n_clusters=3", "none", intervals=False,
        progress=lambda stage, done, _: stages.append(stage) if done == 400 else None,
    )  # fmt: skip
    assert stages[-3:] == ["sample", "clusters", "within clusters"]
    assert len(stages) <= 5


def test_exact_finds_clusters_on_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.corrections.clusters.centers.SAMPLED_PER_CLUSTER", 20)
    cloud, name = shifted(1, 600, 5), "local_i1:n_clusters=4:seeds=2"
    sampled, whole = (
        isoscope.measure(cloud, name, "none", exact=exact).rows[0] for exact in (False, True)
    )
    assert sampled.note.endswith("found on 80 sampled rows")
    assert whole.note == "4 clusters, mean of 2 seeds"
    assert sampled.value != whole.value
