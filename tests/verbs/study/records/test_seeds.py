"""Verdicts over several seeds."""

from __future__ import annotations

import pytest

from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.verdicts import Verdict
from isoscope.verbs.study.records.seeds import OTHER_SEEDS, agreed, with_seed_spread


def verdict(outcome: str, subject: str = "mine") -> Verdict:
    return Verdict("a claim", outcome, "because", (), [], subject)


@pytest.mark.parametrize(
    ("first", "others", "outcome"),
    [
        ("holds", ["holds", "holds"], "holds"),
        ("holds", ["undecided", "holds"], "undecided"),
        ("fails", ["holds"], "undecided"),
        ("undecided", ["holds"], "undecided"),
        ("not applicable", ["not applicable"], "not applicable"),
        ("not run", ["holds"], "not run"),
        ("holds", ["not run"], "holds"),
    ],
)
def test_a_claim_is_decided_where_all_seeds_agree(
    first: str, others: list[str], outcome: str
) -> None:
    (found,) = agreed([verdict(first)], [[verdict(other)] for other in others])
    assert found.outcome == outcome
    differ = {first, *others} - {"not run", "not applicable"}
    assert found.reason.startswith("depends on the seed") == (len(differ) > 1 and first in differ)


def test_the_reason_counts_seeds() -> None:
    (found,) = agreed([verdict("holds")], [[verdict("holds")], [verdict("undecided")]])
    assert found.reason == "depends on the seed: holds with 2, undecided with 1 of 3 seeds"
    (alone,) = agreed([verdict("holds")], [[verdict("fails", "another")]])
    assert alone.outcome == "holds"


def test_undefined_figures_have_no_spread() -> None:
    rows = [Row("m", "", "none", name, 1.0) for name in ("a", "b", "c")]
    other = [
        Row("m", "", "none", "a", None).to_dict(),
        Row("m", "", "none", "b", 3.0).to_dict(),
    ]
    found = with_seed_spread(Result(rows, extra={OTHER_SEEDS: {"1": other}}))
    assert ["seed_mean" in row.extra for row in found.rows] == [False, True, False]
    assert found.row("b").extra["seed_mean"] == 2.0
