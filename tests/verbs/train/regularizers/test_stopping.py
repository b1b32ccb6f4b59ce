"""Trainings that cannot go on: what is said, and what is kept."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from isoscope.errors import DataError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
safetensors = pytest.importorskip("safetensors")

from safetensors.torch import load_file  # noqa: E402

from isoscope.verbs.train.regularizers.cosreg import CosReg  # noqa: E402
from isoscope.verbs.train.trainer import CalibratedTrainer, NotFiniteError  # noqa: E402

QUIET = pytest.mark.filterwarnings("ignore")


class TurnsNaN:
    """A term that is NaN from its n-th call on."""

    name, weight = "turns-nan", 1.0

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self, matrix: Any) -> Any:
        self.left -= 1
        return matrix.sum() * (float("nan") if self.left <= 0 else 0.0)


class Explodes:
    """A finite term whose gradient is not: the weights are NaN after its n-th call."""

    name, weight = "explodes", 1.0

    def __init__(self, call: int) -> None:
        self.left = call

    def __call__(self, matrix: Any) -> Any:
        self.left -= 1
        if self.left > 0:
            return 0 * matrix.sum()
        matrix.register_hook(lambda gradient: gradient * float("nan"))
        return matrix.sum()


def trainer(folder: Path, calibration: Any, **more: Any) -> CalibratedTrainer:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=20, num_labels=3,
    )  # fmt: skip
    settings: dict[str, Any] = {"save_strategy": "steps", "save_steps": 1, "max_steps": 5, **more}
    args = transformers.TrainingArguments(
        output_dir=str(folder), per_device_train_batch_size=2, use_cpu=True, report_to=[],
        disable_tqdm=True, logging_strategy="no", max_grad_norm=0.0, seed=0, **settings,
    )  # fmt: skip
    ids = torch.randint(1, 50, (20, 6), generator=torch.Generator().manual_seed(1))
    data = [{"input_ids": row, "labels": int(row[0]) % 3} for row in ids]
    model = transformers.BertForSequenceClassification(config)
    return CalibratedTrainer(model, args, train_dataset=data, calibration=calibration)


def checkpoints(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@QUIET
def test_a_term_that_turns_nan_names_its_step_and_what_was_kept(tmp_path: Path) -> None:
    with pytest.raises(NotFiniteError) as caught:
        trainer(tmp_path, TurnsNaN(3)).train()
    last = tmp_path / "checkpoint-2"
    assert caught.value.step == 3
    assert caught.value.checkpoint == str(last)
    assert "the calibration is nan at step 3: training stopped" in str(caught.value)
    assert f"the last good checkpoint is {last}" in str(caught.value)
    assert "\n" not in str(caught.value)
    weights = load_file(last / "model.safetensors")
    assert all(weight.isfinite().all() for weight in weights.values())
    model = transformers.BertForSequenceClassification.from_pretrained(last)
    assert torch.isfinite(model(input_ids=torch.tensor([[3, 4]])).logits).all()


@QUIET
def test_without_a_checkpoint_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFiniteError, match="at step 1: training stopped; none was kept before"):
        trainer(tmp_path / "new", TurnsNaN(1), save_strategy="no").train()


@QUIET
def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFiniteError) as caught:
        trainer(tmp_path, Explodes(3)).train()
    assert caught.value.step == 3
    assert "is not finite at step 3: training stopped" in str(caught.value)
    assert checkpoints(tmp_path) == ["checkpoint-1", "checkpoint-2"]


@QUIET
def test_weights_that_are_not_finite_at_the_end_stop_the_training(tmp_path: Path) -> None:
    """Also where no checkpoint is written: what comes back would look trained."""
    with pytest.raises(NotFiniteError, match="is not finite at step 5"):
        trainer(tmp_path, Explodes(5), save_strategy="no").train()


FULL = OSError(errno.ENOSPC, "No space left on device")


@QUIET
@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("_save", FULL),
        ("_save", safetensors.SafetensorError("IoError(Os { code: 28, StorageFull })\nmore")),
        ("_save_optimizer_and_scheduler", FULL),
        (
            "_save_optimizer_and_scheduler",
            RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0"),
        ),
        ("_save_rng_state", RuntimeError("basic_ios::clear: iostream error")),
        ("_save", Exception("No space left on device (os error 28)")),
    ],
)
def test_a_full_disk_leaves_the_checkpoint_before(
    method: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third checkpoint cannot be written: half of it is there when the disk is full."""
    subject = trainer(tmp_path, CosReg())
    usual = getattr(subject, method)

    def fails(folder: Any = None, *args: Any, **kwargs: Any) -> Any:
        if str(folder).endswith("checkpoint-3"):
            Path(folder).mkdir(exist_ok=True)
            (Path(folder) / "model.safetensors").write_bytes(b"half")
            raise error
        return usual(folder, *args, **kwargs)

    monkeypatch.setattr(subject, method, fails)
    with pytest.raises(DataError, match="checkpoint-3 could not be written") as caught:
        subject.train()
    said = str(caught.value)
    assert "\n" not in said
    assert f"the last good checkpoint is {tmp_path / 'checkpoint-2'}" in said
    assert "free some space" in said
    assert checkpoints(tmp_path) == ["checkpoint-1", "checkpoint-2"]


@QUIET
def test_other_failures_keep_their_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = trainer(tmp_path, CosReg())

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("a mistake in the program")

    monkeypatch.setattr(subject, "_save_rng_state", fails)
    with pytest.raises(RuntimeError, match="a mistake in the program"):
        subject.train()


@QUIET
def test_a_whole_checkpoint_outlives_what_fails_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old checkpoints that cannot be removed are no reason to remove the new one."""
    from transformers import trainer as module

    def fails(*_: Any, **__: Any) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(module, "rotate_checkpoints", fails)
    with pytest.raises(DataError, match="Permission denied"):
        trainer(tmp_path, CosReg()).train()
    assert checkpoints(tmp_path) == ["checkpoint-1"]
