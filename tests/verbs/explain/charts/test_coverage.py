"""Curves of coverage, with the points that people quote."""

from __future__ import annotations

from drawn_charts_for_tests import (
    HOSTILE,
    axes_of,
    check_chart,
    kind_of,
    marks_in,
    picture,
    units,
    values_of,
)

from isoscope.models.frequencies import Coverage
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.explain.charts.frequency import coverage_figures

COUNTS = Coverage.of(1_000 // rank for rank in range(1, 500))


def curve(subject: str, part: str = "") -> Table:
    return Table(subject, part, "none", "coverage", COUNTS.curve())


def rows_of(subject: str, part: str = "") -> list[Row]:
    return [
        Row(subject, part, "none", "share_of_first_13", COUNTS.share_of(13)),
        Row(subject, part, "none", "share_of_first_85", COUNTS.share_of(85)),
        Row(subject, part, "none", "needed_for_0.5", float(COUNTS.needed_for(0.5))),
        Row(subject, part, "none", "zipf_exponent", 1.0),
    ]


def test_curves_and_named_points() -> None:
    result = Result([*rows_of("words"), *rows_of("m")], [curve("words"), curve("m")])
    (figure,) = coverage_figures(result)
    check_chart(figure)
    points = [p for p in values_of(figure) if "said" not in p]
    named = [p for p in values_of(figure) if "said" in p]
    assert len(points) == 2 * len(COUNTS.curve())
    assert [p["words"] for p in points[: len(COUNTS.curve())]] == [
        row["words"] for row in COUNTS.curve()
    ]
    assert points[0]["percent"] == float(f"{100 * COUNTS.share_of(1):.5g}")
    assert [(p["words"], p["percent"]) for p in named[:3]] == [
        (13, 100 * COUNTS.share_of(13)), (85, 100 * COUNTS.share_of(85)),
        (COUNTS.needed_for(0.5), 50),
    ]  # fmt: skip
    assert f"words: the first 13 cover {100 * COUNTS.share_of(13):.3g} %" in figure.alt
    assert f"m: 50 % take {COUNTS.needed_for(0.5)}" in figure.alt
    x = next(units(figure.spec))["encoding"]["x"]
    assert x["scale"]["type"] == "log"
    assert "logarithmic" in x["title"]
    assert axes_of(figure, "point") == axes_of(figure, "line") == {("words", "percent")}
    svg = picture(figure)
    assert marks_in(svg, "line mark") == 2
    assert marks_in(svg, "rule mark") == 2
    assert marks_in(svg, "point") == len(points) + len(named)
    assert svg.count(">first 13<") == svg.count(">first 85<") == 1


def test_the_curve_goes_through_its_named_points() -> None:
    (figure,) = coverage_figures(Result(rows_of("m", "words"), [curve("m", "words")]))
    points = [p for p in values_of(figure) if "said" not in p]
    for named in (p for p in values_of(figure) if "said" in p):
        below = max(p["percent"] for p in points if p["words"] <= named["words"])
        above = min(p["percent"] for p in points if p["words"] >= named["words"])
        # A share that is asked for may fall between two words.
        assert below - 1 <= named["percent"] <= above + 0.01


def test_rows_of_other_curves_are_not_marked() -> None:
    undefined = Row("m", "words", "none", "share_of_first_13", None)
    rows = [*rows_of("m", "tokens"), undefined]
    (figure,) = coverage_figures(Result(rows, [curve("m", "words")]))
    check_chart(figure)
    assert not [p for p in values_of(figure) if "said" in p]
    assert [kind_of(unit) for unit in units(figure.spec)] == ["line", "point"]
    assert "m words: 1 cover" in figure.alt
    assert "100 %" in figure.alt


def test_more_curves_than_colours() -> None:
    (figure,) = coverage_figures(Result([], [curve(f"m{k}") for k in range(9)]))
    assert len({p["of"] for p in values_of(figure)}) == 7
    assert "Drawn are 7 of 9 curves." in figure.alt


def test_nothing_for_other_results() -> None:
    assert not coverage_figures(Result(rows_of("m")))
    empty = Table("m", "", "none", "coverage", [])
    other = Table("m", "", "none", "spectrum", [{"words": 1, "share": 0.1}])
    assert not coverage_figures(Result([], [empty, other]))


def test_names_stay_data() -> None:
    (figure,) = coverage_figures(Result(rows_of(HOSTILE), [curve(HOSTILE)]))
    check_chart(figure)
    assert "<b>" not in picture(figure)
