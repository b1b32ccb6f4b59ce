"""Studies side by side: counts of verdicts, printed numbers, the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from study_records_for_tests import some_records

from isoscope.data.arrays import ArrayCloud
from isoscope.verbs.study.api import StudyRun, run_study
from isoscope.verbs.study.registry import Subject
from isoscope.verbs.study.text import (
    beside_printed,
    compared_markdown,
    last_verdict,
    outcome_table,
    study_part,
    summary,
)

CLOUD = ArrayCloud(np.random.default_rng(0).normal(0.3, 0.2, (200, 6)), "mine")


@pytest.fixture(scope="module")
def runs() -> list[StudyRun]:
    return [
        run_study("B-T1", [Subject("BERT-base-cased", CLOUD), CLOUD], command="isoscope …"),
        run_study("B-F6", [CLOUD]),
        run_study("B-F5", [CLOUD]),
    ]


def test_numbers_of_the_papers_models_stand_beside_the_printed_ones(runs: list[StudyRun]) -> None:
    found = {one.what: one for one in beside_printed(runs[0])}
    one = found["BERT-base-cased: i1 (none)"]
    assert one.printed == 0.59
    assert one.measured == runs[0].result.value("i1")
    assert one.difference == pytest.approx(one.measured - 0.59)
    assert not any(name.startswith("mine") for name in found)
    assert beside_printed(runs[1]) == []
    undefined = replace(one, measured=None)
    assert undefined.difference is None


def test_verdicts_are_counted(runs: list[StudyRun]) -> None:
    outcomes = [verdict.outcome for verdict in runs[0].verdicts]
    said = last_verdict(runs[0])
    for outcome, words in (("holds", "hold"), ("fails", "fail")):
        count = outcomes.count(outcome)  # type: ignore[arg-type]
        assert (f"{count} {words}" in said) == (count > 0)
    assert last_verdict(runs[2]) == "1 not applicable"
    assert last_verdict(replace(runs[2], verdicts=())) == "shows figures and makes no claim"
    table = outcome_table(runs)
    assert [line[0] for line in table[1:]] == ["B-T1", "B-F6", "B-F5"]
    assert table[1][2:5] == [str(outcomes.count(name)) for name in ("holds", "fails", "reversed")]
    assert table[1][-1] == "BERT-base-cased, mine"


def test_a_summary_has_all_of_a_study(runs: list[StudyRun]) -> None:
    values = summary(runs[0])
    assert values["document"] == "Biś et al. (2021)"
    assert len(values["claims"]) == 6
    assert [one["model"] for one in values["claims"][:2]] == ["BERT-base-cased", "mine"]
    assert values["claims"][1]["other_models"] == ["mine"]
    assert {"measured", "printed", "difference"} < set(values["printed"][0])
    assert values["misprints"][0]["printed"] == "0.52"
    assert values["seeds"] == {"seed": 0}


def test_the_page(runs: list[StudyRun]) -> None:
    page = compared_markdown(runs, "Two cores.")
    claims = [verdict for run in runs for verdict in run.verdicts]
    outside = sum(verdict.outcome == "not applicable" for verdict in claims)
    assert f"of {len(claims)} claims, each counted once a model, {outside} not applicable" in page
    assert "Two cores." in page
    assert "Not run: B-T2" in page
    for words in (
        "## B-T1:",
        "| BERT-base-cased: i1 (none) |",
        "Misprint: GPT-2 (24 layers) isotropy, printed 0.52",
        "Command: `isoscope …`; seeds: seed 0.",
        "mine: not applicable: 3 claims (not a transformer: 3)",
    ):
        assert words in page
    judged = study_part(some_records()[1])
    assert "| claim | model | verdict | because | figures |" in judged
    assert "| centring lowers the mean norm | gpt | reversed | " in judged
    part = page.split("## B-F6")[1].split("## B-F5")[0]
    assert "Command" not in part
