from __future__ import annotations

import numpy as np
import pytest

from isoscope.measures.registry import all_measures

BIASES = {item.name: item.bias for item in all_measures() if item.bias is not None}

VARIANCES = np.array([4.0, 2.5, 1.5, 1.0, 0.7, 0.5, 0.5, 0.3])
ROWS = 2_000


def values(variances: np.ndarray) -> dict[str, float]:
    p = variances / variances.sum()
    ratio = 1 / float(p @ p)
    return {
        "top_variance_share": float(p.max()),
        "effective_rank": float(np.exp(-(p @ np.log(p)))),
        "participation_ratio": ratio,
        "iso_score": (ratio - 1) / (len(p) - 1),
    }


@pytest.fixture(scope="module")
def simulated() -> dict[str, tuple[float, float]]:
    """Mean and standard error of value − truth over sample covariances of Gaussian rows."""
    rng = np.random.default_rng(0)
    width, draws = len(VARIANCES), 20_000
    # Bartlett's decomposition: a triangle of normals and chi variables squares to the scatter.
    triangle = np.tril(rng.normal(size=(draws, width, width)), -1)
    diagonal = np.arange(width)
    triangle[:, diagonal, diagonal] = np.sqrt(rng.chisquare(ROWS - 1 - diagonal, (draws, width)))
    rooted = np.sqrt(VARIANCES)[:, None] * triangle
    found = np.linalg.eigvalsh(rooted @ rooted.transpose(0, 2, 1) / ROWS)
    truth = values(VARIANCES)
    drawn = [values(one) for one in found]
    result = {}
    for name, true in truth.items():
        differences = np.array([one[name] - true for one in drawn])
        result[name] = float(differences.mean()), float(differences.std() / np.sqrt(draws))
    return result


@pytest.mark.parametrize("name", sorted(BIASES))
def test_agrees_with_simulated_covariances(
    name: str, simulated: dict[str, tuple[float, float]]
) -> None:
    mean, error = simulated[name]
    bias = BIASES[name](VARIANCES / VARIANCES.sum()) / ROWS
    assert abs(bias) > 5 * error, "the simulation must be able to tell it from none"
    # Four errors of the simulation, and a tenth for terms of higher order in d/n.
    assert abs(bias - mean) < 4 * error + 0.1 * abs(bias)


def test_equal_top_eigenvalues_have_no_finite_bias() -> None:
    assert BIASES["top_variance_share"](np.array([0.4, 0.4, 0.2])) == np.inf


def test_directions_without_variance_change_nothing() -> None:
    p = VARIANCES / VARIANCES.sum()
    with_empty = np.concatenate((p, np.zeros(3)))
    for name in ("top_variance_share", "effective_rank", "participation_ratio"):
        assert BIASES[name](with_empty) == pytest.approx(BIASES[name](p))
