"""Scores of every epoch against those of the probe by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from isoscope.errors import UsageError
from isoscope.results.result import Table
from isoscope.tasks.probes import Lesson, LogisticProbe, MlpProbe
from isoscope.tasks.problems.classification import ClassProblem, epoch_outputs, epoch_table

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 2, 90)
VECTORS = RNG.normal(size=(90, 4)) + CODES[:, None] * 0.7
LEARN, HELD = np.arange(60), np.arange(60, 90)
PROBE = MlpProbe(hidden=6, rate=0.01, batch=8, epochs=5, seed=1)
PROBLEM = ClassProblem(
    "toy",
    "texts",
    tuple(map(str, range(90))),
    ("0", "1"),
    np.arange(90),
    None,
    CODES,
    np.full(90, "all", object),
    probe=PROBE,
)


def table(vectors: np.ndarray = VECTORS) -> Table:
    return epoch_table(("model", "block 1"), "center", PROBLEM, vectors, LEARN, HELD)


@pytest.mark.needs_package("torch", "torch")
def test_a_row_an_epoch() -> None:
    found = table()
    assert (found.subject, found.part, found.correction) == ("model", "block 1", "center")
    assert found.measure == "toy/mlp/epochs"
    alone = PROBE.epochs_of(Lesson(VECTORS[LEARN], CODES[LEARN], VECTORS[HELD]))
    for epoch, (row, (loss, codes)) in enumerate(zip(found.rows, alone, strict=True), start=1):
        assert row["epoch"] == epoch
        assert row["loss"] == loss
        assert row["accuracy"] == pytest.approx(np.mean(codes == CODES[HELD]))
        assert row["f1"] == pytest.approx(metrics.f1_score(CODES[HELD], codes))
        assert row["low"] < row["accuracy"] < row["high"]
    assert found.rows[-1]["loss"] < found.rows[0]["loss"]
    kept = Table.from_dict(found.to_dict())
    assert kept == found


@pytest.mark.needs_package("torch", "torch")
def test_texts_without_a_vector_are_left_out() -> None:
    absent = VECTORS.copy()
    absent[[0, 70]] = np.nan
    for _, outputs in epoch_outputs(PROBLEM, absent, LEARN, HELD):
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(outputs)), [10])
    assert table(absent).rows[0]["accuracy"] is not None


def test_a_probe_without_epochs_is_refused() -> None:
    plain = replace(PROBLEM, probe=LogisticProbe())
    with pytest.raises(UsageError, match="logistic is not trained in epochs; use mlp"):
        epoch_outputs(plain, VECTORS, LEARN, HELD)
