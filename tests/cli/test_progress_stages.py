"""Counts, rates and times left, from reports as they come."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.cli.progress import FEWEST, SPACING, STRETCH, Stage, Stages


def taken(stages: Stages, name: str, done: int, total: int | None, now: float) -> Stage:
    stage = stages.take(name, done, total, now)
    assert stage is not None
    return stage


def test_rate_and_time_left_after_a_first_report() -> None:
    stages = Stages("rows")
    first = taken(stages, "first read", 0, 1000, 5.0)
    assert (first.rate, first.seconds_left, first.elapsed) == (None, None, 0.0)
    then = taken(stages, "first read", 100, 1000, 15.0)
    assert (then.rate, then.seconds_left, then.elapsed) == (10.0, 90.0, 10.0)


def test_a_resumed_stage_counts_what_it_did_itself() -> None:
    stages = Stages("rows")
    taken(stages, "first read", 900_000, 1_000_000, 0.0)
    stage = taken(stages, "first read", 900_100, 1_000_000, 10.0)
    assert stage.rate == 10.0
    assert stage.seconds_left == 9990.0


def test_without_a_total_there_is_a_rate_and_no_time_left() -> None:
    stages = Stages("rows")
    taken(stages, "fit", 10, None, 0.0)
    stage = taken(stages, "fit", 30, None, 2.0)
    assert (stage.rate, stage.seconds_left, stage.finished) == (10.0, None, False)


def test_reports_at_one_time_have_no_rate() -> None:
    stages = Stages("rows")
    taken(stages, "fit", 10, 100, 0.0)
    stage = taken(stages, "fit", 30, 100, 0.0)
    assert (stage.rate, stage.seconds_left) == (None, None)


def test_all_done_leaves_no_time_even_without_a_rate() -> None:
    stage = taken(Stages("rows"), "fit", 100, 100, 0.0)
    assert (stage.finished, stage.rate, stage.seconds_left) == (True, None, 0.0)
    more = taken(Stages("rows"), "fit", 101, 100, 0.0)  # a table that grew while it was read
    assert (more.finished, more.seconds_left) == (True, 0.0)


def test_the_rate_is_that_of_the_last_stretch() -> None:
    stages, done = Stages("rows"), 0
    for second in range(100):
        done += 1000 if second < 50 else 10
        stage = taken(stages, "fit", done, None, float(second))
    assert stage.rate == 10.0


def test_the_stretch_is_a_whole_one() -> None:
    stages = Stages("rows")
    for second, done in ((0, 0), (12, 900), (24, 910), (36, 1100), (48, 1200)):
        stage = taken(stages, "fit", done, None, float(second))
    assert stage.rate == pytest.approx(300 / 36)  # 24 seconds would be too few, 48 too many


def test_reports_come_fast_and_points_stay_few() -> None:
    stage = Stage("fit", "rows", 0, None, 0.0)
    for report in range(1, 50_000):
        stage.move(report, None, report / 1024)
    assert stage.rate == pytest.approx(1024)
    assert len(stage._points) <= STRETCH / SPACING + FEWEST


def test_rare_reports_are_averaged_over_a_few() -> None:
    stages = Stages("steps")
    for number, minutes in enumerate((0, 10, 30, 40, 60)):
        stage = taken(stages, "checkpoints", number, 10, 60.0 * minutes)
    assert FEWEST == 3
    assert stage.rate == pytest.approx(2 / (30 * 60))  # from the minute 30 to the minute 60


@given(st.lists(st.tuples(st.floats(0.0001, 20), st.integers(1, 1000)), min_size=1, max_size=300))
def test_the_rate_lies_between_the_slowest_and_the_fastest(steps: list[tuple[float, int]]) -> None:
    stage = Stage("fit", "rows", 500, None, 0.0)
    now, done, history = 0.0, 500, [(0.0, 500)]
    for pause, count in steps:
        now, done = now + pause, done + count
        history.append((now, done))
        stage.move(done, None, now)
    assert stage.rate is not None
    slopes = [(b - a) / (t - s) for (s, a), (t, b) in pairwise(history)]
    assert min(slopes) * (1 - 1e-9) <= stage.rate <= max(slopes) * (1 + 1e-9)
    if now <= STRETCH:
        assert stage.rate == pytest.approx((done - 500) / now)


def test_the_same_stage_of_the_next_cloud_begins_again() -> None:
    stages = Stages("rows")
    taken(stages, "first read", 500, 1000, 0.0)
    taken(stages, "first read", 1000, 1000, 1.0)
    again = taken(stages, "first read", 500, 1000, 1.5)
    assert (again.fresh, again.began, again.rate) == (True, 1.5, None)


def test_a_larger_cloud_begins_again_although_the_count_is_higher() -> None:
    stages = Stages("rows")
    taken(stages, "first read", 100, 100, 0.0)
    again = taken(stages, "first read", 500, 1000, 5.0)
    assert (again.fresh, again.first, again.rate) == (True, 500, None)


def test_a_smaller_total_begins_again_at_once() -> None:
    stages = Stages("rows")
    taken(stages, "apply", 100, 1000, 0.0)
    taken(stages, "apply", 700, 1000, 0.5)
    assert taken(stages, "apply", 200, 300, 0.6).fresh


def test_one_report_a_cloud_is_a_stage_each_where_another_lies_between() -> None:
    stages = Stages("rows")
    taken(stages, "first read", 100, 100, 0.0)
    assert stages.take("first read", 100, 100, 1.0) is None
    taken(stages, "second read", 100, 100, 2.0)
    assert taken(stages, "first read", 100, 100, 3.0).fresh


def test_an_overtaken_report_says_nothing_new() -> None:
    stages = Stages("rows")
    taken(stages, "reduce", 100, 1000, 0.0)
    stage = taken(stages, "reduce", 300, 1000, 1.0)
    assert stages.take("reduce", 200, 1000, 1.1) is None
    taken(stages, "reduce", 1000, 1000, 2.0)
    assert stages.take("reduce", 900, 1000, 2.1) is None
    assert (stage.done, stages.running) == (1000, stage)


def test_a_lower_count_after_a_while_begins_again() -> None:
    stages = Stages("rows")
    taken(stages, "first read", 100, 1000, 0.0)
    taken(stages, "first read", 1000, 1000, 1.0)
    resumed = taken(stages, "first read", 600, 1000, 2.0)
    assert (resumed.fresh, resumed.first) == (True, 600)


def test_an_outer_stage_goes_on_after_an_inner_one() -> None:
    stages = Stages("texts")
    taken(stages, "checkpoints", 0, 3, 0.0)
    taken(stages, "first read", 5, 5, 10.0)
    outer = taken(stages, "checkpoints", 1, 3, 20.0)
    assert (outer.fresh, outer.began, outer.rate) == (False, 0.0, 0.05)
    assert stages.running is outer
    assert stages.find("checkpoints") is outer
    assert stages.find("second read") is None


def test_a_total_that_becomes_known() -> None:
    stages = Stages("rows")
    taken(stages, "fit", 10, None, 0.0)
    stage = taken(stages, "fit", 10, 100, 1.0)
    assert (stage.fresh, stage.total) == (False, 100)


def test_what_stages_count() -> None:
    stages = Stages("steps")
    assert taken(stages, "run 1", 1, 2, 0.0).unit == "steps"
    assert taken(stages, "counting texts", 1, None, 0.0).unit == "texts"
    assert taken(stages, "try corrections", 1, 9, 0.0).unit == "fits"
