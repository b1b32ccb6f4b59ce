"""Zero vectors stand for missing ones: no correction turns them into vectors like others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.corrections import Center, all_corrections, make_correction

CLOUD = shifted(0, 400, 8)
CLOUD[:, 3] += 9

# One line for each class of corrections, and for parameters that change what is applied.
TEXTS = [
    "center",
    "center:renormalize=true",
    "center-scaled",
    "all-but-the-top:n_components=2",
    "all-but-the-top:n_components=2:project=original",
    "cluster-pc-removal:n_clusters=3:n_components=2",
    "cluster-pc-removal:n_clusters=1:n_components=2",
    "whiten",
    "whiten:n_components=3",
    "whiten:kind=zca:renormalize=true",
    "clip:threshold=0.2",
    "standardize",
    "flow:n_steps=1:max_iter=1",
]
every_correction = pytest.mark.parametrize("text", TEXTS)


def fitted(text: str) -> Any:
    if text.startswith("flow"):
        pytest.importorskip("zuko", reason="the extra flow is not installed")
    return make_correction(text).fit(CLOUD)


def test_every_correction_is_tested() -> None:
    assert {text.partition(":")[0] for text in TEXTS} == set(all_corrections())


@every_correction
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_zero_vectors_stay_zero(text: str, dtype: type) -> None:
    correction, rows = fitted(text), CLOUD[:6].astype(dtype)
    rows[[1, 4]] = 0
    # A row that begins with a zero is no zero vector.
    rows[2, 0] = 0
    corrected = correction.transform(rows)
    assert not corrected[[1, 4]].any()
    assert corrected[[0, 2, 3, 5]].any(axis=1).all()
    others = correction.transform(rows[[0, 2, 3, 5]])
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(corrected[[0, 2, 3, 5]], others, rtol=0, atol=64 * eps)
    assert rows[0].any()  # nothing happens in place


@every_correction
def test_zero_tensors_stay_zero(text: str) -> None:
    torch = pytest.importorskip("torch")
    correction, rows = fitted(text), torch.from_numpy(CLOUD[:4]).clone()
    rows[2] = 0
    corrected = correction.transform(rows)
    assert not corrected[2].any()
    expected = correction.transform(rows.numpy())
    np.testing.assert_allclose(corrected.detach().numpy(), expected, atol=1e-12)


@every_correction
def test_zero_vectors_of_a_file_stay_zero_and_are_counted(text: str, tmp_path: Path) -> None:
    correction, rows = fitted(text), CLOUD.copy()
    rows[[0, 7, 399]] = 0
    np.save(tmp_path / "v.npy", rows)
    applied = isoscope.apply_correction(correction, str(tmp_path / "v.npy"), tmp_path / "w.npy")
    found = np.load(tmp_path / "w.npy")
    assert not found[[0, 7, 399]].any()
    assert found[1:7].any(axis=1).all()
    assert applied.written[0].zero_vectors == 3


def test_what_became_zero_still_turns_back_into_the_mean() -> None:
    """Corrected, the mean is a zero vector too, so that this is the only inverse that there is."""
    correction = Center().fit(CLOUD)
    back = correction.inverse_transform(np.zeros((1, 8)))
    np.testing.assert_allclose(back[0], correction.mean_)
