"""Recipes over training on tiny checkpoints, and their claims on made-up curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judged_for_tests import exact, outcomes, sure
from scipy import stats

from isoscope.errors import UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.profile.api import profile
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.pythia2024.training import (
    Saying,
    relative_change,
    told,
    turning_row,
    with_test_interval,
)
from isoscope.verbs.study.runs.trainings import Curve

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
    late = [row for row in seven if row.measure == "i1/in_last_third"]
    assert [row.value for row in late] == evenness[3:]
    assert all(len(row.extra["replicates"]) == 10 for row in late)
    drop = seven.row("i1/early_drop")
    assert drop.low < drop.value < drop.high
    assert run.result.row("gain_avgnorm/change").extra["exact"]
    assert seven.value("i1/end_above_lowest_before") == pytest.approx(
        evenness[-1] - min(evenness[:-1])
    )


def test_thirds_need_checkpoints(training: Path) -> None:
    run = run_study("P-F7", [f"Pythia-70M={training}"], revisions="step10,step20")
    assert {verdict.outcome for verdict in run.verdicts} == {"not run", "not applicable"}
    assert "at least 4 checkpoints, and there are 2" in run.verdicts[0].reason
    with pytest.raises(UsageError, match="looks at no checkpoints"):
        run_study("P-F5", [str(training / "step0")], revisions="step*")


def test_how_flat_a_bias_is() -> None:
    line = Curve(np.array([0, 1 / 3, 1]), np.array([0.0, 0.2, 0.25]))
    assert relative_change(line) == pytest.approx(0.25)
    assert relative_change(Curve(np.array([0.0, 1.0]), np.zeros(2))) == float("inf")


def made(value: float, step: int, noise: float, rng: np.random.Generator) -> Row:
    """A checkpoint whose value differs between blocks of the data."""
    left = (value + noise * rng.normal(size=10)).tolist()
    extra = {"step": step, "replicates": left, "blocks": "of a test"}
    return Row("Pythia-70M", f"step{step}", "none", "mean_cosine", value, extra=extra)


def curve(values: list[float], noise: float) -> Result:
    rng = np.random.default_rng(0)
    return Result([made(value, 10 * k, noise, rng) for k, value in enumerate(values)])


def test_what_is_said_of_a_curve_knows_its_error() -> None:
    sayings = {"rise": Saying(lambda line: line.change(0, 1))}
    (row,) = told("Pythia-70M", "mean_cosine", curve([0.1, 0.2, 0.3, 0.4], 0.01), sayings)
    assert row.value == pytest.approx(0.3)
    assert len(row.extra["replicates"]) == 10
    assert row.low < 0.3 < row.high
    many = {"rise": Saying(lambda line: line.change(0, 1), lambda _: 20)}
    (chosen,) = told("Pythia-70M", "mean_cosine", curve([0.1, 0.2, 0.3, 0.4], 0.01), many)
    (alone,) = told("Pythia-70M", "mean_cosine", curve([0.1, 0.2, 0.3, 0.4], 0.01), sayings)
    assert chosen.extra["p"] > 0
    assert "for 20 comparisons" in chosen.extra["test"]
    assert "p" not in alone.extra


def test_noise_does_not_make_a_curve_turn() -> None:
    def said(values: list[float], noise: float) -> str:
        found = curve(values, noise)
        rows = [*found.rows, turning_row("Pythia-70M", "mean_cosine", found)]
        return outcomes("P-F3", rows)[2]

    assert said([0.1, 0.5, 0.2, 0.6, 0.3], 1e-4) == "holds"
    assert said([0.1, 0.2, 0.195, 0.4, 0.5], 0.01) == "undecided"  # one small step back
    assert said([0.1, 0.2, 0.3, 0.4, 0.5], 1e-4) == "reversed"  # it is monotone
    assert said([0.1, 0.101, 0.102, 0.103, 0.104], 0.1) == "undecided"


def test_intervals_of_correlations_agree_with_their_test() -> None:
    row = Row("m", "", "none", "correlation(a, i1)", 0.6, extra={"p": 0.05})
    found = with_test_interval(row)
    assert found.low == pytest.approx(0, abs=1e-9)
    assert 0.6 < found.high < 1
    assert with_test_interval(Row("m", "", "none", "r", 0.6, extra={"p": 0.5})).low < 0
    assert with_test_interval(Row("m", "", "none", "r", 0.6, extra={"p": 1.0})).low == -1


def said_rows(**values: dict[str, float]) -> list[Row]:
    return [
        Row(subject.replace("_", "-"), "", "none", measure, value)
        for subject, measures in values.items()
        for measure, value in measures.items()
    ]


def test_claims_about_layers_hold_and_fail() -> None:
    def said(middle: float, two: float, turning: float) -> list[Row]:
        words = {
            "mean_cosine/change_in_middle_third": middle,
            "mean_cosine/change_over_first_two_thirds": two,
            "mean_cosine/turning": turning,
        }
        return [sure(row) for row in said_rows(Pythia_70M=words, Pythia_410M=words)]

    assert outcomes("P-F3", said(0.2, -0.1, 0.1)) == ["holds"] * 3
    assert outcomes("P-F3", said(-0.2, 0.1, 0.0)) == ["reversed"] * 2 + ["undecided"]
    assert outcomes("P-F4", [sure(*said_rows(Pythia_70M={"intra_sim/turning": 0.1}))]) == ["holds"]
    other = [sure(*said_rows(tiny={"intra_sim/turning": 0.1}))]
    assert outcomes("P-F4", other) == ["not applicable"]


def test_claims_about_matrices_hold_and_fail() -> None:
    def said(sign: float, late: float) -> list[Row]:
        words = {
            "i1/early_drop": -sign,
            "i1/rise_after_drop": sign,
            "i1/change_after_first_third": -sign,
            "i1/end_above_lowest_before": -sign,
        }
        rows = said_rows(**{"Pythia_70M": words, "Pythia_6.9B": {"i1/in_last_third": late}})
        return [sure(row) for row in rows]

    assert outcomes("P-F7", said(0.1, 0.78)) == ["holds"] * 5
    assert outcomes("P-F7", said(-0.1, 0.9)) == ["reversed"] * 4 + ["fails"]
    assert outcomes("P-F7", said(1e-4, 0.8)) == ["undecided"] * 5


def test_claims_about_norms_hold_and_fail() -> None:
    def said(bias: float, gain: float, together: float, p: float) -> list[Row]:
        small = {
            "correlation(bias_avgnorm, i1)": together,
            "correlation(gain_avgnorm, i1)": together,
        }
        large = {"bias_avgnorm/relative_change": bias, "gain_avgnorm/change": gain}
        rows = [exact(row) for row in said_rows(Pythia_410M=large)]
        return [*rows, *(replace(row, extra={"p": p}) for row in said_rows(Pythia_70M=small))]

    assert outcomes("P-F9", said(0.1, 0.3, -0.9, 0.001)) == ["holds"] * 4
    assert outcomes("P-F9", said(0.5, -0.3, 0.9, 0.001)) == ["fails"] + ["reversed"] * 3
    assert outcomes("P-F9", said(0.5, -0.3, 0.2, 0.6))[2:] == ["undecided"] * 2
