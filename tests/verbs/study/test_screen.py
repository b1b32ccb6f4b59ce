"""What a terminal shows of studies: the answer first, on every kind of model and name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from study_records_for_tests import some_records

from isoscope.results.result import Result, Row
from isoscope.results.screen.blocks import Screen
from isoscope.results.screen.cells import width
from isoscope.results.screen.layout import lay_out
from isoscope.verbs.study.answer import run_screen, several_screen, study_screen
from isoscope.verbs.study.api import StudyRun, judged
from isoscope.verbs.study.judgement.scope import FACTS, MASKED, Facts
from isoscope.verbs.study.judgement.verdicts import NOT_RUN_FIELD
from isoscope.verbs.study.listing import list_screen
from isoscope.verbs.study.records.complete import completed
from isoscope.verbs.study.records.provenance import MADE
from isoscope.verbs.study.registry import all_studies, find_study
from isoscope.verbs.study.runs.folder import StudyFolder

TRANSFORMER = Facts("transformer", "bert", MASKED, 110_000_000, None, ("learned",)).to_dict()
NAMES = ("minilm", "m" * 60, "多语言句子嵌入模型", "نموذج اللغة")


def lines_of(screen: Screen, cells: int = 80, *, plain: bool = False) -> list[str]:
    """Return the lines of a screen, having checked that they fit."""
    lines = [line.text for line in lay_out(screen, cells, plain=plain)]
    assert len(lines) <= 38, "\n".join(lines)
    assert max(map(width, lines)) <= cells, max(lines, key=width)
    return lines


def words(screen: Screen, cells: int = 80) -> str:
    return " ".join(" ".join(lines_of(screen, cells)).split())


def i1(correction: str, value: float, subject: str = "minilm", reach: float = 0.01) -> Row:
    return Row(subject, "", correction, "i1", value, low=value - reach, high=value + reach)


def run_of(study: str, rows: list[Row], **extra: object) -> StudyRun:
    found = find_study(study)
    names = dict.fromkeys(row.subject for row in rows)
    about = {"id": found.id, "title": found.title, "paper": found.paper}
    facts = {FACTS: dict.fromkeys(names, TRANSFORMER), **extra}
    return judged(found, Result(rows, extra={"study": about, **facts}, command="isoscope"))


B_T1 = [i1("none", 0.4), i1("center", 0.9), i1("all-but-the-top", 0.97)]


def test_the_claims_come_first_and_then_the_figures_behind_them() -> None:
    lines = lines_of(run_screen(run_of("B-T1", B_T1)))
    assert lines[0].startswith("B-T1 · minilm · Isotropy")
    assert lines[2] == "  All 3 claims about minilm hold."
    text = " ".join(" ".join(lines).split())
    assert "holds centring raises I1. i1 (center) is 0.9, i1 is 0.4, p < 0.001." in text
    assert "p-values are corrected for 3 claims (Holm)" in text
    assert "minilm is not a model of the paper" in text
    assert "Next isoscope study show B-T1" in text


@pytest.mark.parametrize(
    ("centred", "said"),
    [
        (0.9, "The paper's claim holds on minilm: centring lowers the mean norm."),
        (1.1, "The opposite of the paper's claim is true of minilm: centring lowers the mean"),
        (1.0001, "The data do not decide the paper's claim about minilm: centring lowers"),
    ],
)
def test_one_claim_is_answered_in_a_sentence(centred: float, said: str) -> None:
    rows = [replace(i1("none", 1.0), measure="mean_norm"),
            replace(i1("center", centred), measure="mean_norm")]  # fmt: skip
    text = words(run_screen(run_of("B-F6", rows)))
    assert said in text
    assert ("What would decide more: more texts" in text) == (centred == 1.0001)


def test_claims_of_different_outcomes_are_counted() -> None:
    rows = [i1("none", 0.4), i1("center", 0.6), i1("all-but-the-top", 0.97)]
    text = words(run_screen(run_of("B-T1", rows)))
    assert "Of 3 claims about minilm, 2 hold and 1 is not true." in text
    assert "i1 (center) is 0.6, and the claim takes at least 0.87, p < 0.001" in text


def test_of_many_models_every_claim_names_those_of_each_outcome() -> None:
    rows = [replace(row, subject=name) for name in ("a", "b", "c") for row in B_T1]
    rows[4] = replace(rows[4], value=0.6, low=0.59, high=0.61)
    text = words(run_screen(run_of("B-T1", rows)))
    assert "Of 3 claims about b, 2 hold and 1 is not true." in text
    assert "mixed centred I1 is at least 0.87" in text
    assert "(0.64): holds on a and c; fails on b." in text
    assert "holds centring raises I1: holds on a, b and c." in text


def test_claims_about_other_models_say_so_and_show_figures() -> None:
    rows = [Row("minilm", f"layer {k}", "none", "i1", 0.1 / (k + 1)) for k in range(31)]
    lines = lines_of(run_screen(run_of("R-F1", rows)))
    assert "The only claim of this study is not about minilm" in " ".join(lines)
    assert any("more rows: --details" in line for line in lines)


def test_a_study_without_claims_shows_its_figures() -> None:
    rows = [Row("minilm", "last layer", "none", "top_share", 0.25)]
    text = words(run_screen(run_of("L-F3.1", rows)))
    assert "claims nothing that could fail" in text
    assert "0.25" in text


def test_what_was_not_run_names_its_command() -> None:
    run = run_of("B-T1", B_T1, **{NOT_RUN_FIELD: {"mine": "no such file"}})
    facts = {**run.result.extra[FACTS], "mine": TRANSFORMER}
    result = replace(run.result, extra={**run.result.extra, FACTS: facts})
    text = words(run_screen(judged(run.study, result)))
    assert "Not run B-T1 on mine: no such file" in text
    assert "isoscope study run B-T1 --model mine --data DATA --out studies" in text
    for source, words_of_it in (("package:smollm2", "mine=package:smollm2"), ("x/mine", "x/mine")):
        made = {MADE: {"mine": {"source": source}}}
        other = replace(result, extra={**result.extra, **made})
        command = f"isoscope study run B-T1 --model {words_of_it} --data DATA --out studies"
        assert command in words(run_screen(judged(run.study, other))).replace("\\ ", "")


@pytest.mark.parametrize("cells", [60, 80, 140])
@pytest.mark.parametrize("name", NAMES)
def test_every_name_and_width_fits(name: str, cells: int) -> None:
    several = [replace(row, subject=one) for one in (name, *NAMES[:2]) for row in B_T1]
    unique = {(row.subject, row.correction): row for row in several}
    for rows in ([replace(row, subject=name) for row in B_T1], list(unique.values())):
        run = run_of("B-T1", rows)
        assert lines_of(run_screen(run), cells)
        assert lines_of(several_screen([run], "studies"), cells)
    if name.isascii():
        run = run_of("B-T1", [replace(row, subject=name) for row in B_T1])
        assert "".join(lines_of(run_screen(run), cells, plain=True)).replace("ś", "").isascii()


def test_every_study_fits_and_says_how_to_run_it() -> None:
    for study in all_studies():
        text = words(study_screen(study))
        assert f"isoscope study run {study.id}" in text
        assert "study run" in text


RECORDS = Path(__file__).parents[3] / "docs" / "results" / "records"


@pytest.mark.parametrize("folder", [None, RECORDS])
def test_every_record_fits(folder: Path | None) -> None:
    runs = some_records() if folder is None else list(StudyFolder(folder).runs())
    for run in (*runs, *completed(runs)):
        assert lines_of(run_screen(run))
    lines = lines_of(several_screen(completed(runs), "docs/results/records", compared=True))
    assert re.match(r"docs/results/records · 49 studies · \d+ model", lines[0])
    text = " ".join(" ".join(lines).split())
    assert re.search(r"Of \d+ verdicts on \d+ models?, ", text)
    assert "Not run" in text
    assert "isoscope study compare docs/results/records --pages pages" in text


def test_studies_are_listed_by_paper_and_one_paper_with_titles() -> None:
    text = words(list_screen({"B-T1": "3 hold"}))
    for study in all_studies():
        assert f" {study.id} " in f"{text} "
    assert "Run here B-T1: 3 hold" in text
    for letter in "BDLPR":
        lines = lines_of(list_screen({}, letter))
        assert sum(line.strip().startswith(f"{letter}-") for line in lines) == sum(
            study.id.startswith(letter) for study in all_studies()
        )
