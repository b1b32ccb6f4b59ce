"""Studies have ids of their own and say what they need."""

from __future__ import annotations

import pytest

from isoscope.errors import UsageError
from isoscope.studies import all_studies, find_study
from isoscope.studies.registry import register

FIRST = {"B-T1", "B-T2", "B-T3", "B-F1", "B-F2", "B-F5", "B-F6", "R-T1"}
DESCRIPTIVE = {"L-F3.1"}
OF_NO_MODEL = {"B-E", "P-X"}
"""A derivation that is true of any model, and an experiment that the paper asks others for."""


def test_every_study_says_what_a_reader_must_know() -> None:
    assert {study.id for study in all_studies()} >= FIRST
    for study in all_studies():
        assert study.title
        assert study.paper
        assert study.needs
        assert study.claims or study.id in DESCRIPTIVE
        assert study.models or study.id in OF_NO_MODEL


def test_ids_are_taken_once_and_found_in_any_case() -> None:
    assert find_study(" b-t1").id == "B-T1"
    with pytest.raises(ValueError, match="registered twice"):
        register(find_study("B-T1"))
    with pytest.raises(UsageError, match="no study is called 'B-T9'; did you mean"):
        find_study("B-T9")


def test_studies_come_paper_by_paper() -> None:
    ids = [study.id for study in all_studies()]
    first = [name for name in ids if name.startswith("L-F")]
    assert first == [f"L-F3.{k}" for k in (1, 2, 3, 5, 10, 11, 12, 13)]
    last = [name for name in ids if name.startswith("P")]
    assert last == ["P-A", *(f"P-F{k}" for k in range(1, 10)), "P-X"]
    assert ids[:5] == ["B-T1", "B-T2", "B-T3", "B-E", "B-F1"]
    assert [name[0] for name in ids] == sorted(name[0] for name in ids)
