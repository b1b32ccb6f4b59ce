"""Scales of studies that train, and finished runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.errors import UsageError
from isoscope.studies import find_study
from isoscope.studies.scales import chosen_scale, finished_runs

TRAINS, MEASURES = find_study("D-T1"), find_study("B-T1")


def test_the_first_scale_is_the_usual_one() -> None:
    assert chosen_scale(TRAINS, None) == "mini"
    assert chosen_scale(TRAINS, "paper") == "paper"
    assert chosen_scale(MEASURES, None) == ""


def test_scales_that_there_are_not() -> None:
    with pytest.raises(UsageError, match="B-T1 has one scale only; leave --scale out"):
        chosen_scale(MEASURES, "paper")
    with pytest.raises(UsageError, match="no scale of D-T1 is called 'full'"):
        chosen_scale(TRAINS, "full")


def test_finished_runs_are_for_studies_that_train() -> None:
    assert finished_runs(MEASURES, [], sources=True, scale=None) == ()
    assert finished_runs(TRAINS, ["a.json"], sources=False, scale=None) == (Path("a.json"),)
    with pytest.raises(UsageError, match="B-T1 trains nothing"):
        finished_runs(MEASURES, ["a.json"], sources=False, scale=None)
    for sources, scale in ((True, None), (False, "mini")):
        with pytest.raises(UsageError, match="leave sources and --scale out"):
            finished_runs(TRAINS, ["a.json"], sources=sources, scale=scale)
