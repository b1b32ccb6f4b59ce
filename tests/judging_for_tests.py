"""Claims judged on figures that are made up, of subjects of which something is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.judge import judge_claims
from isoscope.verbs.study.judgement.scope import FACTS, Facts
from isoscope.verbs.study.judgement.verdicts import Verdict
from isoscope.verbs.study.registry import find_study

TRANSFORMER = Facts("transformer", objective="masked")


def judged(name: str, rows: Sequence[Row], facts: Facts = TRANSFORMER) -> list[Verdict]:
    """Judge the claims of a study on rows, all of whose subjects are alike."""
    study = find_study(name)
    known = {row.subject: facts.to_dict() for row in rows}
    return [*judge_claims(study.claims, Result(list(rows), extra={FACTS: known}), study.models)]


def outcomes(name: str, rows: Sequence[Row], facts: Facts = TRANSFORMER) -> list[str]:
    """Return what becomes of the claims of a study, claim by claim and model by model."""
    return [verdict.outcome for verdict in judged(name, rows, facts)]


def surely(rows: Sequence[Row], error: float = 1e-3) -> list[Row]:
    """Give figures an interval; of those with a logarithm it is a share of their size."""
    found = []
    for row in rows:
        assert row.value is not None
        reach = error * (row.value if row.log10 is not None else 1.0)
        found.append(replace(row, low=row.value - reach, high=row.value + reach))
    return found


def hardly(rows: Sequence[Row]) -> list[Row]:
    """Give figures an interval that is far too wide to tell anything."""
    return [
        replace(row, low=(row.value or 0) / 1e9, high=(row.value or 0) * 1e9)
        if row.log10 is not None
        else replace(row, low=(row.value or 0) - 10, high=(row.value or 0) + 10)
        for row in rows
    ]
