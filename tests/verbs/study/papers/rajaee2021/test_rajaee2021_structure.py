"""R-F3 on a tiny model against the topic, and its claim."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from judging_for_tests import judged, outcomes

from isoscope.models.model import open_model
from isoscope.results.result import Result, Row
from isoscope.verbs.explain.names import CHANCE, SHARE, WORDS
from isoscope.verbs.explain.topics import structure
from isoscope.verbs.explain.topics.sentence_groups import SentenceGroup
from isoscope.verbs.explain.topics.structure import read_sentences, structure_rows
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.rajaee2021 import CLUSTER
from isoscope.verbs.study.registry import find_study

Folder = Callable[[str], Path]
SHAPES = (
    "the {} of the {} sat, it was {}.", "in the {}, the {} of a {} ran.",
    "the {} was {}, and of the {}.", "a {} saw the {} of {}, big.", "of the {}, {} is the {}.",
)  # fmt: skip
FILLED = (("cat", "dog", "big"), ("bird", "tree", "old"), ("bank", "river", "new"))
GROUPS = [SentenceGroup(shape, tuple(shape.format(*words) for words in FILLED)) for shape in SHAPES]


def test_shares_before_and_after(tiny_model: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "made_groups", lambda _: GROUPS)
    folder = tiny_model("gpt2")
    run = run_study("R-F3", [f"GPT-2={folder}"], seed=1)
    model = open_model(str(folder))
    read = read_sentences(model, GROUPS, "", model.stacks[0].layers[-1])
    names = [f"{CLUSTER}:n_clusters=10:n_components=30:random_state={k}" for k in range(1, 6)]
    direct = Result(structure_rows(read, names, 1))
    for word in WORDS:
        own = run.result.row(SHARE, part=word)
        assert own.subject == "GPT-2"
        assert own.value == direct.value(SHARE, part=word)
        assert (own.low, own.high) == (direct.row(SHARE, part=word).low, own.high)
        assert run.result.value(CHANCE, part=word) == direct.value(CHANCE, part=word)
        after = [direct.value(SHARE, name, word) for name in names]
        row = run.result.row(SHARE, CLUSTER, word)
        assert row.value == pytest.approx(np.mean(after))
        ends = [direct.row(SHARE, name, word) for name in names]
        if all(end.low is not None for end in ends):
            # The clusters of another seed would be others: the interval has room for that.
            assert row.low < np.mean([end.low for end in ends]) < row.value
            assert "no_interval" not in row.extra
        assert run.result.value(f"{SHARE}/difference", CLUSTER, word) == pytest.approx(
            np.mean(after) - own.value
        )
        runs = run.result.table(SHARE, CLUSTER, word).rows
        assert [entry["value"] for entry in runs] == after
    assert "removes 30 components of each of 10 clusters" in row.protocol
    assert "mean of the seeds 1 to 5" in row.protocol
    assert "last layer: final norm" in row.protocol
    assert {row.correction for row in run.result} == {"none", CLUSTER}
    assert run.verdicts[0].outcome in ("undecided", "holds", "fails", "reversed")


def shares(after: float, error: float) -> list[Row]:
    rows = []
    for word in WORDS:
        rows += [
            Row("bert-base-uncased", word, "none", CHANCE, 0.1),
            Row("bert-base-uncased", word, "none", SHARE, 0.5, low=0.4, high=0.6),
            Row("bert-base-uncased", word, CLUSTER, SHARE, after,
                low=after - 0.1, high=after + 0.1),
            # The same occurrences: a difference is more certain than either share.
            Row("bert-base-uncased", word, CLUSTER, f"{SHARE}/difference", after - 0.5,
                low=after - 0.5 - error, high=after - 0.5 + error),
        ]  # fmt: skip
    return rows


def test_the_claim_holds_and_fails() -> None:
    assert find_study("R-F3").text is None
    (good,) = judged("R-F3", shares(0.45, 0.01))
    assert (good.outcome, len(good.cases), good.other_models) == ("holds", 4, ())
    assert outcomes("R-F3", shares(0.45, 0.2)) == ["undecided"]
    assert outcomes("R-F3", shares(0.55, 0.01)) == ["reversed"]
    some = [*shares(0.45, 0.01)[:-4], *shares(0.55, 0.01)[-4:]]
    assert outcomes("R-F3", some) == ["fails"]
