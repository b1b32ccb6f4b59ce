"""Positional embeddings and norms of Luo's recipes against numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from judged_for_tests import exact, outcomes

from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.luo2021.weights import (
    ELSEWHERE,
    FIRST_OUTLIERS,
    SAME_MAXIMUM,
    first_row_with_same_maximum,
    position_rows,
    same_maximum,
)

Folder = Callable[[str], Path]
TEXTS = ["the cat sat on the old tree.", "a small dog ran.", "it was the river bank"]


def bert_like() -> np.ndarray:
    """Two outliers in the first row only."""
    matrix = np.random.default_rng(0).normal(0, 0.02, (50, 256))
    matrix[0, [5, 17]] = -0.5, 0.7
    return matrix


def roberta_like() -> np.ndarray:
    """The same maximum from row 4 on, but for one row."""
    matrix = np.random.default_rng(1).normal(0, 0.02, (202, 256))
    matrix[4:, 9] = 0.9
    matrix[100, 9] = 0.0
    return matrix


def test_outliers_of_the_first_position_only() -> None:
    rows = {row.measure: row for row in position_rows("BERT", "", bert_like(), 0)}
    assert rows[FIRST_OUTLIERS].value == 2
    assert rows[FIRST_OUTLIERS].note == "stand out: 5, 17"
    assert rows[ELSEWHERE].value == 0
    assert outcomes("L-F3.5", list(rows.values()))[:2] == ["holds", "holds"]
    matrix = bert_like()
    matrix[7, 5] = 0.6
    again = {row.measure: row for row in position_rows("BERT", "", matrix, 0)}
    assert again[ELSEWHERE].value == pytest.approx(1 / 49)
    assert outcomes("L-F3.5", list(again.values()))[:2] == ["holds", "fails"]
    plain = position_rows("BERT", "", bert_like()[1:], 0)
    assert outcomes("L-F3.5", plain)[:2] == ["fails", "not run"]
    others = position_rows("mine", "", bert_like(), 0)
    assert outcomes("L-F3.5", others) == ["not applicable"] * 3


def test_the_same_maximum_from_some_row_on() -> None:
    matrix = roberta_like()
    found = same_maximum(matrix, 4)
    assert found["value"] == pytest.approx(197 / 198)
    assert found["extra"] == {"dimension": 9, "exact": True}
    rows = position_rows("RoBERTa-base", "", matrix, 2)
    values = {row.measure.removeprefix(f"{SAME_MAXIMUM}/"): row.value for row in rows}
    assert values["from_fourth_row"] == pytest.approx(197 / 199)
    assert values["from_fourth_position"] == pytest.approx(196 / 197)
    assert values["first_row"] == 4
    assert outcomes("L-F3.5", rows)[2] == "fails"  # 197 of 199 are less than 99 %
    matrix[100, 9] = 0.9
    assert outcomes("L-F3.5", position_rows("RoBERTa", "", matrix, 2))[2] == "holds"
    assert first_row_with_same_maximum(np.random.default_rng(2).normal(size=(40, 64))) is None
    assert same_maximum(matrix, 900)["value"] is None


def test_tables_of_models(tiny_model: Folder) -> None:
    import torch
    import transformers

    folder = tiny_model("roberta")
    run = run_study("L-F3.5", [f"RoBERTa={folder}", str(tiny_model("llama"))])
    network = transformers.AutoModel.from_pretrained(folder)
    table = network.embeddings.position_embeddings.weight.detach().to(torch.float64).numpy()
    counts = np.bincount(table[3:].argmax(axis=1))
    row = run.result.row(f"{SAME_MAXIMUM}/from_fourth_row")
    assert row.value == pytest.approx(counts.max() / counts.sum())
    assert "2 come before the first position" in row.protocol
    llama = [row for row in run.result if row.subject == "tiny-llama"]
    assert all(row.value is None and "rotary" in row.note for row in llama)
    assert len(run.result.tables[0].rows) == len(table)


def test_ranks_in_norms(tiny_model: Folder) -> None:
    import transformers

    folder = tiny_model("bert")
    run = run_study("L-LN", [str(folder)], text=TEXTS)
    network = transformers.AutoModel.from_pretrained(folder)
    layer = network.encoder.layer[1]
    for name, norm in (
        ("first", layer.attention.output.LayerNorm),
        ("second", layer.output.LayerNorm),
    ):
        for of, vector in (("gain", norm.weight), ("bias", norm.bias)):
            order = np.argsort(-vector.detach().numpy()).tolist()
            prefix = f"rank/{name} {of}/"
            rows = [r for r in run.result if r.part == "layer 2" and r.measure.startswith(prefix)]
            assert rows
            for row in rows:
                assert row.value == order.index(int(row.measure.removeprefix(prefix))) + 1
    assert {row.part for row in run.result} >= {"embedding", "layer 1", "layer 3"}
    assert f" {rows[0].measure} | {rows[0].value:.0f} |" in run.to_markdown()


def test_claims_about_ranks_hold_and_fail() -> None:
    def rows(bert: int, bias: int, gain: int) -> list[Row]:
        found = []
        for k in range(1, 13):
            late = 0 if k <= 3 else bert - 1
            found += [
                Row("BERT", f"layer {k}", "none", "rank/first gain/557", 1.0 + late),
                Row("RoBERTa", f"layer {k}", "none", "rank/first bias/588", 1 if k < 6 else bias),
                Row("RoBERTa", f"layer {k}", "none", "rank/second gain/77", gain),
            ]
        return [exact(row) for row in found]

    assert outcomes("L-LN", rows(6, 2, 7)) == ["holds"] * 5
    assert outcomes("L-LN", rows(7, 3, 8)) == ["fails", "holds", "fails", "holds", "fails"]
    first = [exact(Row("BERT", "layer 1", "none", "rank/first gain/557", 2.0))]
    assert outcomes("L-LN", first)[:2] == ["holds", "fails"]
