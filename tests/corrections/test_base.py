"""What all corrections have in common: types, tensors, files, pipelines, storage."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted
from corrected_by_hand import unit_length
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import isoscope
from isoscope.corrections import Center, Correction, Whiten, fit_together, make_correction
from isoscope.corrections.closed_form import ClosedForm
from isoscope.errors import DataError, UsageError

CLOUD = shifted(0, 9_000, 8)
CLOUD[:, 3] += 9
NEW = shifted(1, 30, 8)
TEXTS = [
    "center",
    "center-scaled",
    "all-but-the-top:n_components=2",
    "all-but-the-top:n_components=2:project=original",
    "cluster-pc-removal:n_clusters=3:n_components=2",
    "whiten",
    "whiten:n_components=3",
    "whiten:kind=zca",
    "clip:threshold=0.2",
    "standardize",
]
every_correction = pytest.mark.parametrize("text", TEXTS)


@every_correction
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_come_out_as_they_went_in(text: str, dtype: type) -> None:
    rows = CLOUD.astype(dtype)
    fitted = make_correction(text).fit(rows)
    corrected = fitted.transform(rows)
    assert corrected.dtype == dtype
    exact = fitted.transform(rows.astype(np.float64))
    assert exact.dtype == np.float64
    # Half precision is rounded once: its own rounding of the result, and single's on the way.
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(corrected, exact, rtol=eps, atol=4e-5 if eps > 1e-15 else 1e-12)


@every_correction
def test_integers_become_float64(text: str) -> None:
    whole = np.random.default_rng(0).integers(0, 50, (100, 8))
    corrected = make_correction(text).fit_transform(whole)
    assert corrected.dtype == np.float64
    expected = make_correction(text).fit_transform(whole.astype(np.float64))
    np.testing.assert_array_equal(corrected, expected)


@every_correction
def test_a_batch_of_one_vector(text: str) -> None:
    fitted = make_correction(text).fit(CLOUD)
    np.testing.assert_allclose(fitted.transform(NEW[:1]), fitted.transform(NEW)[:1], atol=1e-12)
    with pytest.raises(ValueError, match="0 sample"):
        fitted.transform(NEW[:0])


@every_correction
def test_what_is_stored_transforms_bit_for_bit(text: str) -> None:
    fitted = make_correction(text).fit(CLOUD)
    arrays = {key: np.array(value) for key, value in fitted.state_arrays().items()}
    assert all(isinstance(value, np.ndarray) and value.dtype != object for value in arrays.values())
    again = type(fitted).from_state(fitted.get_params(), arrays)
    np.testing.assert_array_equal(again.transform(NEW), fitted.transform(NEW))
    for name, value in again.state_arrays().items():
        np.testing.assert_array_equal(value, arrays[name])
    pickled = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(pickled.transform(NEW), fitted.transform(NEW))


@pytest.mark.parametrize("text", [text for text in TEXTS if not text.startswith("cluster")])
def test_what_is_stored_learns_on(text: str) -> None:
    fitted: Any = make_correction(text).fit(CLOUD[:6_000])
    again: Any = type(fitted).from_state(fitted.get_params(), fitted.state_arrays())
    whole = make_correction(text).fit(CLOUD)
    refreshed = again.partial_fit(CLOUD[6_000:])
    np.testing.assert_allclose(refreshed.transform(NEW), whole.transform(NEW), atol=1e-11)


@every_correction
def test_renormalizing_gives_unit_length(text: str) -> None:
    fitted = make_correction(text).fit(CLOUD)
    unit = clone(fitted).set_params(renormalize=True).fit(CLOUD)
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-6), (np.float16, 2e-3)):
        rows = NEW.astype(dtype)
        np.testing.assert_allclose(
            unit.transform(rows), unit_length(fitted.transform(rows)), atol=tolerance
        )


@given(st.integers(-30, 30), st.integers(0, 100))
def test_renormalizing_works_at_any_length(power: int, seed: int) -> None:
    """Squares of lengths below 1e-19 or above 1e19 leave the range of float32."""
    rows = np.random.default_rng(seed).standard_normal((5, 4)) * 10.0**power
    unit = Center(renormalize=True).fit(rows).transform(rows.astype(np.float32))
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-5)


def test_zero_vectors_stay_zero_at_unit_length() -> None:
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert (Center(renormalize=True).fit(rows).transform(rows)[1] == 0).all()


@every_correction
def test_tensors_stay_tensors(text: str) -> None:
    torch = pytest.importorskip("torch")
    rows = torch.from_numpy(CLOUD.astype(np.float32))
    fitted = make_correction(text).fit(rows)
    expected = make_correction(text).fit(CLOUD.astype(np.float32)).transform(NEW)
    for dtype, tolerance in (
        (torch.float64, 2e-6),
        (torch.float32, 2e-5),
        (torch.float16, 4e-2),
        (torch.bfloat16, 0.3),
    ):
        new = torch.from_numpy(NEW).to(dtype)
        corrected = fitted.transform(new)
        assert corrected.dtype == dtype
        assert corrected.device == new.device
        np.testing.assert_allclose(corrected.double().numpy(), expected, atol=tolerance)
    unit = clone(fitted).set_params(renormalize=True).fit(rows).transform(rows)
    np.testing.assert_allclose(unit.norm(dim=1).numpy(), 1, atol=1e-5)


@every_correction
def test_tensors_keep_their_gradient(text: str) -> None:
    torch = pytest.importorskip("torch")
    fitted = make_correction(text).fit(CLOUD)
    new = torch.from_numpy(NEW).requires_grad_()
    fitted.transform(new).square().sum().backward()
    assert new.grad is not None
    assert torch.isfinite(new.grad).all()


def test_inverses_of_tensors_are_tensors() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.from_numpy(CLOUD)
    for text in ("center", "center-scaled", "whiten", "whiten:kind=zca", "standardize"):
        fitted: Any = make_correction(text).fit(rows)
        back = fitted.inverse_transform(fitted.transform(rows))
        assert torch.is_tensor(back)
        np.testing.assert_allclose(back.numpy(), CLOUD, atol=1e-11)


def test_tensors_that_cannot_be_corrected_are_refused() -> None:
    torch = pytest.importorskip("torch")
    fitted = Center().fit(CLOUD)
    with pytest.raises(DataError, match="expecting 8 features"):
        fitted.transform(torch.zeros(3, 7))
    with pytest.raises(DataError, match="row 1 holds NaN"):
        fitted.transform(torch.tensor([[0.0] * 8, [float("nan")] * 8]))
    with pytest.raises(DataError, match="int64"):
        Center().fit(torch.zeros(3, 7, dtype=torch.int64))


def test_torch_is_not_imported_for_arrays() -> None:
    code = (
        "import sys, numpy as np\n"
        "from isoscope.corrections import all_corrections\n"
        "for kind in all_corrections().values():\n"
        "    if kind.name != 'flow':\n"
        "        small = {'n_clusters': 2} if kind.name == 'cluster-pc-removal' else {}\n"
        "        kind(**small).fit(np.random.rand(60, 20)).transform(np.random.rand(3, 20))\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_corrections_chain_in_a_pipeline() -> None:
    chain = make_pipeline(Center(), make_correction("all-but-the-top:n_components=2"), Whiten(4))
    corrected = chain.fit_transform(CLOUD)
    np.testing.assert_allclose(np.cov(corrected, rowvar=False, bias=True), np.eye(4), atol=1e-10)
    assert list(chain.get_feature_names_out()) == ["whiten0", "whiten1", "whiten2", "whiten3"]


@every_correction
def test_frames_come_out_as_frames_with_names(text: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(CLOUD[:200], columns=[f"d{k}" for k in range(8)])
    correction = make_correction(text).set_output(transform="pandas")
    corrected = correction.fit_transform(frame)
    assert list(corrected.columns) == list(correction.get_feature_names_out())
    expected = make_correction(text).fit_transform(CLOUD[:200])
    np.testing.assert_array_equal(corrected.to_numpy(), expected)


def test_clouds_that_cannot_be_learned_from_are_refused(tmp_path: Path) -> None:
    holed = CLOUD.copy()
    holed[77, 3] = np.nan
    np.save(tmp_path / "holed.npy", holed)
    with pytest.raises(DataError, match="row 77"):
        Center().fit_cloud(tmp_path / "holed.npy")
    with pytest.raises(ValueError, match="NaN"):
        Center().fit(holed)
    selection = isoscope.data.RowSelection(
        isoscope.open_cloud(tmp_path / "holed.npy"), drop_invalid=True
    )
    fitted = Center().fit_cloud(selection)
    np.testing.assert_allclose(fitted.mean_, np.delete(CLOUD, 77, axis=0).mean(axis=0))
    for layer in (1, 2):
        np.save(tmp_path / f"layer_{layer}.npy", CLOUD)
    with pytest.raises(UsageError, match="one cloud, and there are 2"):
        Center().fit_cloud(tmp_path / "layer_{layer}.npy")


@every_correction
def test_nothing_works_before_fitting(text: str) -> None:
    correction: Correction = make_correction(text)
    with pytest.raises(NotFittedError):
        correction.transform(NEW)
    with pytest.raises(NotFittedError):
        correction.state_arrays()


def test_wrong_widths_cannot_be_turned_back() -> None:
    with pytest.raises(DataError, match="3 dimensions"):
        Whiten(3).fit(CLOUD).inverse_transform(NEW)


@pytest.mark.parametrize("text", ["whiten:n_components=9", "all-but-the-top:n_components=9",
                                  "cluster-pc-removal:n_components=9"])  # fmt: skip
def test_a_fit_that_failed_leaves_nothing_fitted(text: str) -> None:
    small, wide = shifted(0, 40, 8), shifted(0, 40, 12)
    correction = make_correction(text)
    for fit in (correction.fit, correction.fit_cloud):
        with pytest.raises(UsageError, match="n_components must be at most 8"):
            fit(small)
        with pytest.raises(NotFittedError):
            check_is_fitted(correction)
        with pytest.raises(NotFittedError):
            correction.transform(small)
    check_is_fitted(correction.fit(wide))
    with pytest.raises(UsageError):
        correction.fit(small)  # what was learned before does not belong to 8 dimensions
    with pytest.raises(NotFittedError):
        correction.transform(wide)
    check_is_fitted(pickle.loads(pickle.dumps(correction.fit(wide))))


def test_a_partial_fit_after_one_that_failed_begins_anew() -> None:
    correction = Whiten(n_components=9)
    with pytest.raises(UsageError):
        correction.partial_fit(shifted(0, 40, 8))
    rows = shifted(0, 40, 12)
    assert correction.partial_fit(rows).fingerprint == Whiten(n_components=9).fit(rows).fingerprint


def refits(correction: Correction) -> list[tuple[str, Callable[[], Any]]]:
    """Every way to fit once more that fails, with what the error says."""
    broken = NEW.copy()
    broken[3, 2] = np.nan
    negative = -np.ones(len(NEW))
    ways: list[tuple[str, Callable[[], Any]]] = [
        ("NaN", lambda: correction.fit(broken)),
        ("NaN", lambda: correction.fit_cloud(broken)),
        ("no_such_file", lambda: correction.fit_cloud("no_such_file.npy")),
        ("no_such_file", lambda: fit_together([correction], "no_such_file.npy")),
        ("2D array", lambda: correction.fit(NEW[0])),
        ("renormalize", lambda: correction.set_params(renormalize="yes").fit(NEW)),
        ("renormalize", lambda: correction.set_params(renormalize="yes").fit_cloud(NEW)),
    ]
    if isinstance(correction, ClosedForm):
        ways += [
            ("negative", lambda: correction.fit(NEW, sample_weight=negative)),
            ("negative", lambda: correction.fit_cloud(NEW, sample_weight=negative)),
            ("float8", lambda: correction.fit_moments(correction.moments_, "float8")),
        ]
    return ways


@every_correction
def test_no_fit_that_failed_leaves_an_earlier_one_behind(text: str) -> None:
    for way in range(len(refits(make_correction(text)))):
        correction = make_correction(text).fit(CLOUD)
        check_is_fitted(correction)
        message, refit = refits(correction)[way]
        with pytest.raises(ValueError, match=message):
            refit()
        with pytest.raises(NotFittedError):
            check_is_fitted(correction)
        with pytest.raises(NotFittedError):
            correction.transform(NEW)


def test_a_partial_fit_that_failed_leaves_what_was_fitted() -> None:
    correction = Whiten().fit(CLOUD)
    before = correction.fingerprint
    with pytest.raises(ValueError, match="NaN"):
        correction.partial_fit(np.full((2, 8), np.nan))
    check_is_fitted(correction)
    assert correction.fingerprint == before
