"""Curves over training by hand."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.results.result import Row
from isoscope.verbs.study.runs.trainings import Curve


def curve(*values: float) -> Curve:
    return Curve(np.linspace(0, 1, len(values)), np.array(values))


def test_rows_in_any_order_make_a_curve() -> None:
    rows = [
        Row("m", "", "none", "i1", 0.3, extra={"step": 1000}),
        Row("m", "", "none", "i1", 0.5, extra={"step": 0}),
        Row("m", "", "none", "i1", 0.1, extra={"step": 250}),
        Row("m", "", "none", "i1", None, extra={"step": 500}),
        Row("m", "", "none", "i1", 0.9, extra={"step": None}),
    ]
    found = Curve.of(rows)
    assert found.shares.tolist() == [0, 0.25, 1]
    assert found.values.tolist() == [0.5, 0.1, 0.3]
    assert found.at(0.625) == pytest.approx(0.2)
    assert found.change(0, 1) == pytest.approx(-0.2)
    assert len(Curve.of([])) == 0


def test_only_a_curve_that_turns_is_not_monotone() -> None:
    assert curve(1, 2, 2, 3).turning == 0
    assert curve(3, 2, 1).turning == 0
    assert curve(0, 4, 3, 5).turning == 1
    assert curve(5, 1, 2, 3).turning == 2
    # small steps add up: two rises of 1, not one
    assert curve(5, 1, 2, 3, 0).turning == 2


def test_a_drop_and_what_comes_after() -> None:
    line = curve(0.9, 0.4, 0.5, 0.7, 0.6, 0.2, 0.1)
    assert line.early_drop == pytest.approx(-0.5)
    assert line.rise_after_drop == pytest.approx(0.3)
    up = curve(0.1, 0.2, 0.3, 0.4)
    assert up.early_drop == pytest.approx(0.1)
    assert up.rise_after_drop == pytest.approx(0.2)
    down = curve(0.9, 0.5, 0.3, 0.1)
    assert down.rise_after_drop == 0
    assert line.between(2 / 3, 1).tolist() == [0.6, 0.2, 0.1]
