"""Small pictures in a line of text."""

from __future__ import annotations

import pytest

from isoscope.results.screen.pictures import Axis, bar, pooled, round_steps, sparkline


def test_heights_go_from_low_to_high() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], plain=True) == "_.:-=+*#"
    assert sparkline([1.0, None, float("nan"), 1.0]) == "▁  ▁"
    assert sparkline([5.0], 0.0, 10.0) == "▅"
    assert sparkline([]) == ""


def test_bars_have_eighths_of_a_cell() -> None:
    assert bar(1.0, 1.0, 3) == "███"
    assert bar(0.5, 1.0, 1) == "▌"
    assert bar(0.5, 1.0, 4, plain=True) == "##"
    assert bar(-0.2, 1.0, 4) == ""
    assert bar(None, 1.0, 4) == ""
    assert bar(2.0, 1.0, 4) == "████"


def test_long_series_are_pooled() -> None:
    assert pooled([1.0, 3.0, 5.0, 7.0], 2) == [2.0, 6.0]
    assert pooled([1.0, 2.0], 5) == [1.0, 2.0]
    assert len(pooled(list(range(1536)), 40)) == 40


def test_intervals_on_an_axis() -> None:
    axis = Axis(-1.0, 1.0, 21)
    assert axis.interval(0.5, 0.3, 0.7, mark=0.0) == "          │  ├─●─┤   "
    assert axis.interval(None, None, None, mark=0.0).strip() == "│"
    # What lies beyond an end is drawn at that end.
    assert axis.interval(5.0, None, None)[-1] == "●"


def test_ticks_do_not_touch() -> None:
    axis = Axis(0.0, 1.0, 21)
    line = axis.ticks([0.0, 0.5, 0.55, 1.0], ".1f")
    assert line.split() == ["0.0", "0.5", "1.0"]


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.25), (0.0, 1e-6), (-3.0, 7.0)])
def test_round_steps_lie_between_the_ends(low: float, high: float) -> None:
    steps = round_steps(low, high, 5)
    assert 1 <= len(steps) <= 5
    assert all(low - 1e-12 <= step <= high + 1e-12 for step in steps)


def test_no_steps_of_nothing() -> None:
    assert round_steps(1.0, 1.0, 4) == [1.0]
