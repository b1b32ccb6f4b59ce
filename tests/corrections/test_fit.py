"""A fit that keeps some rows: the same correction, and rows of what it was fitted on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.compute.map_reduce import Run
from isoscope.corrections import Correction, make_correction
from isoscope.corrections.fit import fit_and_sample
from isoscope.data.sampling import lowest_indices
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError

VECTORS = shifted(1, 1_200, 6).astype(np.float32)
NAMES = ["whiten", "clip", "cluster-pc-removal:n_clusters=2:n_components=1"]
FLOW = "flow:n_steps=1:hidden_features=4:max_iter=1"


@pytest.fixture
def pattern(tmp_path: Path) -> str:
    """Three files, of which the second has a row that is not finite."""
    for k in range(3):
        part = VECTORS[k * 400 : k * 400 + 400].copy()
        if k == 1:
            part[30] = np.nan
        np.save(tmp_path / f"part-{k}.npy", part)
    return str(tmp_path / "part-*.npy")


def fitted(name: str, vectors: np.ndarray) -> Correction:
    return make_correction(name).fit_cloud(vectors)


@pytest.mark.parametrize("name", NAMES)
def test_the_correction_is_that_of_a_plain_fit(name: str) -> None:
    correction = make_correction(name)
    sample = fit_and_sample(correction, VECTORS, 50)
    np.testing.assert_array_equal(sample, VECTORS[lowest_indices(len(VECTORS), 50, 0)])
    assert correction.fingerprint == fitted(name, VECTORS).fingerprint
    assert correction.fitted_on_ == fitted(name, VECTORS).fitted_on_


@pytest.mark.parametrize("name", [*NAMES, FLOW])
def test_bad_shards_are_left_out_of_every_read(pattern: str, name: str) -> None:
    if name == FLOW:
        pytest.importorskip("zuko")
    rest = np.r_[VECTORS[:400], VECTORS[800:]]
    correction, plan = make_correction(name), Run(on_error="skip")
    group = RowSelection(isoscope.open_cloud(pattern))
    sample = fit_and_sample(correction, group, 10**6, plan=plan)
    np.testing.assert_array_equal(sample, rest)
    (bad,) = plan.skipped
    assert bad.endswith("part-1.npy")
    assert "row 30 holds NaN" in plan.skipped[bad]
    assert correction.fitted_on_.rows == 800
    plain = make_correction(name).fit_cloud(pattern, plan=Run(on_error="skip"))
    assert plain.fingerprint == correction.fingerprint
    expected = fitted(name, rest).transform(rest)
    np.testing.assert_allclose(correction.transform(rest), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_rows_left_out_are_counted_once(pattern: str, name: str) -> None:
    for on_error in ("stop", "skip"):
        group = RowSelection(isoscope.open_cloud(pattern), drop_invalid=True)
        plan = Run(on_error=on_error)  # type: ignore[arg-type]
        sample = fit_and_sample(make_correction(name), group, 10**6, plan=plan)
        assert group.left_out == {"not finite": 1}
        assert len(sample) == 1_199
        assert not plan.skipped


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_shard_stops_the_fit(pattern: str, name: str) -> None:
    with pytest.raises(DataError, match="part-1.npy: row 30 holds NaN"):
        make_correction(name).fit_cloud(pattern, plan=Run())


def test_the_reads_have_names_of_their_own() -> None:
    calls: list[tuple[str, int, int | None]] = []
    make_correction("center").fit_cloud(VECTORS, progress=lambda *call: calls.append(call))
    assert calls == [("fit", 1_200, 1_200)]
    calls.clear()
    clusters = make_correction("cluster-pc-removal:n_clusters=2:n_components=1")
    clusters.fit_cloud(VECTORS, progress=lambda *call: calls.append(call))
    stages = [stage for stage, _, _ in calls]
    assert stages.index("note") == len(stages) - 1
