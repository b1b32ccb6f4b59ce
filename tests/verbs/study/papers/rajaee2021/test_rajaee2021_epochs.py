"""Epochs until the best score of features as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_files import OTHER_SIZE
from class_sets_for_tests import write_boolq, write_rte
from judging_for_tests import outcomes

from isoscope.models.token_table import LAST
from isoscope.results.result import Table
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.rajaee2021 import CLUSTER, GLOBAL, NONE
from isoscope.verbs.study.papers.rajaee2021.tasks import (
    NEEDED,
    NETWORKS,
    epochs_until,
    task_rows,
)


@OTHER_SIZE
def test_curves_of_both_sets(
    tiny_model: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))
    data = write_boolq(write_rte(tmp_path / "data"))
    run = run_study("R-F4", [f"BERT={tiny_model('bert')}"], data=data)
    tables = {(table.measure, table.correction): table for table in run.result.tables}
    for task in ("boolq", "rte"):
        for correction in (NONE, GLOBAL, CLUSTER):
            scores = [entry["accuracy"] for entry in tables[f"{task}/mlp/epochs", correction].rows]
            assert len(scores) == 10
            for epoch, score in enumerate(scores, start=1):
                row = run.result.row(f"{task}/mlp/accuracy", correction, part=f"epoch {epoch}")
                assert row.value == score
                assert row.low is not None
            needed = run.result.row(f"{task}/mlp/{NEEDED}", correction, part=LAST)
            each = []
            for ending in ("", *(f"/seed_{k}" for k in range(1, NETWORKS))):
                name = f"{task}/mlp/epochs{ending}"
                curve = [entry["accuracy"] for entry in tables[name, correction].rows]
                best = max(entry["accuracy"] for entry in tables[name, NONE].rows)
                each.append(epochs_until(curve, best)[0])
            assert (needed.value, needed.n) == (pytest.approx(sum(each) / NETWORKS), NETWORKS)
            assert "seed 0)" in needed.protocol
    said = [run.result.row(f"{task}/mlp/{NEEDED}", NONE).protocol for task in ("boolq", "rte")]
    assert ["first fold alone" in protocol for protocol in said] == [True, False]
    assert all("no epoch chosen" in protocol for protocol in said)
    assert not any("random_state" in protocol for protocol in said)
    assert {row.subject for row in run.result} == {"BERT"}
    alone = run_study("R-F4", [str(tiny_model("bert"))], data=data, tasks="rte").result
    assert {row.measure.split("/")[0] for row in alone} == {"rte"}


def test_epochs_are_counted_from_one_and_never_is_one_more() -> None:
    assert epochs_until([0.5, None, 0.7, 0.8], 0.7) == (3.0, "")
    assert epochs_until([0.5, 0.6], 0.7) == (3.0, "not reached in 2 epochs: counted as one more")


def judged(*networks: tuple[list[float], list[float]]) -> list[str]:
    """Judge networks without and with the correction, by their scores after every epoch."""
    tables = [
        Table("", "", correction, "rte/mlp/epochs" + (f"/seed_{k}" if k else ""),
              [{"epoch": k, "accuracy": score, "low": None, "high": None}
               for k, score in enumerate(scores, start=1)])
        for k, network in enumerate(networks)
        for correction, scores in zip((NONE, CLUSTER), network, strict=True)
    ]  # fmt: skip
    return outcomes("R-F4", [replace(row, subject="mine") for row in task_rows("rte", tables, "")])


def test_the_claim_holds_and_fails() -> None:
    late, soon = [0.5, 0.6, 0.7, 0.8], [0.9, 0.6, 0.6, 0.6]
    assert judged(*[(late, soon)] * 5) == ["holds"]
    assert judged(*[(soon, late)] * 5) == ["reversed"]  # never reached: one more than there are
    assert judged((late, soon)) == ["undecided"]  # one network has no error
    assert judged(*[(late, late)] * 5) == ["undecided"]
    assert judged(*[(late, soon)] * 3, *[(soon, late)] * 2) == ["undecided"]
