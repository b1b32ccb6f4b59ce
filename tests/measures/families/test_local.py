from __future__ import annotations

import math

import numpy as np
import pytest
from clouds_for_tests import shifted

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
        ("local_i1:n_clusters=0", "whole number from 1"),
        ("local_i1:n_clusters", "whole number from 1"),
        ("i1:n_clusters=2", "no option of i1"),
    ],
)
def test_mistakes(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        isoscope.measure(shifted(0, 50, 3), name)


def test_rows_that_do_not_make_the_clusters_are_undefined() -> None:
    row = isoscope.measure(np.ones((40, 3)), "local_i1:n_clusters=4:seeds=2", "none").rows[0]
    assert row.value is None
    assert "do not make 4 clusters" in row.note
