"""Unused tokens against the vocabulary, by all pairs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from judging_for_tests import hardly, outcomes, surely

from isoscope.data.arrays import ArrayCloud
from isoscope.errors import UsageError
from isoscope.results.result import Row
from isoscope.verbs.explain.names import COSINE_WITH_UNUSED as MEASURE
from isoscope.verbs.explain.names import DIFFERENCE
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.registry import find_study
from isoscope.verbs.study.runs.folder import StudyFolder

RNG = np.random.default_rng(0)


def vocabulary(rows: int = 5_000, unused: int = 40) -> ArrayCloud:
    """Rows that drift towards one direction as their number rises; the first ones were unused."""
    drift = np.linspace(0, 3, rows)[:, None]
    vectors = RNG.normal(0, 1, (rows, 8)) + drift
    vectors[:unused] = RNG.normal(0, 0.2, (unused, 8)) + 2.0
    words = [f"[unused{k}]" if k < unused else f"w{k}" for k in range(rows)]
    return ArrayCloud(vectors, "toy", labels={"word": np.array(words, dtype=object)})


def all_pairs(vectors: np.ndarray, unused: np.ndarray, ids: slice) -> float:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float((units[unused] @ units[ids].T).mean())


def test_bins_by_all_pairs() -> None:
    cloud = vocabulary()
    vectors = np.concatenate([batch.vectors for batch in cloud.read()])
    run = run_study("B-F3", [cloud])
    unused = np.arange(40)
    for correction, x in (("none", vectors), ("center", vectors - vectors.mean(axis=0))):
        for start in (0, 3_000):
            part = f"ids {start:,} to {start + 999:,}"
            found = run.result.value(MEASURE, correction, part=part)
            assert found == pytest.approx(all_pairs(x, unused, slice(start, start + 1_000)))
        rare = all_pairs(x, unused, slice(4_000, 5_000))
        frequent = all_pairs(x, unused, slice(40, 1_040))
        assert run.result.value(DIFFERENCE, correction) == pytest.approx(rare - frequent)
    assert run.verdicts[0].outcome == "not applicable"  # rows without a model
    assert outcomes("B-F3", run.result.rows) == ["holds"]
    assert run.result.rows[0].protocol == "5,000 rows; 40 unused tokens, by their names"
    assert {row.subject for row in run.result} == {"toy"}


def test_the_last_rows_may_stand_for_unused_ones() -> None:
    cloud = vocabulary()
    vectors = np.concatenate([batch.vectors for batch in cloud.read()])
    result = run_study("B-F3", [cloud], last_unused=1_000).result
    rare = all_pairs(vectors, np.arange(4_000, 5_000), slice(3_000, 4_000))
    frequent = all_pairs(vectors, np.arange(4_000, 5_000), slice(0, 1_000))
    assert result.value(DIFFERENCE) == pytest.approx(rare - frequent)
    with pytest.raises(UsageError, match="cannot be unused"):
        run_study("B-F3", [cloud], last_unused=5_000)
    with pytest.raises(UsageError, match="--last-unused 1000"):
        run_study("B-F3", [ArrayCloud(vectors, "bare")])


def test_a_model_without_unused_tokens_is_not_what_the_claim_is_about(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    """Its last rows count as unused only where the user says so, as the paper did for RoBERTa."""
    without = f"byte={tiny_model('gpt2')}"
    run, _ = StudyFolder(tmp_path).run(find_study("B-F3"), [f"words={tiny_model('bert')}", without])
    about = {verdict.subject: (verdict.outcome, verdict.reason) for verdict in run.verdicts}
    assert about["byte"] == ("not applicable", "no unused tokens")
    assert about["words"][0] == "not run"
    run = run_study("B-F3", [without], last_unused=5)
    assert run.result.extra["facts"]["byte"]["unused_tokens"]
    assert run.verdicts[0].reason != "no unused tokens"


def test_a_model_brings_its_vocabulary(tiny_model: Callable[[str], Path]) -> None:
    run = run_study("B-F3", [str(tiny_model("bert"))])
    assert "10 unused tokens" in run.result.rows[0].protocol
    assert run.verdicts[0].outcome == "not run"
    assert "too small" in run.verdicts[0].reason


@pytest.mark.parametrize(
    ("value", "outcome"), [(0.36, "holds"), (0.1, "fails"), (-0.1, "reversed")]
)
def test_the_claim(value: float, outcome: str) -> None:
    rows = [Row("BERT", "", "none", DIFFERENCE, value), Row("BERT", "", "center", DIFFERENCE, 0.0)]
    assert outcomes("B-F3", surely(rows)) == [outcome]
    assert outcomes("B-F3", hardly(rows)) == ["undecided"]
