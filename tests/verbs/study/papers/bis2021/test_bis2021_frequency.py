"""B-F4 on texts whose frequencies are known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.inputs import cnn_dm


def texts_of(kinds: int, count: int) -> list[str]:
    """Texts of words that are all as frequent as each other."""
    rng = np.random.default_rng(0)
    return [" ".join(f"word{k}" for k in rng.integers(0, kinds, 200)) for _ in range(count)]


def test_a_text_of_few_words() -> None:
    texts = texts_of(20, 40)
    run = run_study("B-F4", text=texts)
    counts = [count for _, count in Counter(" ".join(texts).split()).most_common()]
    share = run.result.row("share_of_first_13")
    assert share.value == sum(counts[:13]) / 8_000
    assert len(share.extra["replicates"]) == 10
    assert run.result.tables[0].rows[-1] == {"words": 20, "share": 1.0}
    # 85 words are all that there are, and 98 % takes 20, whatever is left out: no spread is no
    # certainty.
    assert [verdict.outcome for verdict in run.verdicts] == ["holds", "undecided", "undecided"]
    few = run_study("B-F4", text=texts[:5])
    assert {verdict.outcome for verdict in few.verdicts} == {"undecided"}


def test_an_even_text_fails() -> None:
    run = run_study("B-F4", text=texts_of(1_000, 80))
    assert [verdict.outcome for verdict in run.verdicts] == ["fails"] * 3
    same = run_study("B-F4", text=[" ".join(f"w{k}" for k in range(1_000))])
    assert same.result.value("zipf_exponent") == 0


def test_a_number_that_grows_with_the_text_is_that_of_its_length() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.3, 400) % 100_000) for _ in range(80)]
    result = run_study("B-F4", text=texts).result
    few, most = (result.row(f"needed_for_{share}") for share in (0.3, 0.98))
    assert "replicates" in few.extra
    assert "replicates" not in most.extra
    assert (most.low, most.high) == (None, None)
    assert "no interval: half of the text needs" in most.extra["no_interval"]
    # A text that has all of its words early is not shorter than the paper's.
    even = run_study("B-F4", text=texts_of(1_000, 80)).result.row("needed_for_0.98")
    assert "replicates" in even.extra


def test_the_papers_text_is_found(tmp_path: Path) -> None:
    assert cnn_dm(tmp_path) is None
    (tmp_path / "cnndm").mkdir()
    (tmp_path / "cnndm" / "cnn_dailymail.csv").write_text(',text,y\n0,"an article",short\n')
    found = cnn_dm(tmp_path)
    assert found is not None
    assert [text.text for text in found.texts()] == ["an article"]
