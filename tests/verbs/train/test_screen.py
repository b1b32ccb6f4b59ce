"""What a terminal shows of trainings: the answer first, and what they will need before them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from screens_for_tests import screen_lines, words_of

from isoscope.results.result import Result, Row, Table
from isoscope.verbs.train.finetune.outcomes import compared_rows
from isoscope.verbs.train.finetune.run import Outcome
from isoscope.verbs.train.needs import Need, announced, line_of, network_need, plan_need
from isoscope.verbs.train.pretrain.plan import Plan

NAMES = ("minilm", "m" * 60, "多语言句子嵌入模型", "نموذج اللغة")


def fine_tuned(
    scores: dict[str, float],
    subject: str = "minilm",
    tasks: Sequence[str] = ("rte",),
    command: str = "isoscope train finetune package:minilm --task rte --out runs.json",
    metric: str = "accuracy",
    constant: Sequence[str] = (),
    seeds: int = 3,
) -> Result:
    """Return runs whose scores differ by half a point from seed to seed."""
    outcomes = [
        Outcome(
            task, name, seed, {metric: score + (seed - 1) * 0.005},
            {"head": {"i1": 0.8, "i2": 0.01, "mean_norm": 0.4, "i1_scaled": 0.5}}, (60.0 + seed,),
            constant=name in constant,
        )
        for task in tasks
        for name, score in scores.items()
        for seed in range(seeds)
    ]  # fmt: skip
    rows = compared_rows(subject, outcomes, dict.fromkeys(tasks, "as told"))
    return Result(rows, extra={"kind": "fine-tuning"}, command=command)


def test_what_calibrations_change_in_points_comes_first() -> None:
    lines = screen_lines(fine_tuned({"none": 0.60, "cosreg": 0.65, "flow": 0.50, "pol": 0.601}))
    text = words_of(lines)
    assert lines[0] == "minilm · rte · 3 calibrations · 3 runs of each"
    assert "Significantly better than none: cosreg on rte +5.0 (+3.9 to +6.1)" in text
    assert "significantly worse than none: flow on rte -10.0 (-11.1 to -8.9)." in text
    assert "rte, accuracy: change against none, which has 60.0 points:" in text
    assert "With 3 runs of each, a change of less than about 1.1 cannot be detected." in text
    assert "isoscope study run D-T1 --from runs.json" in text
    assert "0.800" in text  # I1 of the head


def test_no_difference_is_not_called_one() -> None:
    text = words_of(screen_lines(fine_tuned({"none": 0.60, "cosreg": 0.601})))
    assert "No calibration is significantly better than none." in text
    assert "worse" not in text
    single = fine_tuned({"none": 0.60, "cosreg": 0.90}, seeds=1)
    assert "One run of each says nothing about chance" in words_of(screen_lines(single))
    alone = words_of(screen_lines(fine_tuned({"none": 0.60})))
    assert "Nothing was compared" in alone


def test_constant_predictions_are_in_the_answer() -> None:
    text = words_of(screen_lines(fine_tuned({"none": 0.5, "flow": 0.5}, constant=["flow"])))
    assert "The same prediction for everything in every run: flow on rte." in text


def test_bleu_is_no_share() -> None:
    command = "isoscope train finetune made:bart --task translate:de-en --out bart.json"
    found = fine_tuned(
        {"none": 8.5, "cosreg": 2.0}, "made:bart", ["translate:de-en"], command, "bleu"
    )
    text = words_of(screen_lines(found))
    assert "change against none, which has 8.5:" in text
    assert "cosreg on translate:de-en -6.5 (-6.5 to -6.5)" in text
    assert "isoscope study run D-T2 --from bart.json" in text


@pytest.mark.parametrize("cells", [60, 80, 140])
@pytest.mark.parametrize("name", NAMES)
def test_every_name_and_width_fits(name: str, cells: int) -> None:
    calibrations = {"none": 0.6, **{f"spectrum-pol:c1=0.{k}:weight=10": 0.6 for k in range(1, 12)}}
    nine = ["sst-2", "mrpc", "cola", "rte", "wnli", "sts-b", "qnli", "mnli", "qqp"]
    for tasks in (["rte"], nine):
        found = fine_tuned(calibrations, name, tasks, f"isoscope train finetune {name} --task rte")
        screen_lines(found, cells)
    screen_lines(pretrained([100.0 / k for k in range(1, 32)], name), cells)
    screen_lines(ablated(name), cells)
    if name.isascii():
        for found in (fine_tuned(calibrations, name), pretrained([3.0, 2.0], name), ablated(name)):
            assert "".join(screen_lines(found, cells, plain=True)).isascii()


def pretrained(
    perplexities: Sequence[float], name: str = "tiny", tables: list[Table] | None = None
) -> Result:
    """Return a training whose perplexity was taken every hundred steps."""
    rows = [
        Row(name, f"step{100 * k}", "none", measure, value, protocol="clm, learned positions, tied",
            extra={"step": 100 * k})
        for k, one in enumerate(perplexities)
        for measure, value in (("perplexity", one), ("training_loss", one / 10))
        if k or measure == "perplexity"
    ]  # fmt: skip
    return Result(
        rows,
        tables or [],
        extra={"kind": "pretraining", "seconds": 12.0},
        command="isoscope train pretrain --text wiki.txt --out tiny",
    )


@pytest.mark.parametrize(
    ("perplexities", "said"),
    [
        (
            [4000.0, 90.0, 60.0],
            "4,000.0 to 60.0 in 200 steps, and was still falling: 90.0",
        ),
        ([4000.0, 60.1, 60.0], "and hardly changed after step 100 (60.1)."),
        ([4000.0, 50.0, 60.0], "but was lowest after step 100, with 50.0."),
        ([40.0, 60.0], "rose from 40.0 to 60.0 in 100 steps, but was lowest after step 0"),
        ([40.0], "There is no second checkpoint to compare with."),
    ],
)
def test_how_far_a_training_came(perplexities: list[float], said: str) -> None:
    text = words_of(screen_lines(pretrained(perplexities)))
    assert said in text
    assert "isoscope profile tiny --text wiki.txt" in text
    assert "12 s of training" in text


def test_how_rows_moved_is_told_where_it_was_recorded() -> None:
    moves = {
        "share_against_h": 0.93,
        "share_of_non_targets": 1.0,
        "pair_cosine_of_non_targets": 0.5,
    }
    lines = [
        {"step": step, "update": "SGD", "band": "all", **moves, "share_against_h": share}
        for step, share in ((1, 0.5), (200, 0.93))
    ]
    table = Table("tiny", "", "none", "common_enemies", lines)
    text = words_of(screen_lines(pretrained([9.0, 8.0, 7.0], tables=[table])))
    assert "In step 200, 93 % of the rows of the output matrix (SGD, all) move against" in text


def ablated(name: str = "ablation", significant: bool = True, runs: int = 3) -> Result:
    """Return eight models with main effects."""
    rows = []
    for model in (f"{a}, {b}, {name}" for a in ("tied", "untied") for b in ("learned", "none")):
        for part, measure, value in (
            ("validation", "perplexity", 90.0), ("unembedding matrix", "i1", 0.6),
            ("last layer", "mean_cosine", 0.3),
        ):  # fmt: skip
            about = {"model": model, "step": 300, "runs": [value] * runs, "sd": 0.1}
            rows.append(Row(model, part, "none", measure, value, extra=about))
    for part, measure, value in (
        ("unembedding matrix", "i1", 0.2),
        ("last layer", "mean_cosine", -0.1),
    ):
        ends = {"low": value - 0.05, "high": value + 0.05} if runs > 1 else {}
        about = {"factor": "tie", "excludes_zero": significant and runs > 1, "p": 0.01}
        rows.append(Row("main effects", part, "untied instead of tied", measure, value, **ends,
                        extra=about))  # fmt: skip
    return Result(rows, extra={"kind": "ablation"},
                  command="isoscope train ablate --text x.txt --out a.json")  # fmt: skip


def test_what_each_factor_does_to_evenness() -> None:
    lines = screen_lines(ablated())
    text = words_of(lines)
    assert lines[0] == "ablation · 4 models · 3 runs of each · 300 steps"
    assert (
        "I1 of the unembedding: untied instead of tied raises it by 0.200 (0.150 to 0.250)." in text
    )
    assert (
        "The mean cosine of the last layer: untied instead of tied lowers it by 0.100 (0.050 to"
        in text
    )
    assert "isoscope study run P-X --from a.json" in text
    assert "No option changes I1 of the unembedding significantly." in words_of(
        screen_lines(ablated(significant=False))
    )
    assert "with one run of each model, no change can be tested" in words_of(
        screen_lines(ablated(runs=1))
    )


def test_needs_are_those_of_the_size() -> None:
    plan = Plan("clm", "tiny", steps=100)
    need = plan_need(plan, 3, "a text")
    # Of 4 blocks of width 128 with 512 between, and 4,000 words: counted by hand.
    parameters = 4 * (4 * 128 * 128 + 2 * 128 * 512) + 4_000 * 128
    assert need.operations == 6.0 * parameters * 32 * 128 * 100 * 3
    assert plan_need(Plan("clm", "tiny", steps=100, tie=False), 3, "").memory > need.memory
    said = line_of([need], 1e11)
    assert said.startswith("3 runs, 300 steps in all: roughly 2 to 10 min on this machine")
    assert "Each is trained on a text." in said
    assert f"about {need.memory / 2**30:.1f} GiB of memory" in said


def test_needs_of_fine_tuning_count_tokens_and_not_words_that_are_looked_up() -> None:
    weights = [SimpleNamespace(numel=lambda: 1_000_000), SimpleNamespace(numel=lambda: 30_000 * 64)]
    network = SimpleNamespace(parameters=lambda: weights)
    config = SimpleNamespace(vocab_size=30_000, hidden_size=64, num_hidden_layers=2)
    call: dict[str, Any] = {"runs": 2, "batch": 10, "read": 500, "epochs": 3, "reads": "rte"}
    labels = network_need(network, config, learned=[20] * 25, writes=False, **call)
    assert labels.steps == 9
    assert labels.operations == 1_000_000 * (6 * 500 * 3 + 2 * 500) * 2
    writing = network_need(network, config, learned=[20] * 25, writes=True, **call)
    assert writing.operations > 2 * labels.operations
    assert writing.memory > labels.memory


def test_short_work_is_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.verbs.train.needs.speed_of", lambda _: 1e11)
    said: list[str] = []
    announced([Need(1, 10, 1e9, 1e9, "little")], None, said.append)
    announced([Need(0, 10, 1e15, 1e9, "what is finished")], None, said.append)
    assert said == []
    announced([Need(2, 10, 1e13, 1e9, "much"), Need(1, 5, 1e13, 2e9, "more")], None, said.append)
    (line,) = said
    assert line.startswith("3 runs, 25 steps in all: roughly 5 to 20 min on this machine")
    assert "about 1.9 GiB of memory. Each is trained on much; more." in line
    announced([Need(2, 10, 1e15, 1e9, "much")], None, None)
