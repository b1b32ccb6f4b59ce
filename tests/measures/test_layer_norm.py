"""Gains and biases of norms: against a LayerNorm that really ran."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.layer_norm import NormWeights, standardized


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    z = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    return gain * z + bias


@given(st.integers(0, 10_000), st.integers(2, 40))
def test_the_parallel_part_is_the_distance_of_the_plane_from_the_origin(
    seed: int, width: int
) -> None:
    random = np.random.default_rng(seed)
    gain = random.uniform(0.2, 3, width) * random.choice([-1, 1], width)
    bias = random.normal(size=width)
    outputs = layer_norm(random.normal(size=(20, width)), gain, bias)
    normal = 1 / gain
    distances = outputs @ normal / np.linalg.norm(normal)
    found = NormWeights(gain, bias, centres=True).values()
    parallel, across = found["bias_parallel"].value, found["bias_perpendicular"].value
    np.testing.assert_allclose(np.abs(distances), parallel, atol=1e-9)
    assert parallel is not None
    assert across is not None
    assert np.hypot(parallel, across) == pytest.approx(np.linalg.norm(bias))


def test_average_norms_and_their_ratio() -> None:
    found = NormWeights(np.full(16, 2.0), np.full(16, -0.5), centres=True).values()
    assert found["gain_avgnorm"].value == pytest.approx(2.0)
    assert found["bias_avgnorm"].value == pytest.approx(0.5)
    assert found["bias_over_gain"].value == pytest.approx(0.25)
    # A constant gain: the normal is (1 … 1), along which a constant bias points.
    assert found["bias_parallel"].value == pytest.approx(2.0)
    assert found["bias_perpendicular"].value == pytest.approx(0.0, abs=1e-7)


def test_what_a_norm_does_not_have_is_undefined_with_a_reason() -> None:
    plain = NormWeights(np.ones(4), None, centres=False).values()
    assert plain["bias_over_gain"].value is None
    assert "no bias" in plain["bias_over_gain"].note
    rms = NormWeights(np.ones(4), np.ones(4), centres=False).values()
    assert "RMSNorm" in rms["bias_parallel"].note
    zero = NormWeights(np.array([0.0, 1.0]), np.ones(2), centres=True).values()
    assert "1 gains are zero" in zero["bias_parallel"].note
    assert (
        NormWeights(np.zeros(2), np.ones(2), centres=True).values()["bias_over_gain"].value is None
    )


def test_a_tiny_gain_is_named_where_it_decides() -> None:
    gain = np.ones(8)
    gain[3] = 1e-30
    found = NormWeights(gain, np.ones(8), centres=True).values()["bias_parallel"]
    assert found.value == pytest.approx(1.0)
    assert "smallest gain" in found.note
    gain[3] = -1e-6
    turned = NormWeights(gain, np.ones(8), centres=True).values()["bias_parallel"]
    assert turned.note == found.note


def test_outliers_are_more_than_three_deviations_off() -> None:
    gain = np.random.default_rng(0).normal(1, 0.01, 200)
    gain[17] = 3.0
    bias = np.zeros(200)
    found = NormWeights(gain, bias, centres=True).outliers()
    assert [(row["of"], row["dimension"]) for row in found] == [("gain", 17)]
    assert not standardized(np.full(5, 0.1)).any()


def test_ranks_count_from_the_largest() -> None:
    weights = NormWeights(np.array([1.0, -5.0, 2.0]), np.array([0.0, 1.0, 9.0]), centres=True)
    assert weights.ranks([1, 2]) == {"gain": {1: 1, 2: 2}, "bias": {1: 2, 2: 1}}
