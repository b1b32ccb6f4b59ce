"""The papers' own numbers: their claims must hold on what they print."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scope_for_tests import described

from isoscope.results.result import Result, Row
from isoscope.results.tables import grouped
from isoscope.verbs.study.judgement.evidence import EXACT
from isoscope.verbs.study.judgement.judge import judge_claims
from isoscope.verbs.study.judgement.scope import FACTS, Facts, is_called
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
    # What is printed is compared as it is: the papers give no intervals.
    exact = [replace(row, extra={EXACT: True}) for row in rows]
    return Result(exact, extra={FACTS: {row.subject: facts_of(row.subject, study) for row in rows}})


def facts_of(name: str, study: Study) -> dict[str, Any]:
    """Describe a model of a paper, which has other names elsewhere."""
    names = next((known for known in study.models if is_called(known, name)), name)
    found = [one for one in described() if any(is_called(names, other) for other in one.names)]
    assert found or name == "GloVe-average", name
    return (found[0].facts if found else Facts()).to_dict()


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
    ],
)
def test_the_papers_claims_hold_on_its_own_numbers(name: str) -> None:
    # L-T4.1 is judged on held-out pairs, of which the paper prints no scores.
    study = find_study(name)
    verdicts = judge_claims(study.claims, printed_result(study), study.models)
    for text, found in grouped(verdicts, lambda one: one.text).items():
        about = [one for one in found if one.outcome != "not applicable"]
        assert {one.outcome for one in about} == {"holds"}, (text, about)
        assert not any(one.other_models for one in about)


def test_the_exceptions_are_needed() -> None:
    """Without its exceptions a claim fails on the paper's numbers."""
    for name in ("B-T1", "B-T2", "R-T2", "L-T4.2"):
        study = find_study(name)
        for claim in study.claims:
            if claim.excluding or claim.scope.but:
                whole = replace(claim, excluding=(), scope=replace(claim.scope, but=()))
                found = judge_claims([whole], printed_result(study), study.models)
                assert {one.outcome for one in found} & {"fails", "reversed"}, claim.text


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
