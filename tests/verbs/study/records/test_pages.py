"""Pages are made from records, and from nothing else."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from study_records_for_tests import (
    FACTS,
    a_record,
    disagreements,
    exact,
    some_records,
    verdicts_of_page,
    verdicts_of_summary,
)

from isoscope.verbs.study.api import StudyRun, judged
from isoscope.verbs.study.records.costs import costs_table
from isoscope.verbs.study.records.pages import pages, write_pages
from isoscope.verbs.study.records.store import ENDING, save_record
from isoscope.verbs.study.reference import catalogue
from isoscope.verbs.study.registry import all_studies
from isoscope.verbs.study.runs.folder import StudyFolder

ROOT = Path(__file__).parents[4]
RECORDS = ROOT / "docs" / "results" / "records"
PAGES = ROOT / "docs" / "results"
COSTS = ROOT / "src" / "isoscope" / "verbs" / "study" / "records" / "costs.csv"


@pytest.fixture(scope="module")
def runs() -> list[StudyRun]:
    return some_records()


@pytest.fixture(scope="module")
def made(runs: list[StudyRun]) -> dict[str, str]:
    return pages(runs)


def test_there_is_a_page_for_every_study(made: dict[str, str]) -> None:
    assert {f"studies/{study.id}.md" for study in all_studies()} < set(made)
    assert set(made) - {f"studies/{study.id}.md" for study in all_studies()} == {
        "studies.md", "studies.svg",
    }  # fmt: skip


def test_summary_and_pages_agree(made: dict[str, str]) -> None:
    assert disagreements(made) == []
    read = verdicts_of_page(made["studies/B-F6.md"])
    assert read == {
        ("centring lowers the mean norm", "bert"): "holds",
        ("centring lowers the mean norm", "gpt"): "reversed",
    }
    assert verdicts_of_summary(made["studies.md"])["B-F6"] == read
    # A verdict that differs is found.
    wrong = made["studies/B-F6.md"].replace("**reversed**", "**fails**")
    assert len(disagreements({**made, "studies/B-F6.md": wrong})) == 1


def test_what_is_missing_is_not_run_and_not_left_out(made: dict[str, str]) -> None:
    page = made["studies/B-T1.md"]
    assert "- gpt: **not run**" in page
    assert "Command: `isoscope study run B-T1 --model gpt --data DATA --out studies`" in page
    nobody = made["studies/R-T2.md"]
    assert "No model was run." in nobody
    assert "has not been run" in nobody
    assert "**not run**" in made["studies/P-X.md"]
    assert "**not run**" in made["studies/B-F2.md"]
    assert "**not run**" in made["studies/B-F5.md"]


def test_a_page_says_how_it_was_made(made: dict[str, str]) -> None:
    page = made["studies/B-F6.md"]
    assert (
        "| bert | 00ff | 11ee | 0 | 0.3.0 (abc) | 2026-11-18 | 2 cores | 1.0 min | 0.5 GiB |"
        in page
    )
    assert "Holm's method" in page
    assert "not applicable: glove (not a transformer)" in page
    assert "(quantised weights" not in page.partition("gpt: **reversed**")[0].split("**Claims**")[1]


def test_the_debate_in_words(made: dict[str, str]) -> None:
    page = made["studies.md"]
    for words in (
        "| bert | bert | masked | 110M | none | learned | no | as trained |",
        "(B-F6): holds on bert (1 against 2); reversed on gpt (2 against 1) (quantised",
        "- Centring raises I1 (B-T1): holds on bert (0.9 against 0.5); not run on gpt.",
        "1 observed on some models and contradicted on others",
        "## Machina & Mercer (2024)",
        "`--scale paper`, on the paper's own models, would decide",
        "| [B-F6](studies/B-F6.md) | centring lowers the mean norm | holds | reversed\\* | – |",
    ):
        assert words in page, words


def test_questions_are_answered_across_papers(made: dict[str, str]) -> None:
    page = made["studies.md"]
    assert "| What corrections do to the space | B, D, L, R |" in page
    assert "4 of 5 about “what corrections do to the space”" in page
    assert "The opposite of a claim was found in 1 verdict:" in page
    assert "- not “Centring lowers the mean norm” (B-F6): gpt (2 against 1)" in page
    questions = catalogue()["questions"]
    assert {study["question"] for study in catalogue()["studies"].values()} == set(questions)


def test_the_newest_record_says_what_a_model_is() -> None:
    """An earlier version took a matrix that a file holds twice for two."""
    old, new = some_records()
    facts, made = new.result.extra["facts"], new.result.extra["made"]
    later = {**made["gpt"], "date": "2026-12-01"}
    tied = {**facts, "gpt": {**facts["gpt"], "tied": True}}
    extra = {**new.result.extra, "facts": tied, "made": {**made, "gpt": later}}
    newer = judged(new.study, replace(new.result, extra=extra))
    for runs in ([old, newer], [newer, new], [new, newer]):
        assert "| gpt | gpt_neox | causal | 70M | tied |" in pages(runs)["studies.md"]


def test_a_flag_names_the_models_that_it_is_about(made: dict[str, str]) -> None:
    """Of two verdicts, one is about quantised weights: the sentence says which."""
    (line,) = [one for one in made["studies.md"].splitlines()
               if one.startswith("- Centring lowers the mean norm (B-F6): ")]  # fmt: skip
    assert "holds on bert" in line
    assert line.endswith("(quantised weights: gpt).")


def test_a_paper_says_whether_its_own_models_were_run() -> None:
    norms = [
        exact("BERT-base-cased", c, "mean_norm", v) for c, v in (("none", 2.0), ("center", 1.0))
    ]
    about = {"BERT-base-cased": FACTS["bert"].to_dict()}
    runs = [a_record("B-F6", norms, facts=about)]
    paper = "## Biś et al. (2021)"
    own = pages(runs)["studies.md"].partition(paper)[2]
    assert "Of the paper's own models, BERT-base-cased was run." in own
    other = pages(some_records())["studies.md"].partition(paper)[2].partition("\n## ")[0]
    assert "None of these models is the paper's: the verdicts say how far" in other


def test_a_weak_baseline_needs_a_stronger_one() -> None:
    rows = [
        replace(exact("bert", "none", "position_accuracy", value), part=f"layer {k}")
        for k, value in enumerate((0.59, 0.30, 0.27, 0.28))
    ]
    page = pages([a_record("L-F3.7", rows)])["studies.md"].partition("## Luo")[2]
    assert "a baseline that can show it, from more data or longer training (1 verdict)" in page


def test_the_picture_is_an_image_with_a_cell_for_every_outcome(made: dict[str, str]) -> None:
    root = ET.fromstring(made["studies.svg"])
    titles = [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles.count("reversed") == 2  # in the matrix, and in the legend
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"bert", "gpt", "centring lowers the mean norm", "R*"} < set(words)


def test_records_are_small_portable_and_enough(
    runs: list[StudyRun], made: dict[str, str], tmp_path: Path
) -> None:
    for run in runs:
        first = save_record(run, tmp_path).read_bytes()
        assert save_record(run, tmp_path).read_bytes() == first
    kept = list(StudyFolder(tmp_path).runs())
    assert [run.study.id for run in kept] == ["B-T1", "B-F6"]
    assert "/home" not in kept[0].result.to_json() + kept[1].result.to_json()
    assert "asked" not in kept[0].result.extra
    written = write_pages(kept, tmp_path / "pages")
    assert len(written) == len(made)
    for name, text in made.items():
        assert (tmp_path / "pages" / name).read_text("utf-8") == text.replace(
            "/home/me/models/gpt/", ""
        ).replace("/home/me/models/", "")


def test_the_pages_of_this_project_come_from_its_records() -> None:
    if not list(RECORDS.glob(f"*{ENDING}")):
        pytest.skip("docs/results/records has no records yet")
    kept = list(StudyFolder(RECORDS).runs())
    made = pages(kept)
    assert disagreements(made) == []
    for name, text in made.items():
        assert (PAGES / name).read_bytes() == text.encode(), (
            f"{name} is not what docs/make_studies.py makes from the records"
        )
    assert COSTS.read_text("utf-8") == costs_table(kept)
    extra = {path.name for path in (PAGES / "studies").glob("*.md")}
    assert extra == {f"{study.id}.md" for study in all_studies()}
    assert sum(path.stat().st_size for path in RECORDS.iterdir()) < 4_000_000
