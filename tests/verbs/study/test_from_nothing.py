"""Studies that train from nothing: from a text to claims, or from finished ablations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.data.texts import open_texts
from isoscope.errors import UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.inputs import wikitext_train
from isoscope.verbs.study.papers.luo2021.positions import ratios
from isoscope.verbs.study.runs import trainings as from_nothing
from isoscope.verbs.train.names import EXTREME, NON_INPUT
from isoscope.verbs.train.pretrain.ablation import ablate
from isoscope.verbs.train.pretrain.loop import pretrain
from isoscope.verbs.train.pretrain.plan import Plan

pytestmark = pytest.mark.slow
TOY: dict[str, Any] = {
    "layers": 1, "width": 16, "heads": 2, "feed_forward": 32, "vocabulary": 280, "context": 12,
    "batch_size": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = np.random.default_rng(0)
    words = ["the", "cat", "dog", "saw", "a", "bird", "that", "sang", "and", "flew"]
    return [" ".join(rng.choice(words, 12)) for _ in range(300)]


@pytest.fixture
def tiny_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the mini scale be a toy, whose numbers are as real and as worthless."""
    monkeypatch.setattr(from_nothing, "SMALL", TOY)
    monkeypatch.setattr(from_nothing, "SMALL_STEPS", 10)


@pytest.mark.usefixtures("tiny_scale")
def test_single_positions_move_as_the_equation_says(texts: list[str]) -> None:
    run = run_study("B-E", text=texts)
    assert [verdict.outcome for verdict in run.verdicts] == ["holds", "holds"]
    assert {table.measure for table in run.result.tables} == {"common_enemies", "mean_drift"}
    shares = [row for row in run.result.rows if row.measure == "share_of_non_targets"]
    assert {row.correction for row in shares} == {"SGD, output path", "SGD", "AdamW"}


def test_a_recorded_training_is_shown(texts: list[str], tmp_path: Path) -> None:
    plan = Plan(steps=4, checkpoints=1, changed=TOY)
    pretrain(texts, plan, tmp_path / "seen", record=2)
    run = run_study("B-E", [str(tmp_path / "seen")], text=texts)
    assert {row.subject for row in run.result.rows} == {"seen"}
    assert run.verdicts[0].outcome == "not run"
    pretrain(texts, plan, tmp_path / "unseen")
    with pytest.raises(UsageError, match="without --record"):
        run_study("B-E", [str(tmp_path / "unseen")], text=texts)
    with pytest.raises(UsageError, match="no folder of isoscope train pretrain"):
        run_study("B-E", [str(tmp_path)], text=texts)


@pytest.mark.usefixtures("tiny_scale")
def test_positions_are_compared(texts: list[str]) -> None:
    run = run_study("L-F3.10", text=texts)
    rows = run.result.rows
    shares = {row.correction: row.value for row in rows if row.part == "non-input layers"}
    assert set(shares) == {"learned", "none"}
    perplexities = {row.correction: row.value for row in rows if row.measure == "perplexity"}
    (ratio,) = (row.value for row in rows if row.measure == "perplexity/ratio")
    assert ratio == pytest.approx(perplexities["none"] / perplexities["learned"])
    with_positions, without, times = run.verdicts
    assert with_positions.outcome in ("holds", "fails", "undecided")
    assert without.outcome in ("holds", "fails", "undecided")
    # Ten steps on a toy make no such difference, and two seeds tell it.
    assert times.outcome in ("fails", "reversed", "undecided")
    assert not times.cases[0].true
    (ratio_row,) = (row for row in rows if row.measure == "perplexity/ratio")
    assert len(ratio_row.extra["runs"]) == 2
    assert ratio_row.extra["sd"] is not None


@pytest.mark.usefixtures("tiny_scale")
def test_tied_and_untied_are_compared(texts: list[str], tmp_path: Path) -> None:
    run = run_study("P-X", text=texts)
    effect = run.result.row("i1", "untied instead of tied", part="unembedding matrix")
    assert run.verdicts[0].cases[0].left_value == effect.value
    if effect.low < 0 < effect.high:
        assert run.verdicts[0].outcome == "undecided"

    finished = ablate(
        texts, "tie,positions", Plan(steps=10, changed=TOY), seeds=2
    )  # what the study trains, by hand
    finished.save(tmp_path / "done.json")
    again = run_study("P-X", reuse=[tmp_path / "done.json"])
    found = again.result.row("i1", "untied instead of tied", part="unembedding matrix")
    assert (found.value, found.low) == (effect.value, effect.low)
    assert found.subject == "done (clm)"


@pytest.mark.parametrize(
    ("value", "p", "outcome"),
    [(0.2, 0.001, "holds"), (-0.2, 0.001, "reversed"), (0.2, 0.3, "undecided")],
)
def test_a_planted_effect_of_untied_matrices_is_found(
    tmp_path: Path, value: float, p: float, outcome: str
) -> None:
    row = Row(
        "main effects", "unembedding matrix", "untied instead of tied", "i1", value,
        low=value - 0.1, high=value + 0.1, extra={"factor": "tie", "p": p},
    )  # fmt: skip
    extra = {"kind": "ablation", "factors": {"tie": ["tied", "untied"]}}
    Result([row], extra=extra).save(tmp_path / "made.json")
    run = run_study("P-X", reuse=[tmp_path / "made.json"])
    assert [verdict.outcome for verdict in run.verdicts] == [outcome, "not run"]


@pytest.mark.parametrize(
    ("with_positions", "without", "times", "expected"),
    [
        ((0.9, 0.91, 0.92), (0.2, 0.21, 0.22), (30.0, 31.0, 32.0), ["holds"] * 3),
        ((0.5, 0.51, 0.52), (0.95, 0.96, 0.97), (0.5, 0.51, 0.52), ["fails"] * 2 + ["reversed"]),
        ((0.6, 0.8, 1.0), (0.5, 0.8, 1.0), (5.0, 10.0, 20.0), ["undecided"] * 3),
    ],
)
def test_planted_effects_of_positions_are_found(
    tmp_path: Path,
    with_positions: tuple[float, ...],
    without: tuple[float, ...],
    times: tuple[float, ...],
    expected: list[str],
) -> None:
    def cell(positions: str, part: str, measure: str, runs: tuple[float, ...]) -> Row:
        about = {"model": positions, "step": 10, "factors": {"positions": positions}}
        extra = {**about, "unit": "runs", "runs": list(runs), "sd": float(np.std(runs, ddof=1))}
        return Row(f"{positions}@step10", part, "none", measure, float(np.mean(runs)),
                   n=len(runs), extra=extra)  # fmt: skip

    rows = [
        cell("learned", NON_INPUT, EXTREME, with_positions),
        cell("none", NON_INPUT, EXTREME, without),
        cell("learned", "validation", "perplexity", (1.0, 1.0, 1.0)),
        cell("none", "validation", "perplexity", times),
    ]
    extra = {"kind": "ablation", "factors": {"positions": ["learned", "none"]}}
    Result(rows, extra=extra).save(tmp_path / "made.json")
    run = run_study("L-F3.10", reuse=[tmp_path / "made.json"])
    assert [verdict.outcome for verdict in run.verdicts] == expected


def test_models_that_have_hardly_learned_anything_show_nothing(tmp_path: Path) -> None:
    def cell(positions: str, part: str, measure: str, *runs: float) -> Row:
        about = {"model": positions, "step": 10, "factors": {"positions": positions}}
        extra = {**about, "unit": "runs", "runs": list(runs), "sd": float(np.std(runs, ddof=1))}
        return Row(f"{positions}@step10", part, "none", measure, float(np.mean(runs)),
                   n=len(runs), extra=extra)  # fmt: skip

    def found(perplexity: float) -> list[tuple[str, str]]:
        rows = [
            cell("learned", NON_INPUT, EXTREME, 0.10, 0.09, 0.11),
            cell("none", NON_INPUT, EXTREME, 0.12, 0.13, 0.11),
            cell("learned", "validation", "perplexity", perplexity, perplexity + 1, perplexity - 1),
            cell("none", "validation", "perplexity", perplexity - 9, perplexity, perplexity - 5),
        ]
        extra = {"kind": "ablation", "factors": {"positions": ["learned", "none"]}}
        Result(rows, extra=extra).save(tmp_path / "made.json")
        run = run_study("L-F3.10", reuse=[tmp_path / "made.json"])
        return [(verdict.outcome, verdict.reason) for verdict in run.verdicts]

    assert [outcome for outcome, _ in found(60.0)] == ["fails", "holds", "fails"]
    weak = found(846.0)
    assert {outcome for outcome, _ in weak} == {"undecided"}
    assert weak[0][1] == (
        "the baseline is too weak: validation perplexity is 846, and the claim takes at most 400"
    )


def test_results_of_others_are_refused(tmp_path: Path) -> None:
    other = Result([], extra={"kind": "ablation", "factors": {"tie": ["tied", "untied"]}})
    other.save(tmp_path / "other.json")
    with pytest.raises(UsageError, match="with positions in its grid"):
        run_study("L-F3.10", reuse=[tmp_path / "other.json"])


def test_ratios_are_of_cells_that_are_alike_otherwise() -> None:
    def cell(positions: str, tie: str, value: float) -> Row:
        levels = {"tie": tie, "positions": positions}
        return Row("m", "validation", f"{tie}, {positions}", "perplexity", value,
                   extra={"factors": levels})  # fmt: skip

    rows = [cell("learned", "tied", 10.0), cell("none", "tied", 50.0),
            cell("learned", "untied", 20.0), cell("rotary", "untied", 1.0)]  # fmt: skip
    assert [(row.correction, row.value) for row in ratios(rows)] == [("tied", 5.0)]


def test_wrong_sources(texts: list[str]) -> None:
    with pytest.raises(UsageError, match="no size of models is called 'huge'"):
        run_study("P-X", ["pretrain:huge"], text=texts)
    with pytest.raises(UsageError, match="trained already"):
        run_study("P-X", ["package:minilm"], text=texts)


def test_the_shift_of_a_training_is_followed(texts: list[str], tmp_path: Path) -> None:
    pretrain(texts, Plan(steps=6, checkpoints=3, changed=TOY), tmp_path / "run")
    run = run_study("B-F2", [str(tmp_path / "run")])
    shifts = [row for row in run.result.rows if row.measure == "shift"]
    assert [row.part for row in shifts] == ["step0", "step2", "step4", "step6"]
    for row in shifts:
        values = {
            one.measure: one.value
            for one in run.result.rows
            if (one.subject, one.part) == ("run", row.part)
        }
        assert row.value == pytest.approx(values["norm_of_mean"] / values["mean_norm"])
    assert run.verdicts[-1].outcome in ("holds", "reversed", "undecided")


def test_wikitext_is_found_under_its_names(tmp_path: Path) -> None:
    assert wikitext_train(tmp_path) is None
    folder = tmp_path / "wikitext-2-raw"
    folder.mkdir()
    (folder / "wiki.train.raw").write_text("one line\n\nanother\n", "utf-8")
    found = wikitext_train(tmp_path)
    assert found is not None
    assert [text.text for text in found.texts()] == [
        text.text for text in open_texts(folder / "wiki.train.raw").texts()
    ]
