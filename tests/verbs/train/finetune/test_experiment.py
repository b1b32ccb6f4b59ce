"""Fine-tuning from files to rows: tiny models, tiny sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from class_sets_for_tests import write_cola, write_rte
from sts_for_tests import write_sts_sets

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from isoscope.errors import DataError, UsageError
from isoscope.results.result import Result
from isoscope.verbs.train.finetune import experiment as finetuning
from isoscope.verbs.train.finetune.experiment import finetune
from isoscope.verbs.train.finetune.run import Outcome

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*in the release"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

ARCHITECTURES = ("bert", "roberta", "distilbert", "mpnet", "gpt2")
SMALL: dict[str, Any] = {"epochs": 1, "seeds": 2, "batch_size": 8, "longest": 32}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_rte(tmp_path)
    write_cola(tmp_path)
    return write_sts_sets(tmp_path)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_learns(
    architecture: str, tiny_model: Callable[[str], Path], data: Path
) -> None:
    result = finetune(str(tiny_model(architecture)), "rte", "none,cosreg", data=data, **SMALL)
    row = result.row("rte/accuracy", "cosreg")
    assert row.n == 2
    assert 0 <= (row.value or -1) <= 1
    parts = {row.part for row in result}
    assert parts == {"rte", "rte: head", "rte: vocabulary", "rte: hidden"}


def test_scores_and_classes_with_every_calibration(
    tiny_model: Callable[[str], Path], data: Path
) -> None:
    names = "none,cosreg,spectrum-pol,spectrum-exp"
    result = finetune(str(tiny_model("bert")), "cola,sts-b", names, data=data, **SMALL)
    for measure in ("cola/matthews", "cola/accuracy", "sts-b/pearson", "sts-b/spearman"):
        for name in names.split(","):
            assert result.row(measure, name).extra["seeds"] == [0, 1]
    assert result.row("cola/matthews/difference", "cosreg").extra["p"] is not None
    used = result.extra["settings"]["cola"]
    assert used["calibrations"]["spectrum-pol"]["c1"] == "1.0"
    assert used["epochs"] == 1
    assert Result.from_json(result.to_json()).to_json() == result.to_json()


def test_the_same_run_gives_the_same_numbers(tiny_model: Callable[[str], Path], data: Path) -> None:
    model = str(tiny_model("bert"))
    first, second = (
        finetune(model, "rte", "none,cosreg", data=data, **SMALL).extra["outcomes"]
        for _ in range(2)
    )
    for one, other in zip(first, second, strict=True):
        assert one["scores"] == other["scores"]
        assert one["evenness"] == other["evenness"]


def test_a_term_moves_the_head_and_none_does_not_know_it(
    tiny_model: Callable[[str], Path], data: Path
) -> None:
    """Spectrum control with an enormous weight draws the head's lengths down; nothing else does."""
    result = finetune(
        str(tiny_model("bert")), "rte", "none,spectrum-pol:weight=1000:c1=0.001", data=data,
        learning_rate=1e-3, **(SMALL | {"epochs": 5}),
    )  # fmt: skip
    before = result.value("mean_norm", "none", "rte: head") or 0
    after = result.value("mean_norm", "spectrum-pol:weight=1000:c1=0.001", "rte: head") or 0
    assert after < 0.8 * before


def test_limit_takes_the_same_examples_for_every_run(
    tiny_model: Callable[[str], Path], data: Path
) -> None:
    result = finetune(str(tiny_model("bert")), "rte", "none", data=data, limit=8, **SMALL)
    assert [one["settings"]["train"] for one in result.extra["outcomes"]] == [8, 8]


def test_finished_runs_are_not_run_again(
    tiny_model: Callable[[str], Path], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, journal = str(tiny_model("bert")), tmp_path / "out.json.journal"
    whole = finetune(model, "rte", "none,cosreg", data=data, **SMALL)
    plain = finetuning.FineTuningRuns._train
    ran = []

    def stops(bench: Any, run: Any) -> Outcome:
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(run.name)
        return plain(bench, run)

    monkeypatch.setattr(finetuning.FineTuningRuns, "_train", stops)
    with pytest.raises(KeyboardInterrupt):
        finetune(model, "rte", "none,cosreg", data=data, journal=journal, **SMALL)
    with pytest.raises(UsageError, match="--resume continues it"):
        finetune(model, "rte", "none,cosreg", data=data, journal=journal, **SMALL)
    with pytest.raises(UsageError, match="epochs"):
        finetune(
            model, "rte", "none", data=data, journal=journal, resume=True,
            **(SMALL | {"epochs": 2}),
        )  # fmt: skip
    again = []
    monkeypatch.setattr(
        finetuning.FineTuningRuns,
        "_train",
        lambda bench, run: again.append(run.name) or plain(bench, run),
    )
    resumed = finetune(
        model, "rte", "none,cosreg", data=data, journal=journal, resume=True, **SMALL
    )
    assert again == ["rte, cosreg, seed 1"]
    for name in ("none", "cosreg"):
        assert resumed.row("rte/accuracy", name).extra == whole.row("rte/accuracy", name).extra
    assert not journal.exists()
    assert not (tmp_path / "out.json.checkpoints").exists()


def test_a_search_chooses_and_says_what(
    tiny_model: Callable[[str], Path], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {"cosreg:weight=0.01": 0.4, "cosreg:weight=0.1": 0.9, "cosreg:weight=1": 0.5}

    def fake(_: Any, run: Any) -> Outcome:
        score = scores.get(run.calibration, 0.6)
        used = {"schedule": "constant", "train": 1, "epochs": 1, "learning_rate": 1.0,
                "batch_size": 1, "longest": 1, "scored": 1, "options": {"weight": "x"}}  # fmt: skip
        return Outcome("rte", run.calibration, run.seed, {"accuracy": score}, settings=used)

    monkeypatch.setattr(finetuning.FineTuningRuns, "_train", fake)
    result = finetune(str(tiny_model("bert")), "rte", "none,cosreg", data=data, search=True)
    assert result.value("rte/accuracy", "cosreg") == pytest.approx(0.9)
    (remark,) = result.extra["remarks"]
    assert "cosreg:weight=0.1 is the best of 4" in remark


def test_a_loss_that_is_not_finite_stops_one_run_and_keeps_its_checkpoint(
    tiny_model: Callable[[str], Path], data: Path, tmp_path: Path
) -> None:
    journal = tmp_path / "out.json.journal"
    result = finetune(
        str(tiny_model("bert")), "rte", "none,cosreg:weight=1e38", data=data, journal=journal,
        learning_rate=1e30, **(SMALL | {"seeds": 1, "epochs": 2}),
    )  # fmt: skip
    row = result.row("rte/accuracy", "cosreg:weight=1e38")
    assert row.value is None
    (stopped,) = [one for one in result.extra["outcomes"] if one["calibration"] != "none"]
    assert stopped["stopped_at"] is not None
    assert f"at step {stopped['stopped_at']}" in " ".join(stopped["notes"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": "rtee"}, "task of fine-tuning"),
        ({"tasks": ""}, "at least one task"),
        ({"tasks": "rte,rte"}, "rte is there twice"),
        ({"calibrations": "cosregg"}, "cosregg"),
        ({"calibrations": "cosreg:weight=-1"}, "a weight must be at least 0"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"learning_rate": -1.0}, "learning rate"),
        ({"tasks": "sts-b", "calibrations": "i-star"}, "i-star needs two rows"),
        ({"target": "vocabulary"}, "no output matrix of a vocabulary"),
    ],
)
def test_wrong_calls(
    changes: dict[str, Any], message: str, tiny_model: Callable[[str], Path], data: Path
) -> None:
    call = {"tasks": "rte", "calibrations": "none,cosreg", "data": data, **SMALL, **changes}
    with pytest.raises((UsageError, DataError), match=message):
        finetune(str(tiny_model("bert")), **call)
