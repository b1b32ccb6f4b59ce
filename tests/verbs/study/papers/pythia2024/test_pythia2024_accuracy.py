"""Accuracy and isotropy over tiny checkpoints, each against a model by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmark_files import OTHER_SIZE
from class_sets_for_tests import write_senteval
from judged_for_tests import outcomes
from scipy import stats

import isoscope
from isoscope.models.model import open_model
from isoscope.results.result import Row
from isoscope.tasks import SentenceProtocol
from isoscope.verbs.evaluate.api import evaluate
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.pythia2024.training import (
    ACCURACY,
    I1,
    MEAN_ACCURACY,
    MEAN_I1,
    mean_row,
)

NOISES = {"step0": 0.0, "step10": 0.1, "step20": 0.3, "step30": 0.5, "step40": 0.7}


@OTHER_SIZE
def test_scores_of_every_checkpoint(
    tiny_model: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainings_for_tests import save_training

    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path / "cache"))
    training = save_training(tiny_model("gpt-neox"), tmp_path / "run", NOISES)
    data = write_senteval(tmp_path / "data")
    run = run_study("P-A", [f"Pythia-70M={training}"], data=data)
    how = SentenceProtocol(special_tokens=False, cache=False, isotropy=("i1",))
    accuracy, evenness, of_texts = [], [], []
    for revision in NOISES:
        folder = str(training / revision)
        alone = evaluate(folder, "cr,trec", "none", data=data, sentences=how)
        for name in (ACCURACY, I1):
            values = [alone.value(f"{task}/{name}") for task in ("cr", "trec")]
            found = [run.result.value(f"{task}/{name}", part=revision) for task in ("cr", "trec")]
            assert found == pytest.approx(values)
            assert run.result.value(f"average/{name}", part=revision) == pytest.approx(
                np.mean(values)  # type: ignore[arg-type]
            )
        cloud = open_model(folder).embedding_cloud("output", padding_rows=True)
        matrix = isoscope.measure(cloud, "i1", "none", intervals=False)
        assert run.result.value("i1", part=revision) == pytest.approx(matrix.value("i1"))
        accuracy.append(run.result.value(MEAN_ACCURACY, part=revision))
        evenness.append(run.result.value("i1", part=revision))
        of_texts.append(run.result.value(MEAN_I1, part=revision))
    for name, values in ((I1, evenness), (MEAN_I1, of_texts)):
        together = run.result.row(f"correlation({MEAN_ACCURACY}, {name})")
        expected = stats.pearsonr(accuracy[1:], values[1:]).statistic
        assert together.value == pytest.approx(expected)
        assert together.n == 4  # without step 0
        assert together.low is not None
    assert list(run.result.left_out) == [
        "sets without data (mr, subj, mpqa, sst-2, sst-5, mrpc, sick-e, semcor-pos)"
    ]
    # Of four checkpoints nothing is certain.
    assert {verdict.outcome for verdict in run.verdicts} == {"undecided"}
    assert {row.subject for row in run.result} == {"Pythia-70M"}
    assert not (tmp_path / "cache").exists()
    assert "does not name" in run.result.row(MEAN_ACCURACY, part="step10").protocol


def test_a_mean_over_sets_needs_all_of_them() -> None:
    rows = [Row("m", "p", "none", f"cr/{I1}", 0.5), Row("m", "p", "none", f"mr/{I1}", None)]
    assert mean_row(rows, ["cr", "mr"], I1).value is None
    assert mean_row(rows, ["cr"], I1).value == 0.5


def test_claims_hold_and_fail() -> None:
    for value, p, outcome in (
        (0.9, 0.001, "holds"), (-0.9, 0.001, "reversed"), (-0.3, 0.4, "undecided"),
    ):  # fmt: skip
        rows = [
            Row("Pythia-70M", "", "none", f"correlation({MEAN_ACCURACY}, {name})", value,
                extra={"p": p})
            for name in (I1, MEAN_I1)
        ]  # fmt: skip
        assert outcomes("P-A", rows) == [outcome] * 2
        others = [replace(row, subject="Pythia-410M") for row in rows]
        assert outcomes("P-A", others) == ["not applicable"] * 2
