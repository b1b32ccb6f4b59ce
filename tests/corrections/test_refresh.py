from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.corrections import ClusterRemoval, Correction, Whiten, make_correction, refreshed
from isoscope.corrections.fit import read_summary
from isoscope.errors import DataError, UsageError
from isoscope.measures.reads.moments import MomentParts

CLOUD = np.random.default_rng(5).standard_normal((400, 7)) @ np.diag([4, 2, 2, 1, 1, 1, 0.5]) + 2
NAMES = ["center", "center-scaled", "all-but-the-top", "whiten", "clip", "standardize"]


@pytest.mark.parametrize("name", NAMES)
def test_old_and_new_vectors_give_what_a_fit_on_all_of_them_gives(
    name: str, tmp_path: Path
) -> None:
    make_correction(name).fit(CLOUD[:250]).save(tmp_path / "c.safetensors")
    np.save(tmp_path / "new.npy", CLOUD[250:])
    fresh = refreshed(
        isoscope.load_correction(tmp_path / "c.safetensors"), str(tmp_path / "new.npy")
    )
    together = make_correction(name).fit(CLOUD)
    assert type(fresh) is type(together)
    assert fresh.fitted_on_ == together.fitted_on_
    # Sums in another order: a few roundings, and the signs of eigenvectors are fixed.
    np.testing.assert_allclose(
        fresh.transform(CLOUD), together.transform(CLOUD), rtol=1e-9, atol=1e-11
    )


def test_the_old_one_does_not_change() -> None:
    old = Whiten().fit(CLOUD[:250])
    before = old.fingerprint
    assert refreshed(old, CLOUD[250:]).fingerprint != before
    assert old.fingerprint == before


def test_sums_and_weights() -> None:
    weights = np.arange(150.0)
    old = Whiten().fit(CLOUD[:250])
    expected = Whiten().fit(CLOUD, sample_weight=np.concatenate([np.ones(250), weights]))
    found = refreshed(old, CLOUD[250:], sample_weight=weights)
    np.testing.assert_allclose(found.transform(CLOUD), expected.transform(CLOUD), atol=1e-11)
    sums = read_summary(isoscope.open_cloud(CLOUD[250:]), MomentParts(), weights=weights).moments
    np.testing.assert_array_equal(refreshed(old, sums).transform(CLOUD), found.transform(CLOUD))
    with pytest.raises(UsageError, match="the sums include their weights"):
        refreshed(old, sums, sample_weight=weights)


def test_the_coarsest_type_counts() -> None:
    assert refreshed(Whiten().fit(CLOUD), CLOUD.astype(np.float16)).stored_ == "float16"
    assert refreshed(Whiten().fit(CLOUD.astype(np.float32)), CLOUD).stored_ == "float32"


@pytest.mark.parametrize("new", [CLOUD[:, :5], "sums"], ids=["cloud", "sums"])
def test_another_width(new: object) -> None:
    if isinstance(new, str):
        new = read_summary(isoscope.open_cloud(CLOUD[:, :5]), MomentParts()).moments
    with pytest.raises(DataError, match=r"fitted on 7 dimensions, and the new vectors have 5"):
        refreshed(Whiten().fit(CLOUD), new)


def test_one_that_needs_all_vectors_again() -> None:
    fitted: Correction = ClusterRemoval(n_clusters=2, n_components=1).fit(CLOUD)
    with pytest.raises(UsageError, match=r"cluster-pc-removal must be .*standardize can$"):
        refreshed(fitted, CLOUD)


def test_the_same_vectors_are_refused_where_that_is_asked_for() -> None:
    old = Whiten().fit(CLOUD)
    with pytest.raises(UsageError, match="are those that the correction was fitted on"):
        refreshed(old, CLOUD, refuse_same=True)
    refreshed(old, CLOUD)
    refreshed(old, CLOUD[1:], refuse_same=True)
