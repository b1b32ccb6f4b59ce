"""The Trainer with a calibration against a step by hand, in any number of batches."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from isoscope.verbs.train.regularizers.base import target_matrix  # noqa: E402
from isoscope.verbs.train.regularizers.cosreg import CosReg  # noqa: E402
from isoscope.verbs.train.regularizers.spectrum import SpectrumControl  # noqa: E402
from isoscope.verbs.train.trainer import (  # noqa: E402
    CalibratedTrainer,
    LatestStates,
    calibrated_loss,
    evenness,
)

RATE = 0.1
QUIET = pytest.mark.filterwarnings("ignore")
"""Trainer warns of things that differ between releases; none is about the loss."""


def encoder() -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=20, num_labels=3,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    return transformers.BertForSequenceClassification(config)


def decoder() -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=20,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def items(model: Any) -> list[dict[str, Any]]:
    chance = torch.Generator().manual_seed(1)
    ids = torch.randint(1, 50, (8, 6), generator=chance)
    if hasattr(model, "lm_head"):
        return [{"input_ids": row, "labels": row} for row in ids]
    return [{"input_ids": row, "labels": int(row[0]) % 3} for row in ids]


def trained(model: Any, calibration: Any, target: str, batch: int, steps: int, folder: Path) -> Any:
    """Take one step of plain descent on eight items, in one batch or several."""
    model = copy.deepcopy(model)
    args = transformers.TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=batch, max_steps=1, logging_steps=1,
        gradient_accumulation_steps=steps, learning_rate=RATE, lr_scheduler_type="constant",
        optim="sgd", max_grad_norm=0.0, use_cpu=True, report_to=[], save_strategy="no",
        disable_tqdm=True, seed=0,
    )  # fmt: skip
    trainer = CalibratedTrainer(
        model, args, train_dataset=items(model), calibration=calibration, target=target
    )
    trainer.train()
    return trainer


def by_hand(model: Any, calibration: Any, target: str) -> Any:
    model = copy.deepcopy(model).train()
    batch = items(model)
    inputs = {
        "input_ids": torch.stack([one["input_ids"] for one in batch]),
        "labels": torch.stack([torch.as_tensor(one["labels"]) for one in batch]),
    }
    outputs = model(**inputs, output_hidden_states=True)
    calibrated_loss(outputs.loss, calibration, model, target, outputs).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= RATE * parameter.grad
    return model


CASES = [
    (encoder, CosReg(0.5), "head"),
    (encoder, SpectrumControl(weight=0.5), "head"),
    (decoder, CosReg(0.5), "vocabulary"),
    (decoder, SpectrumControl("exponential", 0.01), "vocabulary"),
]


@QUIET
@pytest.mark.parametrize(("model", "calibration", "target"), CASES)
@pytest.mark.parametrize(("batch", "steps"), [(8, 1), (4, 2), (2, 4)])
def test_the_term_counts_once_a_step(
    model: Any, calibration: Any, target: str, batch: int, steps: int, tmp_path: Path
) -> None:
    """In one batch or several: what a calibration adds to a step is its own gradient, once."""
    start = model()
    plain = trained(start, CosReg(0.0), target, batch, steps, tmp_path).model
    with_term = trained(start, calibration, target, batch, steps, tmp_path).model
    alone = copy.deepcopy(start)
    calibration(target_matrix(alone, target)).backward()
    for before, after, own in zip(
        plain.parameters(), with_term.parameters(), alone.parameters(), strict=True
    ):
        wanted = torch.zeros_like(before) if own.grad is None else -RATE * own.grad
        # Differences of two steps in single precision.
        torch.testing.assert_close(after - before, wanted, atol=2e-6, rtol=1e-4)


@QUIET
@pytest.mark.parametrize(("model", "calibration", "target"), CASES[::2])
@pytest.mark.parametrize(("batch", "steps"), [(4, 2), (2, 4)])
def test_a_step_is_the_same_in_any_number_of_batches(
    model: Any, calibration: Any, target: str, batch: int, steps: int, tmp_path: Path
) -> None:
    """Also the task's own loss: classifiers are told a number of items, and do not use it."""
    start = model()
    trainer = trained(start, calibration, target, batch, steps, tmp_path)
    whole = trained(start, calibration, target, 8, 1, tmp_path)
    # A step by hand differs for decoders: Trainer counts the first word's label, which
    # nothing predicts.
    wanted = by_hand(start, calibration, target) if model is encoder else whole.model
    for one, other in zip(wanted.parameters(), trainer.model.parameters(), strict=True):
        torch.testing.assert_close(other, one, atol=2e-6, rtol=1e-4)
    logged, at_once = (
        next(entry for entry in one.state.log_history if "calibration" in entry)
        for one in (trainer, whole)
    )
    assert logged["task_loss"] == pytest.approx(at_once["task_loss"], abs=1e-5)
    with torch.no_grad():
        term = calibration(target_matrix(start, target)).item()
    assert logged["calibration"] == pytest.approx(term, abs=1e-5)
    assert logged["task_loss"] + logged["calibration"] == pytest.approx(logged["loss"], abs=1e-3)


@QUIET
def test_hidden_states_and_the_log(tmp_path: Path) -> None:
    start = encoder()
    trainer = trained(start, CosReg(0.5), "hidden", 8, 1, tmp_path)
    wanted = by_hand(start, CosReg(0.5), "hidden")
    for one, other in zip(wanted.parameters(), trainer.model.parameters(), strict=True):
        torch.testing.assert_close(other, one, atol=2e-6, rtol=1e-4)
    (logged,) = [entry for entry in trainer.state.log_history if "calibration" in entry]
    assert logged["task_loss"] + logged["calibration"] == pytest.approx(logged["loss"], abs=1e-3)


@QUIET
@pytest.mark.parametrize("make", [encoder, decoder])
def test_hidden_states_are_logged_where_they_are_calibrated(make: Any, tmp_path: Path) -> None:
    start = make()
    ids = torch.stack([one["input_ids"] for one in items(start)])
    with torch.no_grad():
        outputs = start.train()(input_ids=ids, output_hidden_states=True)
    wanted = evenness(target_matrix(start, "hidden", outputs))
    for calibration in (CosReg(0.5), None):
        (epoch,) = trained(start, calibration, "hidden", 8, 1, tmp_path).epoch_log.epochs
        for name, value in wanted.items():
            assert epoch[f"hidden_{name}"] == pytest.approx(value, rel=1e-4)
        assert not any(name.startswith("vocabulary") for name in epoch)
    (epoch,) = trained(start, None, "head", 8, 1, tmp_path).epoch_log.epochs
    assert "vocabulary_i1" in epoch
    assert not any(name.startswith("hidden") for name in epoch)


def test_the_latest_states_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.verbs.train.trainer.MOST_STATES", 5)
    states = LatestStates()
    assert states.take() is None
    for first in (0, 3, 6, 9):
        states.add(torch.arange(first, first + 3.0)[:, None])
    found = states.take()
    assert found is not None
    assert found[:, 0].tolist() == [7, 8, 9, 10, 11]
    assert states.take() is None
    states.add(torch.zeros(50, 2))
    found = states.take()
    assert found is not None
    assert found.shape == (5, 2)


@QUIET
def test_an_evaluation_is_about_the_task_alone(tmp_path: Path) -> None:
    start = encoder()
    trainer = trained(start, CosReg(100.0), "head", 8, 1, tmp_path)
    found = trainer.evaluate(items(start))["eval_loss"]
    model = trainer.model.eval()
    ids = torch.stack([one["input_ids"] for one in items(start)])
    labels = torch.tensor([one["labels"] for one in items(start)])
    with torch.no_grad():
        assert found == pytest.approx(model(input_ids=ids, labels=labels).loss.item(), abs=1e-5)
