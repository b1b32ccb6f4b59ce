"""Recipes over training on tiny checkpoints, and their claims on made-up curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from isoscope.errors import UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.profile.api import profile
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.pythia2024.training import relative_change
from isoscope.verbs.study.registry import find_study
from isoscope.verbs.study.training_runs import Curve

NOISES = {"step0": 0.0, "step10": 0.1, "step20": 0.2, "step30": 0.5, "step40": 0.6, "step60": 0.1}
TEXTS = ["the cat sat on the bank.", "a dog ran in the river.", "a bird flew and the dog saw it."]
SAME = pytest.mark.filterwarnings("ignore:.*has the same weights:UserWarning")


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory, tiny_model: Callable[[str], Path]) -> Path:
    """Six checkpoints, of which the last has the weights of the second."""
    from trainings_for_tests import save_training

    return save_training(tiny_model("gpt-neox"), tmp_path_factory.mktemp("trained") / "run", NOISES)


@SAME
def test_the_last_layer_over_training(training: Path) -> None:
    run = run_study("P-F3", [f"Pythia-70M={training}"], text=TEXTS)
    values = []
    for revision in ("step0", "step10", "step20", "step30", "step40"):
        alone = profile(str(training / revision), TEXTS, measures="mean_cosine", intervals=False)
        value = alone.value("mean_cosine", part="final norm")
        assert run.result.value("mean_cosine", part=revision) == pytest.approx(value)
        values.append(value)
    middle = np.interp([40 / 3, 80 / 3], [0, 10, 20, 30, 40], values)
    found = run.result.row("mean_cosine/change_in_middle_third")
    assert found.value == pytest.approx(middle[1] - middle[0])
    assert found.n == 5  # a checkpoint with the weights of another is no point of the curve
    assert "steps 0 to 40 by 10, 60" in run.result.rows[0].protocol
    assert {row.subject for row in run.result} == {"Pythia-70M"}
    similar = run_study("P-F4", [f"Pythia-70M={training}"], text=TEXTS, every=2).result
    assert [row.part for row in similar if row.measure == "intra_sim"] == [
        "step0", "step20", "step40", "step60"
    ]  # fmt: skip


@SAME
def test_matrices_and_norms_over_training(training: Path) -> None:
    from safetensors.numpy import load_file

    names = list(NOISES)[:-1]
    run = run_study("P-F9", [f"Pythia-70M={training}"])
    tensors = [load_file(training / name / "model.safetensors") for name in names]
    gains = [
        np.linalg.norm(one["gpt_neox.final_layer_norm.weight"].astype(float)) / 32**0.5
        for one in tensors
    ]
    found = [run.result.value("gain_avgnorm", part=name) for name in names]
    assert found == pytest.approx(gains)
    assert run.result.value("gain_avgnorm/change") == pytest.approx(gains[-1] - gains[0])
    evenness = [run.result.value("i1", part=name) for name in names]
    together = run.result.row("correlation(gain_avgnorm, i1)")
    assert together.value == pytest.approx(stats.pearsonr(gains[1:], evenness[1:])[0])
    assert together.n == 4
    seven = run_study("P-F7", [f"Pythia-6.9B={training}"]).result
    assert [seven.value("i1", part=name) for name in names] == evenness
    assert seven.value("i1/distance_from_plateau") == pytest.approx(
        max(abs(value - 0.77) for value in evenness[3:])
    )
    assert seven.value("i1/end_above_lowest_before") == pytest.approx(
        evenness[-1] - min(evenness[:-1])
    )


def test_thirds_need_checkpoints(training: Path) -> None:
    run = run_study("P-F7", [f"Pythia-70M={training}"], revisions="step10,step20")
    assert {verdict.outcome for verdict in run.verdicts} == {"cannot be judged"}
    assert "at least 4 checkpoints, and there are 2" in run.verdicts[0].reason
    with pytest.raises(UsageError, match="looks at no checkpoints"):
        run_study("P-F5", [str(training / "step0")], revisions="step*")
    with pytest.raises(UsageError, match="P-F3 reads a text"):
        run_study("P-F3", [str(training)])


def test_how_flat_a_bias_is() -> None:
    line = Curve(np.array([0, 1 / 3, 1]), np.array([0.0, 0.2, 0.25]))
    assert relative_change(line) == pytest.approx(0.25)
    assert relative_change(Curve(np.array([0.0, 1.0]), np.zeros(2))) == float("inf")


def outcomes(name: str, **values: dict[str, float]) -> list[str]:
    rows = [
        Row(subject.replace("_", "-"), "", "none", measure, value)
        for subject, measures in values.items()
        for measure, value in measures.items()
    ]
    study = find_study(name)
    return [claim.judge(Result(rows), study.models).outcome for claim in study.claims]


def test_claims_about_layers_hold_and_fail() -> None:
    def said(middle: float, two: float, turning: float) -> dict[str, Any]:
        words = {
            "mean_cosine/change_in_middle_third": middle,
            "mean_cosine/change_over_first_two_thirds": two,
            "mean_cosine/turning": turning,
        }
        return {"Pythia_70M": words, "Pythia_410M": words}

    assert outcomes("P-F3", **said(0.2, -0.1, 0.1)) == ["holds"] * 3
    assert outcomes("P-F3", **said(-0.2, 0.1, 0.0)) == ["fails"] * 3
    assert outcomes("P-F4", Pythia_70M={"intra_sim/turning": 0.1}) == ["holds"]
    assert outcomes("P-F4", Pythia_70M={"intra_sim/turning": 0.0}) == ["fails"]


def test_claims_about_matrices_hold_and_fail() -> None:
    def said(sign: float, far: float) -> dict[str, Any]:
        words = {
            "i1/early_drop": -sign,
            "i1/rise_after_drop": sign,
            "i1/change_after_first_third": -sign,
            "i1/end_above_lowest_before": -sign,
        }
        return {"Pythia_70M": words, "Pythia_6.9B": {"i1/distance_from_plateau": far}}

    assert outcomes("P-F7", **said(0.1, 0.02)) == ["holds"] * 5
    assert outcomes("P-F7", **said(-0.1, 0.2)) == ["fails"] * 5


def test_claims_about_norms_hold_and_fail() -> None:
    def said(bias: float, gain: float, together: float) -> dict[str, Any]:
        small = {
            "correlation(bias_avgnorm, i1)": together,
            "correlation(gain_avgnorm, i1)": together,
        }
        large = {"bias_avgnorm/relative_change": bias, "gain_avgnorm/change": gain}
        return {"Pythia_70M": small, "Pythia_410M": large}

    assert outcomes("P-F9", **said(0.1, 0.3, -0.9)) == ["holds"] * 4
    assert outcomes("P-F9", **said(0.5, -0.3, 0.2)) == ["fails"] * 4
