"""Claims of a study on rows that a test makes, with errors as small or large as it wants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.evidence import EXACT
from isoscope.verbs.study.judgement.judge import judge_claims
from isoscope.verbs.study.judgement.scope import FACTS, Facts
from isoscope.verbs.study.judgement.verdicts import NOT_APPLICABLE
from isoscope.verbs.study.registry import find_study

PAPERS_SIZE = Facts("transformer", "bert", "masked", 110_000_000, positions=("learned",))
"""An encoder of the size of BERT-base."""


def outcomes(
    name: str, rows: Iterable[Row], facts: Facts | Mapping[str, Facts] = PAPERS_SIZE
) -> list[str]:
    """Return what becomes of every claim on the models that it is about; several with a plus."""
    study, every = find_study(name), list(rows)
    subjects = dict.fromkeys(row.subject for row in every)
    known = facts if isinstance(facts, Mapping) else dict.fromkeys(subjects, facts)
    stored = {subject: one.to_dict() for subject, one in known.items()}
    verdicts = judge_claims(study.claims, Result(every, extra={FACTS: stored}), study.models)
    found = []
    for claim in study.claims:
        own = {verdict.outcome for verdict in verdicts if verdict.text == claim.text}
        found.append("+".join(sorted(own - {NOT_APPLICABLE})) or NOT_APPLICABLE)
    return found


def sure(row: Row, error: float = 1e-3) -> Row:
    """Give a row an interval of two errors to each side."""
    assert row.value is not None
    return replace(row, low=row.value - 2 * error, high=row.value + 2 * error)


def exact(row: Row) -> Row:
    """Say that a row has no error."""
    return replace(row, extra={**row.extra, EXACT: True})
