"""Frequency and the first component, before and after directions are removed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from judging_for_tests import judged, outcomes, surely

from isoscope.compute.stats.jackknife import deal
from isoscope.corrections import make_correction
from isoscope.data.texts import open_texts
from isoscope.models.frequencies import Frequencies, token_counts
from isoscope.models.model import open_model
from isoscope.models.token_table import LAST, TokenSample, read_tokens
from isoscope.results.merge import renamed
from isoscope.results.result import Row
from isoscope.verbs.explain.names import FIRST
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.rajaee2021 import CLUSTER, GLOBAL, NONE, Settings
from isoscope.verbs.study.papers.rajaee2021.language import frequencies_of, in_spaces

Folder = Callable[[str], Path]
NOUNS = ["cat", "dog", "bird", "tree", "river", "bank", "money", "boat"]
TEXTS = [
    f"the {a} saw a {b}, and it was {c}." for a in NOUNS for b in NOUNS for c in ("old", "red")
]
SETTINGS = Settings(2, 3, 1)


def size_of_r(vectors: np.ndarray, ids: np.ndarray, shares: np.ndarray) -> float:
    wide = vectors.astype(np.float64)
    centred = wide - wide.mean(axis=0)
    first = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
    kinds = [kind for kind in np.unique(ids) if shares[kind] > 0]
    means = [first[ids == kind].mean() for kind in kinds]
    return float(abs(np.corrcoef(means, np.log10(shares[kinds]))[0, 1]))


def planted(seed: int) -> tuple[TokenSample, Frequencies]:
    """Tokens in three groups, in each of which one direction is frequency."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 201)
    ids = rng.choice(200, 1_500, p=shares / shares.sum())
    groups = rng.normal(0, 2, (3, 8))
    vectors = groups[ids % 3] + rng.normal(0, 0.4, (1_500, 8))
    vectors[:, 0] += 12 * np.log10(ids + 1)
    names = np.array([f"w{k}" for k in ids], dtype=object)
    where = np.arange(1_500)
    sample = TokenSample({"top": vectors.astype(np.float32)}, ids, names, names, where, where, "")
    return sample, Frequencies(shares, "made")


@pytest.mark.parametrize("seed", range(3))
def test_spaces_by_hand(seed: int) -> None:
    sample, known = planted(seed)
    found = in_spaces(sample, "top", known, SETTINGS, seed)
    vectors = sample.layers["top"]

    def after(correction: str) -> float:
        corrected = make_correction(correction).fit(vectors).transform(vectors)
        return size_of_r(corrected, sample.ids, known.shares)

    raw = size_of_r(vectors, sample.ids, known.shares)
    assert raw > 0.8
    # Vectors are in single precision.
    assert found.value(FIRST, NONE) == pytest.approx(raw, abs=1e-4)
    expected = after("all-but-the-top:n_components=2")
    assert found.value(FIRST, GLOBAL) == pytest.approx(expected, abs=1e-3)
    name = "cluster-pc-removal:n_clusters=3:n_components=1:random_state={}"
    runs = [after(name.format(seed + k)) for k in range(5)]
    assert found.value(FIRST, CLUSTER) == pytest.approx(np.mean(runs), abs=1e-3)
    for correction in (NONE, GLOBAL, CLUSTER):
        assert len(found.row(FIRST, correction).extra["replicates"]) == 10
    kept = deal(1_500, seed)[sample.sentences] != 0
    without = size_of_r(vectors[kept], sample.ids[kept], known.shares)
    assert found.row(FIRST, NONE).extra["replicates"][0] == pytest.approx(without, abs=1e-4)
    assert [table.correction for table in found.tables] == [NONE, GLOBAL, CLUSTER]
    assert outcomes("R-F5", renamed(found, subject="BERT").rows) == ["holds"]


def test_a_model_with_counts_of_its_text(
    tiny_model: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    folder = tiny_model("bert")
    run = run_study("R-F5", [f"BERT={folder}"], text=TEXTS)
    row = run.result.row(FIRST, part=LAST)
    model = open_model(str(folder))
    counts = token_counts(model.tokenizer, open_texts(TEXTS))
    sample = read_tokens(model, open_texts(TEXTS), 10**6, layers=[model.stacks[0].layers[-1]])
    (vectors,) = sample.layers.values()
    assert row.value == pytest.approx(
        size_of_r(vectors, sample.ids, counts / counts.sum()), abs=1e-4
    )
    assert row.n == int((counts > 0).sum())
    assert f"frequencies: {counts.sum():,} tokens of" in row.protocol
    assert "last layer: block 3" in row.protocol
    assert "12 of each of 27 clusters (the paper's settings for this model" in row.protocol
    assert {row.subject for row in run.result} == {"BERT"}
    assert {table.part for table in run.result.tables} == {LAST}
    assert len(row.extra["replicates"]) == 10
    assert {verdict.outcome for verdict in run.verdicts} <= {"holds", "reversed", "undecided"}


@pytest.mark.needs_package("wordfreq", "wordfreq")
def test_frequencies_of_english_where_the_package_is(tiny_model: Folder) -> None:
    model = open_model(str(tiny_model("gpt-neox")))
    known = frequencies_of(model, open_texts(TEXTS))
    assert known.source.startswith("wordfreq, English")
    rows, _ = model.tensor(model.parts.input_embedding).shape
    assert len(known.shares) == rows > len(model.tokenizer)


@pytest.mark.parametrize(("after", "outcome"), [(0.2, "holds"), (0.5, "reversed")])
def test_the_claim(after: float, outcome: str) -> None:
    rows = [
        Row("BERT", LAST, NONE, FIRST, 0.4),
        Row("BERT", LAST, GLOBAL, FIRST, 0.9),
        Row("BERT", LAST, CLUSTER, FIRST, after),
    ]
    (verdict,) = judged("R-F5", surely(rows))
    assert (verdict.outcome, verdict.other_models) == (outcome, ())
    assert outcomes("R-F5", surely(rows, 0.3)) == ["undecided"]
