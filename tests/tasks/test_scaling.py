"""Scalings against scikit-learn's scaler, and what they leave of a space's shape."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from isoscope.errors import UsageError
from isoscope.tasks.probes import Scale

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(3, [0.1, 1, 2, 50, 0.01, 0.5], (40, 6))


def test_each_is_scikit_learns() -> None:
    expected = StandardScaler().fit(FEATURES).transform(FEATURES[:7] + 1)
    np.testing.assert_allclose(Scale.of(FEATURES, "each")(FEATURES[:7] + 1), expected)


def test_none_changes_nothing() -> None:
    np.testing.assert_array_equal(Scale.of(FEATURES, "none")(FEATURES), FEATURES)


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_block_is_centred_and_divided_by_one_number(blocks: int) -> None:
    scaled = Scale.of(FEATURES, "block", blocks)(FEATURES)
    centred = FEATURES - FEATURES.mean(axis=0)
    for mine, whole in zip(
        np.split(scaled, blocks, axis=1), np.split(centred, blocks, axis=1), strict=True
    ):
        assert np.sqrt(np.mean(mine**2)) == pytest.approx(1)
        np.testing.assert_allclose(mine / mine[0, 0], whole / whole[0, 0])


def test_the_length_of_vectors_does_not_matter() -> None:
    mine = Scale.of(FEATURES, "block")(FEATURES)
    np.testing.assert_allclose(Scale.of(FEATURES * 1e3, "block")(FEATURES * 1e3), mine)


@pytest.mark.parametrize("kind", ["block", "each"])
def test_constants_and_their_rounding_are_not_blown_up(kind: str) -> None:
    features = FEATURES.astype(np.float32)
    features[:, 1] = 7
    features[:, 2] = RNG.normal(0, 1e-9, 40)
    scaled = Scale.of(features, kind, 6)(features)
    assert np.abs(scaled[:, 1:3]).max() < 1e-5


def test_an_unknown_scaling_is_refused() -> None:
    with pytest.raises(UsageError, match="known: block, each, none"):
        Scale.of(FEATURES, "whiten")
