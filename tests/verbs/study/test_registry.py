"""Studies have ids of their own and say what they need."""

from __future__ import annotations

import pytest

from isoscope.errors import UsageError
from isoscope.verbs.study.registry import all_studies, find_study, register

EVERY = """
B-T1 B-T2 B-T3 B-F1 B-F2 B-F3 B-F4 B-F5 B-F6 B-E
R-T1 R-T2 R-T3 R-T4 R-T5 R-T6 R-F1 R-F2 R-F3 R-F4 R-F5
D-T1 D-T2 D-T3 D-T4
L-F3.1 L-F3.2 L-F3.3 L-F3.5 L-LN L-F3.7 L-F3.8 L-F3.10 L-F3.11 L-F3.12 L-F3.13 L-T4.1 L-T4.2
P-F1 P-F2 P-F3 P-F4 P-F5 P-F6 P-F7 P-F8 P-F9 P-A P-X
"""
DESCRIPTIVE = {"L-F3.1"}
OF_NO_MODEL = {"B-E", "P-X"}
"""A derivation that is true of any model, and an experiment that the paper asks others for."""


def test_every_study_says_what_a_reader_must_know() -> None:
    assert {study.id for study in all_studies()} == set(EVERY.split())
    assert len(all_studies()) == 49
    for study in all_studies():
        assert study.title
        assert study.paper
        assert study.needs
        assert study.does.endswith(".")
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
    assert first == [f"L-F3.{k}" for k in (1, 2, 3, 5, 7, 8, 10, 11, 12, 13)]
    last = [name for name in ids if name.startswith("P")]
    assert last == ["P-A", *(f"P-F{k}" for k in range(1, 10)), "P-X"]
    assert ids[:5] == ["B-T1", "B-T2", "B-T3", "B-E", "B-F1"]
    assert [name[0] for name in ids] == sorted(name[0] for name in ids)


def test_formulas_of_what_is_claimed_and_printed() -> None:
    formulas = find_study("B-T1").formulas
    assert {"i1", "mean_norm"} <= set(formulas)
    assert formulas["mean_norm"] == "mean ‖x‖"
    assert find_study("L-F3.7").formulas == {}
    assert "random_pair_cosine" in find_study("L-F3.2").formulas
