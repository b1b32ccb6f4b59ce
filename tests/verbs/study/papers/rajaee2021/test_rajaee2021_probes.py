"""A network on frozen features, against the same network on features made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmark_files import OTHER_SIZE, load
from class_sets_for_tests import write_cola, write_rte, write_wic
from judging_for_tests import outcomes, surely
from sklearn.metrics import matthews_corrcoef
from sts_for_tests import hidden_states

from isoscope.corrections import ClusterRemoval
from isoscope.errors import UsageError
from isoscope.models.model import open_model
from isoscope.models.token_table import LAST, read_last_layer
from isoscope.results.result import Row
from isoscope.tasks.probes import Lesson, MlpProbe
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.rajaee2021 import (
    BERT,
    CLUSTER,
    GLOBAL,
    NONE,
    PAPERS_SETTINGS,
    Settings,
)
from isoscope.verbs.study.papers.rajaee2021.tasks import (
    AVERAGE,
    PROBE_SETS,
    averages,
    deciding,
)
from isoscope.verbs.study.registry import find_study

pytestmark = OTHER_SIZE
Folder = Callable[[str], Path]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))
    return write_cola(write_rte(tmp_path / "data"))


def sides(example: Any) -> list[str]:
    return [example.first] if example.second is None else [example.first, example.second]


def features(vectors: dict[str, np.ndarray], examples: list[Any]) -> np.ndarray:
    rows = []
    for example in examples:
        u = vectors[example.first]
        v = vectors[sides(example)[-1]]
        rows.append(u if example.second is None else np.concatenate([u, v, abs(u - v), u * v]))
    return np.array(rows, np.float32)


def by_hand(folder: Path, examples: list[Any]) -> dict[str, list[Any]]:
    """What the network says of dev in every space, five seeds of k-means one by one."""
    texts = [text for example in examples for text in sides(example)]
    tokens = {
        text: layers[-1] for text, layers in hidden_states(folder, texts, special=False).items()
    }
    train, dev = ([one for one in examples if one.split == split] for split in ("train", "dev"))
    scored = {text for example in dev for text in sides(example)}
    apart = [text for text in tokens if text not in scored]
    fitted = np.concatenate([tokens[text] for text in apart])
    mean = fitted.mean(axis=0)
    top = np.linalg.svd(fitted - mean, full_matrices=False)[2][:2]
    # k-means draws its first centres by their order, which is that of batches
    in_batches = read_last_layer(open_model(str(folder)), apart, "").tokens
    removed = [ClusterRemoval(3, 2, random_state=seed).fit(in_batches) for seed in range(5)]
    changes: dict[str, list[Any]] = {
        NONE: [lambda rows: rows],
        GLOBAL: [lambda rows: (rows - mean) @ (np.eye(len(mean)) - top.T @ top)],
        CLUSTER: [one.transform for one in removed],
    }
    labels = sorted({example.label for example in examples})
    said: dict[str, list[Any]] = {}
    for name, several in changes.items():
        for change in several:
            vectors = {text: change(rows).mean(axis=0) for text, rows in tokens.items()}
            codes = np.array([labels.index(example.label) for example in train])
            blocks = 1 if train[0].second is None else 4
            lesson = Lesson(features(vectors, train), codes, features(vectors, dev), None, blocks)
            said.setdefault(name, []).append(MlpProbe(seed=0).predict(lesson))
    return said | {"": [[labels.index(example.label) for example in dev]]}


def test_scores_are_those_of_the_network(
    tiny_model: Folder, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the paper's rate moves nothing in so few steps, its settings leave nothing of 32 dimensions
    monkeypatch.setitem(PAPERS_SETTINGS, BERT, Settings(2, 3, 2))
    monkeypatch.setattr(MlpProbe.__init__, "__defaults__", (100, 0.01, 8, 20, "none", 0, "mlp"))
    folder = tiny_model("bert")
    run = run_study("R-T3", [f"BERT={folder}"], data=data)
    result = run.result
    found: dict[str, dict[str, float]] = {}
    for task, measure in (("rte", "rte/mlp/accuracy"), ("cola", "cola/mlp/matthews")):
        said = by_hand(folder, load(task, data))
        ((truth,),) = [said.pop("")]
        for correction, guesses in said.items():
            scores = [
                matthews_corrcoef(truth, one) if task == "cola" else np.mean(one == truth)
                for one in guesses
            ]
            found.setdefault(correction, {})[task] = float(np.mean(scores))
            row = result.row(measure, correction, part=LAST)
            assert row.value == pytest.approx(np.mean(scores), abs=1e-9)
            assert row.low is not None
            for words in (f"{task}: mean pooling", "special tokens out", "of the ", "not offered",
                          "2 of each of 3 clusters", "seeds 0 to 4"):  # fmt: skip
                assert words in row.protocol
    assert len({value for scores in found.values() for value in scores.values()}) > 3
    for correction in (NONE, GLOBAL, CLUSTER):
        mean = np.mean(list(found[correction].values()))
        assert result.value("average_of_2", correction) == pytest.approx(mean)
    change = result.value("average_of_2/difference", CLUSTER)
    before = result.value("average_of_2", NONE)
    assert change == pytest.approx(np.mean(list(found[CLUSTER].values())) - before)
    assert result.row("rte/mlp/accuracy", GLOBAL).extra["printed"] == pytest.approx(0.562)
    assert "printed" not in result.row("average_of_2", GLOBAL).extra
    assert result.left_out == {"sets without data (sst-2, mrpc, wic, boolq)": 4}
    assert {table.measure for table in result.tables} == {"rte/mlp/accuracy", "cola/mlp/matthews"}
    *on_sets, of_the_average = run.verdicts
    # Two of the six sets cannot show what is so on all of them.
    assert {verdict.outcome for verdict in on_sets} <= {"fails", "undecided"}
    assert (of_the_average.outcome, "only rte, cola" in of_the_average.reason) == ("not run", True)


def test_some_sets_alone(tiny_model: Folder, data: Path) -> None:
    write_wic(data)
    result = run_study("R-T3", [str(tiny_model("bert"))], data=data, tasks="WiC, rte").result
    assert {row.measure.split("/")[0] for row in result} == {
        "rte", "wic", "average_of_2", "average"
    }  # fmt: skip
    (unknown,) = [row for row in result if row.measure == "average/difference"
                  and row.correction == CLUSTER]  # fmt: skip
    assert unknown.value is None
    assert unknown.note == (
        "the average is over rte, cola, sst-2, mrpc, wic, boolq; only rte, wic scored"
    )
    assert result.left_out == {}
    with pytest.raises(UsageError, match="mrpc reads MRPC"):
        run_study("R-T3", [str(tiny_model("bert"))], data=data, tasks="mrpc")


def test_an_average_with_an_undefined_score_is_undefined() -> None:
    rows = [Row("", LAST, name, "rte/mlp/accuracy", None) for name in (NONE, GLOBAL)]
    found = averages(rows, ["rte/mlp/accuracy"])
    assert [row.measure for row in found] == [
        "average_of_1", "average_of_1", "average_of_1/difference", "average/difference"
    ]  # fmt: skip
    assert {row.value for row in found} == {None}


def made_up(*values: float, gain: float, tasks: Sequence[str] = PROBE_SETS) -> list[Row]:
    rows = [
        Row("mine", LAST, correction, deciding(task), value)
        for correction, value in zip((NONE, GLOBAL, CLUSTER), values, strict=True)
        for task in tasks
    ]
    return [*rows, Row("mine", LAST, CLUSTER, "average/difference", gain)]


def test_claims_hold_and_fail() -> None:
    good = made_up(0.1, 0.2, 0.3, gain=0.03)
    assert outcomes("R-T3", surely(good)) == ["holds"] * 3
    assert outcomes("R-T3", surely(good, 0.3)) == ["undecided"] * 3
    bad = made_up(0.3, 0.2, 0.1, gain=0.01)
    assert outcomes("R-T3", surely(bad)) == ["reversed", "reversed", "fails"]
    assert outcomes("R-T3", surely(made_up(0.3, 0.2, 0.1, gain=-0.01)))[2] == "reversed"


def test_some_sets_can_contradict_a_claim_about_all_of_them_but_not_support_it() -> None:
    some = PROBE_SETS[:2]
    good = surely(made_up(0.1, 0.2, 0.3, gain=0.03, tasks=some))
    assert outcomes("R-T3", good)[:2] == ["undecided"] * 2
    bad = surely(made_up(0.3, 0.2, 0.1, gain=0.03, tasks=some))
    assert outcomes("R-T3", bad)[:2] == ["fails"] * 2


def test_an_average_leaves_out_block_by_block() -> None:
    rng = np.random.default_rng(0)
    measures = ["rte/mlp/accuracy", "cola/mlp/matthews"]
    rows = [
        Row("", LAST, name, measure, 0.5, extra={
            "blocks": f"20 of {measure}", "replicates": rng.normal(0.5, 0.1, 20).tolist()})
        for name in (NONE, CLUSTER) for measure in measures
    ]  # fmt: skip
    found = {(row.correction, row.measure): row.extra for row in averages(rows, measures)}
    sets = [np.array(row.extra["replicates"]) for row in rows]
    before, after = (sets[0] + sets[1]) / 2, (sets[2] + sets[3]) / 2
    assert found[NONE, "average_of_2"]["replicates"] == pytest.approx(before)
    moved = found[CLUSTER, "average_of_2/difference"]["replicates"]
    assert moved == pytest.approx(after - before)


def test_printed_numbers() -> None:
    printed = find_study("R-T3").printed()
    assert len(printed) == 3 * 7
    assert printed["BERT", LAST, CLUSTER, "cola/mlp/matthews"] == pytest.approx(0.407)
    for correction in (NONE, GLOBAL, CLUSTER):
        sets = [
            value
            for (_, _, name, measure), value in printed.items()
            if name == correction and measure != AVERAGE
        ]
        assert np.mean(sets) == pytest.approx(printed["BERT", LAST, correction, AVERAGE], abs=1e-3)
