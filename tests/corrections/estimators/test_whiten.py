"""Whitening: covariance 1 where there is any, and nothing where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted
from corrected_by_hand import principal_directions
from hypothesis import given
from hypothesis import strategies as st

from isoscope.corrections import Whiten
from isoscope.errors import UsageError

CLOUD = shifted(0, 500, 12)


def covariance(rows: np.ndarray) -> np.ndarray:
    return np.cov(rows, rowvar=False, bias=True)


@pytest.mark.parametrize("kind", ["pca", "zca"])
def test_the_covariance_is_the_identity(kind: str) -> None:
    whitened = Whiten(kind=kind).fit_transform(CLOUD)
    np.testing.assert_allclose(covariance(whitened), np.eye(12), atol=1e-12)
    np.testing.assert_allclose(whitened.mean(axis=0), 0, atol=1e-12)


@given(st.floats(0, 4), st.integers(0, 1_000))
def test_the_covariance_is_the_identity_at_high_condition(decades: float, seed: int) -> None:
    """Variances up to 10⁸ apart: float64 sums leave eps · λ₁/λ, 2e-8, in the smallest."""
    spread = np.logspace(0, -decades, 5)
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((5, 5)))[0]
    rows = np.random.default_rng(seed + 1).standard_normal((200, 5)) * spread @ rotation + 0.5
    assert np.abs(covariance(Whiten().fit_transform(rows)) - np.eye(5)).max() < 1e-6
    single = rows.astype(np.float32)
    whitened = Whiten().fit(single).transform(single.astype(np.float64))
    assert np.abs(covariance(whitened) - np.eye(5)).max() < 1e-6


def test_pca_gives_components_and_zca_stays_near_the_original_axes() -> None:
    variances, directions = principal_directions(CLOUD)
    fitted = Whiten().fit(CLOUD)
    np.testing.assert_allclose(fitted.explained_variance_, variances, rtol=1e-10)
    expected = (CLOUD - CLOUD.mean(axis=0)) @ directions / np.sqrt(variances)
    signs = np.sign(np.sum(directions * fitted.components_.T, axis=0))
    np.testing.assert_allclose(fitted.transform(CLOUD), expected * signs, atol=1e-10)
    symmetric = directions / np.sqrt(variances) @ directions.T
    np.testing.assert_allclose(Whiten(kind="zca").fit(CLOUD).matrix_, symmetric, atol=1e-10)


def test_the_first_components_are_kept() -> None:
    whole = Whiten().fit_transform(CLOUD)
    fitted = Whiten(4).fit(CLOUD)
    np.testing.assert_allclose(fitted.transform(CLOUD), whole[:, :4], atol=1e-12)
    assert list(fitted.get_feature_names_out()) == ["whiten0", "whiten1", "whiten2", "whiten3"]
    zca = Whiten(4, kind="zca").fit(CLOUD)
    assert list(zca.get_feature_names_out()) == [f"x{k}" for k in range(12)]
    np.testing.assert_allclose(
        np.linalg.eigvalsh(covariance(zca.transform(CLOUD))), [0] * 8 + [1] * 4, atol=1e-12
    )


def test_dead_dimensions_are_dropped_and_named() -> None:
    """Constants, and rounding about them: naive whitening would blow it up to variance 1."""
    rows = shifted(1, 400, 8).astype(np.float32)
    rows[:, 2] = 0.7
    noise = np.random.default_rng(0).choice([0, 1], 400).astype(np.float32)
    rows[:, 5] = 0.01 + noise * np.spacing(np.float32(0.01))
    fitted = Whiten().fit(rows)
    assert list(fitted.dropped_) == [6, 7]
    directions = np.abs(fitted.components_[fitted.dropped_])
    np.testing.assert_allclose((directions**2).sum(axis=0)[[2, 5]], 1, atol=1e-6)
    whitened = fitted.transform(rows)
    assert (whitened[:, 6:] == 0).all()
    np.testing.assert_allclose(covariance(whitened[:, :6]), np.eye(6), atol=1e-5)


@pytest.mark.parametrize("kind", ["pca", "zca"])
def test_fewer_vectors_than_dimensions(kind: str) -> None:
    rows = shifted(2, 6, 20)
    fitted = Whiten(kind=kind).fit(rows)
    assert list(fitted.dropped_) == list(range(5, 20))
    whitened = fitted.transform(rows)
    assert whitened.shape == (6, 20)
    values = np.linalg.eigvalsh(covariance(whitened))
    np.testing.assert_allclose(values, [0] * 15 + [1] * 5, atol=1e-10)
    np.testing.assert_allclose(fitted.inverse_transform(whitened), rows, atol=1e-12)


@pytest.mark.parametrize("kind", ["pca", "zca"])
def test_the_inverse_restores_what_was_kept_and_the_mean_elsewhere(kind: str) -> None:
    fitted = Whiten(kind=kind).fit(CLOUD)
    new = shifted(3, 10, 12)
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(new)), new, atol=1e-12)
    few = Whiten(3, kind=kind).fit(CLOUD)
    _, directions = principal_directions(CLOUD)
    top, mean = directions[:, :3], CLOUD.mean(axis=0)
    np.testing.assert_allclose(
        few.inverse_transform(few.transform(new)), mean + (new - mean) @ top @ top.T, atol=1e-12
    )


def test_weights_are_repeated_rows() -> None:
    """Zipfian whitening: every word as often as it is used."""
    counts = np.random.default_rng(0).integers(0, 5, len(CLOUD))
    repeated = Whiten().fit(np.repeat(CLOUD, counts, axis=0))
    weighted = Whiten().fit(CLOUD, sample_weight=counts)
    np.testing.assert_allclose(weighted.transform(CLOUD), repeated.transform(CLOUD), atol=1e-10)
    assert not np.allclose(Whiten().fit(CLOUD).transform(CLOUD), weighted.transform(CLOUD))


def test_one_vector_has_no_variance() -> None:
    fitted = Whiten().fit(CLOUD[:1])
    assert list(fitted.dropped_) == list(range(12))
    assert (fitted.transform(CLOUD) == 0).all()


def test_float32_that_whitening_stretches_far_is_computed_in_double() -> None:
    """Beyond a stretch of a thousand single precision would leave noise."""
    rotation = np.linalg.qr(shifted(5, 6, 6))[0]
    rows = np.random.default_rng(4).standard_normal((3_000, 6)) * np.logspace(0, -4.5, 6)
    rows = (rows @ rotation).astype(np.float32)
    fitted = Whiten().fit(rows)
    assert fitted.dropped_.size == 0
    exact = fitted.transform(rows.astype(np.float64))
    single = fitted.transform(rows)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, atol=1e-6)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 12"):
        Whiten(13).fit(CLOUD)
    with pytest.raises(UsageError, match="of at least 1"):
        Whiten(0).fit(CLOUD)
    with pytest.raises(UsageError, match="pca or zca"):
        Whiten(kind="cholesky").fit(CLOUD)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no inverse"):
        Whiten(renormalize=True).fit(CLOUD).inverse_transform(CLOUD)
