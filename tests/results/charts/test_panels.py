"""Which clouds share a figure."""

from __future__ import annotations

from isoscope.results.charts.marks import MOST_SERIES, Marks
from isoscope.results.charts.sheets import (
    MOST_PANELS,
    cloud_of,
    columns_for,
    evenly,
    reach,
    sheets,
    some_of,
)
from isoscope.results.result import Row


def test_parts_of_one_subject_are_one_figure() -> None:
    (sheet,) = sheets([(("m", part), "none") for part in ("input", "block 1", "")])
    assert sheet.of == "m"
    assert sheet.apart == "part"
    assert list(sheet.panels.values()) == ["input", "block 1", "the whole"]
    assert sheet.legend == "part"
    assert sheet.together
    assert not sheet.left_out
    assert sheet.place(("m", "input"), "none") == {"panel": "input", "series": "input"}
    assert sheet.named(("m", "input"), "none") == "input"


def test_many_parts_of_two_models_are_a_figure_each() -> None:
    found = sheets([((m, f"block {k}"), "none") for m in "ab" for k in range(3)])
    assert [sheet.of for sheet in found] == ["a", "b"]


def test_as_many_models_as_parts_are_a_figure_per_model() -> None:
    assert [sheet.of for sheet in sheets([((m, p), "none") for m in "ab" for p in "xy"])] == [*"ab"]


def test_more_clouds_than_colours_are_small_charts() -> None:
    (sheet,) = sheets([(("m", f"block {k}"), "none") for k in range(MOST_SERIES + 1)])
    assert not sheet.together
    assert sheet.legend == "correction"
    assert "facet" in sheet.spec(Marks([sheet.place(("m", "block 1"), "none")]), [])


def test_one_part_of_many_models_is_one_figure() -> None:
    (sheet,) = sheets([((m, ""), space) for m in "abcde" for space in ("none", "center")])
    assert sheet.of == "a, b, c and 2 more"
    assert sheet.apart == "model"
    assert sheet.legend == "correction"
    assert not sheet.together
    assert sheet.place(("b", ""), "center") == {"panel": "b", "series": "center"}
    assert sheet.named(("b", ""), "center") == "b, center"


def test_checkpoints_are_called_by_their_steps() -> None:
    first, second = sheets([((f"m@step{k}", p), "none") for k in range(3) for p in ("in", "out")])
    assert first.of == "m, in"
    assert second.of == "m, out"
    assert first.apart == "checkpoint"
    assert list(first.panels.values()) == ["step0", "step1", "step2"]


def test_what_is_not_drawn_is_said() -> None:
    clouds = [("m", f"block {k}") for k in range(31)]
    (sheet,) = sheets([(cloud, f"c{k}") for cloud in clouds for k in range(9)])
    assert len(sheet.panels) == MOST_PANELS
    assert len(sheet.spaces) == MOST_SERIES
    assert sheet.left_out == " Drawn are 8 of 31 parts and 7 of 9 corrections."
    assert sheet.shows(clouds[0], "c0")
    assert sheet.shows(clouds[-1], "c6")
    assert not sheet.shows(clouds[0], "c7")
    assert not sheet.shows(clouds[1], "c0")


def test_one_cloud_has_its_whole_name() -> None:
    (sheet,) = sheets([(("m", "block 1"), "none"), (("m", "block 1"), "center")])
    assert sheet.of == "m block 1"
    assert sheet.legend == "correction"
    assert sheet.named(("m", "block 1"), "center") == "center"
    (nameless,) = sheets([(("", ""), "none")])
    assert nameless.of == "the vectors"
    assert not sheets([])


def test_checkpoints_under_one_name_are_told_apart() -> None:
    row = Row("m", "p", "none", "x", 1.0, extra={"revision": "step5"})
    assert cloud_of(row) == ("m@step5", "p")
    known = Row("m@step5", "p", "none", "x", 1.0, extra={"revision": "step5"})
    assert cloud_of(known) == ("m@step5", "p")
    assert cloud_of(Row("m", "p", "none", "x", 1.0)) == ("m", "p")


def test_even_draws_hold_both_ends() -> None:
    assert evenly(list(range(101)), 5) == [0, 25, 50, 75, 100]
    assert evenly([3, 1], 5) == [3, 1]
    drawn = evenly(list(range(2_001)), 2_000)
    assert len(set(drawn)) == 2_000


def test_axes_reach_all_values_in_whole_steps() -> None:
    assert reach([0.32, -0.11], 0.1) == [-0.2, 0.4]
    assert reach([0.0], 0.1) == [0.0, 0.1]


def test_names_keep_their_order() -> None:
    assert Marks([{"a": "z"}, {"a": "b"}, {}, {"a": "z"}]).names("a") == ["z", "b"]


def test_of_many_lines_the_ends_are_told() -> None:
    assert some_of(["a", "b"]) == "a; b"
    assert some_of(list("abcdefg")) == "a; b; …; f; g"


def test_legends_fit_narrow_pages() -> None:
    assert columns_for(["none", "center"]) == 3
    assert columns_for(["none", "all-but-the-top"]) == 2
    assert columns_for(["x" * 200]) == 1
    assert columns_for([]) == 4
