"""B-F4 on texts whose frequencies are known."""

from __future__ import annotations

from pathlib import Path

from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.inputs import cnn_dm


def test_a_text_of_few_words() -> None:
    texts = [" ".join(f"word{k}" for k in range(20))] * 30
    run = run_study("B-F4", text=texts)
    assert run.result.value("share_of_first_13") == 13 / 20
    assert run.result.value("needed_for_0.5") == 10
    # All texts are the same, so that nothing is left to chance.
    assert [verdict.outcome for verdict in run.verdicts] == ["holds", "holds", "fails"]
    few = run_study("B-F4", text=texts[:5])
    assert few.result.value("share_of_first_13") == 13 / 20
    assert {verdict.outcome for verdict in few.verdicts} == {"undecided"}
    assert run.result.tables[0].rows[-1] == {"words": 20, "share": 1.0}


def test_an_even_text_fails() -> None:
    run = run_study("B-F4", text=[" ".join(f"w{k}" for k in range(1_000))] * 20)
    assert [verdict.outcome for verdict in run.verdicts[:2]] == ["fails", "fails"]
    assert run.result.value("zipf_exponent") == 0


def test_the_papers_text_is_found(tmp_path: Path) -> None:
    assert cnn_dm(tmp_path) is None
    (tmp_path / "cnndm").mkdir()
    (tmp_path / "cnndm" / "cnn_dailymail.csv").write_text(',text,y\n0,"an article",short\n')
    found = cnn_dm(tmp_path)
    assert found is not None
    assert [text.text for text in found.texts()] == ["an article"]
