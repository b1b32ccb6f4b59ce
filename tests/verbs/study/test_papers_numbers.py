"""The papers' own numbers: their claims must hold on what they print."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isoscope.results.result import Result, Row
from isoscope.verbs.study.reference import misprints, printed_table
from isoscope.verbs.study.registry import Study, all_studies, find_study


def printed_result(study: Study) -> Result:
    """Make a result of what a paper prints, with the gains over none."""
    printed = study.printed()
    rows = [
        Row(*key, value, log10=float(np.log10(value)) if 0 < value < 1 else None)
        for key, value in printed.items()
    ]
    for (subject, part, correction, measure), value in printed.items():
        before = printed.get((subject, part, "none", measure))
        if measure.startswith("average") and before is not None and correction != "none":
            gain = value - before
            rows.append(Row(subject, part, correction, f"{measure}/difference", gain))
    return Result(rows)


@pytest.mark.parametrize(
    "name",
    [
        "B-T1",
        "B-T2",
        "B-T3",
        "R-T1",
        "R-T2",
        "R-T5",
        "R-T6",
        "R-F1",
        "L-F3.3",
        "L-T4.2",
        "R-T3",
        "L-T4.1",
    ],
)
def test_the_papers_claims_hold_on_its_own_numbers(name: str) -> None:
    study = find_study(name)
    for claim in study.claims:
        verdict = claim.judge(printed_result(study), study.models)
        assert verdict.outcome == "holds", (claim.text, verdict)
        assert verdict.other_models == ()


def test_the_exceptions_are_needed() -> None:
    """Without its exceptions a claim fails on the paper's numbers."""
    for name in ("B-T1", "B-T2", "R-T2", "L-T4.2"):
        study = find_study(name)
        for claim in study.claims:
            if claim.excluding:
                whole = replace(claim, excluding=())
                assert whole.judge(printed_result(study), study.models).outcome == "fails"


def test_the_correlation_of_norm_and_isotropy_follows_from_table_1() -> None:
    table = printed_table("bis2021_table1_isotropy")
    norms, isotropy = ([float(row[key]) for row in table] for key in ("mean_norm", "isotropy"))
    assert len(table) == 8
    assert np.corrcoef(norms, isotropy)[0, 1] == pytest.approx(-0.61, abs=0.02)


def test_the_averages_of_table_2_are_those_of_table_3() -> None:
    sets = find_study("B-T3").printed()
    averages = find_study("B-T2").printed()
    for (model, _, method, measure), value in averages.items():
        if method == "center":
            continue  # table 3 has no row for it
        parts = [
            score
            for (m, _, c, name), score in sets.items()
            if (m, c) == (model, method) and name.endswith(measure.removeprefix("average"))
        ]
        assert len(parts) == 5
        assert np.mean(parts) == pytest.approx(value, abs=2e-4)


def test_misprints_name_a_study() -> None:
    known = {study.id for study in all_studies()}
    assert {row["study"] for row in printed_table("misprints")} <= known
    assert "0.13" in misprints("B-T1")[0]["note"]
    assert misprints("B-T2") == []
