from __future__ import annotations

from isoscope.results.charts.marks import COLOURS, MOST_SERIES, chosen_spaces, series_colours
from isoscope.results.charts.marks import colour_scale as listed
from isoscope.results.charts.vega import BEFORE, CATEGORIES


def test_the_space_without_a_correction_is_first_and_grey() -> None:
    spaces = chosen_spaces(["center", "none", "center", "whiten"])
    assert spaces == ["none", "center", "whiten"]
    assert series_colours(spaces) == {
        "none": BEFORE, "center": COLOURS[0], "whiten": COLOURS[1],
    }  # fmt: skip


def test_as_many_series_as_there_are_colours() -> None:
    many = [f"correction {k}" for k in range(20)]
    chosen = chosen_spaces(many)
    assert len(chosen) == MOST_SERIES
    assert set(series_colours(chosen).values()) == set(CATEGORIES)
    assert len(chosen_spaces(many, 3)) == 3


def test_a_legend_of_long_names_has_fewer_columns() -> None:
    assert listed({"a": "red", "b": "blue"})["legend"] == {"columns": 4}
    assert listed({"a name of some twenty": "red"})["legend"] == {"columns": 1}
    assert listed({"n" * 200: "red"})["legend"] == {"columns": 1}
    assert listed({"a": "red", "b": "blue"})["scale"] == {"range": ["red", "blue"]}
