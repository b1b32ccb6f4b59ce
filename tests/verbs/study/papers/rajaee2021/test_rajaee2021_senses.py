"""Tense and sense of verbs before and after removing the directions of clusters."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmark_files import put
from judging_for_tests import outcomes, surely

from isoscope.compute.stats.jackknife import deal
from isoscope.errors import UsageError
from isoscope.models.model import open_model
from isoscope.models.token_table import LAST
from isoscope.results.result import Row
from isoscope.verbs.explain.names import CONTRAST, I1, OTHER_SENSE, OTHER_TENSE, RELATIVE, SAME
from isoscope.verbs.explain.topics.senses import contrasted, replicates_over_verbs
from isoscope.verbs.explain.topics.verb_occurrences import (
    drawn,
    read_verbs,
    verb_spaces,
    with_several_senses,
)
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.rajaee2021 import CLUSTER, NONE
from isoscope.verbs.study.papers.rajaee2021.language import PRINTED_4
from isoscope.verbs.study.registry import find_study

FORMS = {
    "run": ("run", "runs", "running", "ran"),
    "sit": ("sit", "sits", "sitting", "sat"),
    "see": ("see", "sees", "seeing", "saw"),
    "fly": ("fly", "flies", "flying", "flew"),
}


def small_semcor(folder: Path) -> Path:
    """Four verbs with two senses of fifteen occurrences, and one occurrence of unknown tense."""
    rng = np.random.default_rng(0)
    nouns = ("cat", "dog", "bird", "tree", "boat", "bank", "river", "money")
    said = [
        (str(rng.choice(forms)), lemma, f"{lemma}%2:30:0{sense}::")
        for lemma, forms in FORMS.items()
        for sense in range(2)
        for _ in range(15)
    ]
    lines = []
    for number, (form, lemma, key) in enumerate([*said, ("'s", "be", "be%2:42:00::")]):
        first, second = rng.choice(nouns, 2)
        words = [("the", "the"), (first, first), (form, lemma), ("on", "on"), (second, second)]
        for place, (word, base) in enumerate(words):
            tag, sense = ("VB", key) if place == 2 else ("NN", "")
            lines.append(f"brown1/a\t{number}\t{place}\t{word}\t{base}\t{tag}\t{sense}")
    put(folder / "semcor" / "semcor3.tsv.gz", gzip.compress(("\n".join(lines) + "\n").encode()))
    return folder


def test_verbs_of_a_tiny_model(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    folder = small_semcor(tmp_path)
    source = tiny_model("bert")
    run = run_study("R-T4", [f"mine={source}"], data=folder, seed=3)
    rows = {(row.correction, row.measure): row for row in run.result.rows}
    assert len(rows) == len(run.result.rows)
    assert {(row.subject, row.part) for row in run.result.rows} == {("mine", LAST)}
    assert {correction for correction, _ in rows} == {NONE, CLUSTER}
    assert "mean of the seeds 3 to 7" in run.result.rows[0].protocol
    assert (
        "12 components of each of 27 clusters (the paper's settings for BERT, as it has none"
        in (run.result.rows[0].protocol)
    )
    left_out = run.result.table("left_out").rows
    assert [entry["occurrences"] for entry in left_out] == [0, 1, 0, 0, 0]

    verbs = drawn(with_several_senses(read_verbs(tmp_path / "semcor" / "semcor3.tsv.gz")), None, 3)
    names = [f"{CLUSTER}:n_clusters=27:n_components=12:random_state={3 + k}" for k in range(5)]
    model = open_model(str(source))
    kept, spaces = verb_spaces(model, verbs, model.stacks[0].layers[-1], names, seed=3)
    labels = [kept.labels(which) for which in ("lemma", "sense", "tense")]
    scores = {name: contrasted(vectors, *labels) for name, vectors in spaces.items()}
    for measure in (SAME, OTHER_SENSE, OTHER_TENSE, CONTRAST, RELATIVE):
        before, after = rows[NONE, measure], rows[CLUSTER, measure]
        assert before.value == pytest.approx(scores[NONE][measure].value)
        assert before.low == pytest.approx(scores[NONE][measure].low)
        each = [scores[name][measure].value for name in names]
        assert len(set(each)) == 5
        assert after.value == pytest.approx(np.mean(np.array(each, float)))
        # The clusters of another seed would be others: the interval has room for that.
        assert after.low < np.mean([scores[name][measure].low for name in names]) < after.value
        assert [run_["value"] for run_ in run.result.table(measure, CLUSTER).rows] == each
    logs = [entry["log10"] for entry in run.result.table(I1, CLUSTER).rows]
    assert rows[CLUSTER, I1].log10 == pytest.approx(np.log10(np.mean(10 ** np.array(logs))))
    assert [verdict.other_models for verdict in run.verdicts] == [("mine",), ("mine",)]


def test_some_verbs_of_a_tiny_model(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    folder, source = small_semcor(tmp_path), tiny_model("bert")
    whole, some = (run_study("R-T4", [f"mine={source}"], data=folder, sample=n) for n in (None, 60))
    assert "120 occurrences of 4 verbs" in whole.result.rows[0].protocol
    assert "60 occurrences of 2 verbs" in some.result.rows[0].protocol
    assert "whole verbs up to 60 occurrences" in some.result.rows[0].protocol


def test_replicates_leave_verbs_out() -> None:
    rng = np.random.default_rng(0)
    verbs, senses, tenses = np.repeat(np.arange(45), 8), rng.integers(0, 2, 360), np.arange(360) % 3
    vectors = rng.normal(0, 1, (360, 4))
    found = replicates_over_verbs(vectors, verbs, senses, tenses)
    blocks = deal(45, 0, 20)[verbs]
    for measure in (SAME, OTHER_SENSE, OTHER_TENSE):
        expected = [
            contrasted(vectors[kept], verbs[kept], senses[kept], tenses[kept])[measure].value
            for kept in (blocks != k for k in range(20))
        ]
        assert found[measure]["replicates"] == pytest.approx(expected)
        assert found[measure]["blocks"] == "20 blocks of 45 verbs"
    assert replicates_over_verbs(vectors[:80], verbs[:80], senses[:80], tenses[:80]) == {}


def test_semcor_is_needed(
    tiny_model: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ISOSCOPE_DATA", raising=False)
    assert "--data folder with SemCor" in find_study("R-T4").needs
    for data in (None, tmp_path):
        with pytest.raises(UsageError, match=r"semcor3\.tsv\.gz"):
            run_study("R-T4", [str(tiny_model("bert"))], data=data)


def test_printed_numbers() -> None:
    printed = PRINTED_4()
    assert len(printed) == 24
    assert printed["BERT", LAST, NONE, OTHER_TENSE] == 14.87
    assert printed["BERT", LAST, CLUSTER, OTHER_SENSE] == 10.5
    assert printed["GPT-2", LAST, NONE, SAME] == 48.82
    assert printed["RoBERTa", LAST, NONE, I1] == 1.22e-6


def judged(numbers: dict[tuple[str, str, str, str], float], error: float = 1e-3) -> list[str]:
    rows = [Row(*key, value) for key, value in numbers.items() if key[0] == "GPT-2"]
    return outcomes("R-T4", surely(rows, error))


def test_claims_hold_for_the_paper_and_fail_otherwise() -> None:
    printed = PRINTED_4()
    assert judged(printed) == ["holds", "holds"]
    assert judged(printed, 20.0) == ["undecided", "undecided"]
    for correction, expected in ((NONE, ["reversed", "holds"]), (CLUSTER, ["holds", "reversed"])):
        turned = dict(printed)
        one, other = (("GPT-2", LAST, correction, name) for name in (OTHER_TENSE, OTHER_SENSE))
        turned[one], turned[other] = turned[other], turned[one]
        assert judged(turned) == expected
