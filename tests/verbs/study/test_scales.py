"""Scales of studies that train, and finished runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isoscope.errors import UsageError
from isoscope.verbs.study.registry import (
    MODULES,
    Scale,
    all_studies,
    chosen_scale,
    find_study,
    finished_runs,
)

TRAINS = find_study("D-T1")
MEASURES = replace(find_study("B-T1"), scales={})
"""A study of somebody's own, without scales."""


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
    with pytest.raises(UsageError, match="B-T1 takes no finished runs"):
        finished_runs(MEASURES, ["a.json"], sources=False, scale=None)
    for sources, scale in ((True, None), (False, "mini")):
        with pytest.raises(UsageError, match="leave sources and --scale out"):
            finished_runs(TRAINS, ["a.json"], sources=sources, scale=scale)


def test_every_study_has_two_scales() -> None:
    for study in all_studies():
        assert list(study.scales) == ["mini", "paper"], study.id
        assert study.scales["mini"].sources, study.id


def test_the_papers_models_are_named_as_the_paper_names_them() -> None:
    for study in all_studies():
        for source in study.scales["paper"].sources:
            name, equals, _ = source.partition("=")
            if equals and study.models:
                assert study.paper_name(name) in {m.split("|")[0] for m in study.models}, study.id


def test_sources_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {MODULES["glove"]}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: object() if name in there else None
    )
    scale = Scale(("package:glove", "package:smollm2", "pretrain:tiny", "gpt2"))
    assert scale.at_hand == (("package:glove", "pretrain:tiny", "gpt2"), ("package:smollm2",))
