"""Evenness of a matrix against ``isoscope.measure``, and against its definition for one row."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope import measure
from isoscope.verbs.train import trainer as module
from isoscope.verbs.train.trainer import MEASURES, evenness

RNG = np.random.default_rng(0)
ROWS = RNG.normal(0.2, 0.5, (7, 5)) * np.arange(1, 6)


@pytest.mark.parametrize("rows", [2, 3, 7])
def test_it_is_what_isoscope_measures(rows: int) -> None:
    matrix = ROWS[:rows]
    found = measure(matrix, "i1,i2,mean_norm,i1_scaled", "none", intervals=False)
    assert list(evenness(matrix)) == list(MEASURES)
    for name, value in evenness(matrix).items():
        assert value == pytest.approx(found.value(name), rel=1e-9), name


def test_sums_of_exponentials_and_of_their_logarithms_agree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = evenness(ROWS)
    monkeypatch.setattr(module, "SAFE", 0.0)
    assert evenness(ROWS) == pytest.approx(whole, rel=1e-12)


def test_one_row_by_its_definition() -> None:
    """Z is e^‖w‖ along the row, and 1 along every direction across it."""
    row = np.array([[0.3, -0.4, 0.0, 1.2]])
    z = np.array([np.exp(np.linalg.norm(row)), 1.0, 1.0, 1.0])
    found = evenness(row)
    assert found["i1"] == pytest.approx(z.min() / z.max())
    assert found["i2"] == pytest.approx(z.std() / z.mean())
    assert found["mean_norm"] == pytest.approx(1.3)
    assert found["i1_scaled"] == pytest.approx(np.exp(-1))


def test_i2_is_bounded_by_i1() -> None:
    """Numbers between m and M have a deviation of at most their mean times (1 − r) / (2 √r)."""
    for scale in (0.01, 0.1, 1.0, 3.0):
        for rows in (1, 2, 3, 40):
            found = evenness(RNG.normal(0.1, scale, (rows, 8)))
            assert found["i1"] is not None
            assert found["i2"] is not None
            bound = (1 - found["i1"]) / (2 * found["i1"] ** 0.5)
            assert found["i2"] <= bound * (1 + 1e-9)


def test_zero_rows_are_even_and_have_no_scale() -> None:
    assert evenness(np.zeros((2, 3))) == {"i1": 1, "i2": 0, "mean_norm": 0, "i1_scaled": None}


def test_what_is_not_finite_is_undefined() -> None:
    assert evenness([[1.0, np.nan]]) == dict.fromkeys(MEASURES)
    assert evenness([[1.0, np.inf], [0.0, 1.0]]) == dict.fromkeys(MEASURES)


def test_long_rows_do_not_overflow() -> None:
    found = evenness([[2_000.0, 0.0], [0.0, 1.0]])
    assert found["i1"] == pytest.approx(0)
    assert found["i2"] == pytest.approx(1)
