from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoscope.corrections import Center, ClusterRemoval, Whiten, all_corrections, fit_together
from isoscope.corrections.fit import same_vectors

CLOUD = np.random.default_rng(2).standard_normal((300, 12)) + 1
UNIT = CLOUD / np.linalg.norm(CLOUD, axis=1, keepdims=True)


def test_the_same_cloud_gives_the_same_facts_to_every_correction() -> None:
    kinds = [kind for name, kind in all_corrections().items() if name != "flow"]
    small = {"n_clusters": 2, "n_components": 1}
    together = fit_together(
        [kind(**{k: v for k, v in small.items() if k in kind().get_params()}) for kind in kinds],
        CLOUD,
    )
    facts = {correction.fitted_on_ for correction in together}
    facts |= {Center().fit(CLOUD).fitted_on_, ClusterRemoval(2, 1).fit_cloud(CLOUD).fitted_on_}
    assert len(facts) == 1
    assert facts.pop().rows == 300


def test_the_number_of_cores_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cloud.npy"
    np.save(path, np.random.default_rng(3).standard_normal((20_000, 256), dtype=np.float32))
    found = set()
    for cores in (1, 2, 3):
        monkeypatch.setattr("isoscope.compute.map_reduce.cores", lambda n=cores: n)
        center = Center().fit_cloud(str(path))
        found.add((center.fitted_on_, center.fingerprint))
    assert len(found) == 1


def test_another_cloud_has_another_fingerprint() -> None:
    turned = UNIT[:, ::-1]  # lengths are the same
    changed = CLOUD.copy()
    changed[7, 3] += 1e-3
    clouds = (CLOUD, CLOUD[1:], changed, UNIT, turned)
    assert len({Center().fit(cloud).fitted_on_.fingerprint for cloud in clouds}) == len(clouds)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_unit_length_is_seen_through_rounding(dtype: str) -> None:
    for cloud in (UNIT.astype(dtype), UNIT.astype(np.float32).astype(dtype)):
        assert Center().fit(cloud).fitted_on_.unit_length
    zero = np.vstack([UNIT, np.zeros((1, 12))]).astype(dtype)
    assert Whiten().fit(zero).fitted_on_.unit_length
    for cloud in (CLOUD, 1.1 * UNIT, np.vstack([UNIT, 0.9 * UNIT[:30]]), np.zeros((4, 3))):
        assert not Center().fit(cloud.astype(dtype)).fitted_on_.unit_length


def test_sums_of_the_same_vectors_in_other_parts_are_known_again() -> None:
    rows = np.random.default_rng(0).normal(size=(1_000, 32)).astype(np.float32) + 1
    whole = Center().fit(rows).moments_
    parts = Center().fit(rows[::2]).partial_fit(rows[1::2]).moments_
    assert same_vectors(whole, parts)
    assert not same_vectors(whole, Center().fit(rows[:999]).moments_)
    moved = rows.copy()
    moved[0] += 1
    assert not same_vectors(whole, Center().fit(moved).moments_)
