from __future__ import annotations

import math

import pytest

from isoscope.results.charts.forms import dots, in_panels
from isoscope.results.charts.marks import (
    MOST_SERIES,
    SHAPES,
    Marks,
    finite,
    first_series,
    left_words,
    point,
    series_style,
    with_interval,
)
from isoscope.results.charts.vega import CATEGORIES

TITLES = {"label": "task", "series": "correction", "value": "score", "panel": "kind"}


@pytest.mark.parametrize("value", [None, True, math.nan, math.inf, "3"])
def test_what_is_no_number_is_not_drawn(value: object) -> None:
    assert finite(value) is None


def test_an_interval_has_two_ends() -> None:
    assert with_interval(point("a", "b", 0.5, 0.25, 0.75)) == "0.5 (0.25 to 0.75)"
    half = point("a", "b", 0.5, 0.25, math.inf)
    assert (half["low"], half["high"]) == (None, None)
    assert with_interval(half) == "0.5"
    (drawn,) = Marks([half]).spanned()
    assert (drawn["start"], drawn["end"]) == (0.5, 0.5)
    (whole,) = Marks([point("a", "b", 0.5, 0.25, 0.75)]).spanned()
    assert (whole["start"], whole["end"]) == (0.25, 0.75)


def test_series_keep_their_colours_where_others_are_missing() -> None:
    every = ["none", "center", "whiten"]
    style = series_style(every, [point("a", "whiten", 1, None, None)], "correction", ("color",))
    assert style["color"]["scale"] == {"domain": ["whiten"], "range": [CATEGORIES[2]]}
    assert style["color"]["legend"] is None
    marks = [point("a", one, 1, None, None) for one in ("whiten", "none")]
    style = series_style(every, marks, "correction", ("color", "shape", "strokeDash"))
    assert style["shape"]["scale"] == {
        "domain": ["none", "whiten"],
        "range": [SHAPES[0], SHAPES[2]],
    }
    assert style["shape"]["legend"] is not None
    assert style["strokeDash"]["legend"] is None


def test_no_more_series_than_colours() -> None:
    names = [str(k) for k in range(9)]
    assert first_series([*names, *names]) == names[:MOST_SERIES]
    assert len(CATEGORIES) == len(SHAPES) == MOST_SERIES
    assert left_words(2, "number") == " 2 more numbers in the table only."
    assert left_words(1, "number") == " 1 more number in the table only."
    assert left_words(0, "number") == ""


def test_series_stand_beside_each_other_and_a_line_stands_where_told() -> None:
    marks = Marks(point("a", one, 1, 0, 2) for one in ("none", "center"))
    spec = dots(marks, ["none", "center"], TITLES, at=1.0)
    line, interval, dot = spec["layer"]
    assert line["encoding"]["x"]["datum"] == 1.0
    assert (interval["encoding"]["x"]["field"], interval["encoding"]["x2"]["field"]) == (
        "start", "end",
    )  # fmt: skip
    assert dot["encoding"]["yOffset"]["field"] == "series"
    alone = dots(Marks(marks[:1]), ["none", "center"], TITLES)
    assert len(alone["layer"]) == 2
    assert "yOffset" not in alone["layer"][0]["encoding"]


def test_panels_stand_in_the_order_of_the_data() -> None:
    marks = Marks(point("a", "none", 1, None, None, panel) for panel in ("z", "a", "z"))
    spec = in_panels(marks, {}, "kind")
    assert [mark["order"] for mark in spec["data"]["values"]] == [0, 1, 0]
    assert spec["facet"]["sort"] == {"field": "order", "op": "min"}
    assert spec["columns"] == 2
