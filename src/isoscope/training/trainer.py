"""transformers' Trainer with a calibration: one more term of the loss."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import Trainer

from isoscope.errors import DataError, UsageError
from isoscope.training.contract import Attachable
from isoscope.training.epoch_log import EpochLog
from isoscope.training.item_count import uses_item_count
from isoscope.training.saving import last_kept, whole_or_none
from isoscope.training.targets import Target, check_target, target_matrix, token_mask

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.training.contract import Calibration

TASK, TERM = "task_loss", "calibration"
"""What the two parts of the loss are called in the log."""


def calibration_term(
    calibration: Calibration,
    model: Any,
    target: Target = "head",
    outputs: Any = None,
    attention_mask: Tensor | None = None,
) -> Tensor:
    """Return what a calibration adds to the loss of the last forward pass."""
    if isinstance(calibration, Attachable) and calibration.maps:
        kept = calibration.kept_term()
        if kept is None:
            raise UsageError(
                f"{calibration.name} mapped nothing in this step: attach it to the model, and "
                "call the model in training mode, before its term is taken"
            )
        return kept
    return calibration(target_matrix(model, target, outputs, attention_mask))


def calibrated_loss(
    loss: Tensor,
    calibration: Calibration,
    model: Any,
    target: Target = "head",
    outputs: Any = None,
    attention_mask: Tensor | None = None,
) -> Tensor:
    """Add a calibration to the loss of a task, in a training loop of one's own.

    Parameters
    ----------
    loss : Tensor
        Of the task.
    calibration : Calibration
        The term.
    model : PreTrainedModel
        What is trained.
    target : {"head", "vocabulary", "hidden"}
        Which matrix is calibrated.
    outputs, attention_mask
        Of the batch, where hidden states are the target.

    Examples
    --------
    >>> loss = calibrated_loss(outputs.loss, CosReg(0.1), model)  # doctest: +SKIP
    >>> loss.backward()  # doctest: +SKIP
    """
    return loss + calibration_term(calibration, model, target, outputs, attention_mask)


class NotFiniteError(DataError):
    """A loss, or a weight, became NaN or infinite.

    Attributes
    ----------
    step : int
        The step in which it was noticed, from 1.
    checkpoint : str or None
        The last one that was kept; its weights are finite.
    """

    def __init__(self, what: str, step: int, checkpoint: str | None) -> None:
        self.step, self.checkpoint = step, checkpoint
        kept = f"the last good checkpoint is {checkpoint}" if checkpoint else "none was kept before"
        super().__init__(
            f"{what} at step {step}: training stopped; {kept}; a smaller weight of the "
            "calibration, or a smaller learning rate, may help"
        )


class CalibratedTrainer(Trainer):
    """A ``transformers.Trainer`` that adds a calibration while it trains.

    A loss that is not finite stops the training, and no checkpoint is written whose weights are
    not. The log has the parts of the loss and, after every epoch, its seconds and I1, I2 and
    lengths of the head and of the vocabulary's matrix. Losses of an evaluation are those of the
    task alone. However a step is cut into batches, in one process or several, the loss is the
    same: the term counts once, and the task's own loss is its mean over all items as ``Trainer``
    counts them. A term on hidden states is the mean over batches, each with the states it has.

    Parameters
    ----------
    calibration : Calibration, optional
        The term; None trains as ``Trainer`` does, with the same log.
    target : {"head", "vocabulary", "hidden"}
        Which matrix is calibrated.
    *args, **kwargs
        As ``Trainer`` takes them.

    Examples
    --------
    >>> CalibratedTrainer(model, args, calibration=CosReg(0.1)).train()  # doctest: +SKIP
    """

    def __init__(
        self,
        *args: Any,
        calibration: Calibration | None = None,
        target: Target = "head",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if calibration is not None:
            check_target(self.model, target)
        if isinstance(calibration, Attachable):
            calibration.attach(self.model, target)
            if not calibration.maps and self.accelerator.ddp_handler is not None:
                # Its parameters are used outside of the forward pass, where several processes
                # would take them for unused, and count their gradients twice.
                self.accelerator.ddp_handler.find_unused_parameters = False
        self.calibration, self.target = calibration, target
        self.epoch_log = EpochLog(self.log)
        self.add_callback(self.epoch_log)
        self._parts: dict[str, list[float]] = {TASK: [], TERM: []}
        self._asked = False

    def create_optimizer(self, model: Any = None) -> Any:
        """Make the optimiser, with a rate of its own for what a calibration learns."""
        optimiser = super().create_optimizer(model)
        if isinstance(self.calibration, Attachable):
            own = self.calibration.parameters()
            known = {id(parameter) for parameter in own}
            for group in optimiser.param_groups:
                group["params"] = [p for p in group["params"] if id(p) not in known]
            if own:
                rate = self.calibration.learning_rate
                optimiser.add_param_group({"params": own, "lr": rate, "weight_decay": 0.0})
        return optimiser

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """Return the schedule; a training too short for its warm-up has none.

        transformers rounds the share of warm-up steps upwards and divides by the steps after them.
        """
        if self.args.get_warmup_steps(num_training_steps) >= num_training_steps:
            self.args.warmup_steps = 0
        return super().create_scheduler(num_training_steps, optimizer)

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss of a batch, with the term while the model trains."""
        if not model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if self.calibration is not None and self.target == "hidden":
            inputs = {**inputs, "output_hidden_states": True}
        plain = self.accelerator.unwrap_model(model)
        mask = token_mask(plain, inputs)
        self._ask(model, inputs)
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        # A loss that is divided by all items of a step is summed over its batches.
        shares = self.current_gradient_accumulation_steps
        summed = self._is_summed(num_items_in_batch)
        self._note(TASK, loss * shares if summed else loss)
        if self.calibration is not None:
            term = calibration_term(self.calibration, plain, self.target, outputs, mask)
            self._note(TERM, term)
            loss = loss + (term / shares if summed else term)
        return (loss, outputs) if return_outputs else loss

    def _ask(self, model: Any, inputs: dict[str, Any]) -> None:
        """Find out in the first step whether the model listens to a number of items."""
        by_model = self.compute_loss_func is None and self.label_smoother is None
        if not self._asked and self.model_accepts_loss_kwargs and by_model and "labels" in inputs:
            self.model_accepts_loss_kwargs = uses_item_count(model, inputs)
        self._asked = True

    def _note(self, part: str, value: Tensor) -> None:
        number = float(value.detach())
        if not math.isfinite(number):
            self._stop(f"the {part.replace('_', ' ')} is {number}", self.state.global_step + 1)
        self._parts[part].append(number)

    def _stop(self, what: str, step: int) -> None:
        raise NotFiniteError(what, step, last_kept(self.args.output_dir or "."))

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train as ``Trainer`` does; weights that are not finite at the end are an error too."""
        found = super().train(*args, **kwargs)
        self._check_weights(self.model)
        return found

    def _check_weights(self, model: Any) -> None:
        weights = self.accelerator.unwrap_model(model).named_parameters()
        bad = next((name for name, weight in weights if not weight.isfinite().all()), None)
        if bad is not None:
            self._stop(f"{bad} is not finite", self.state.global_step)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        self._check_weights(model)
        folder = Path(self._get_output_dir(trial)) / f"checkpoint-{self.state.global_step}"
        with whole_or_none(folder):
            super()._save_checkpoint(model, trial)

    def _is_summed(self, num_items_in_batch: Any) -> bool:
        told = getattr(self, "loss_is_scaled_for_ga", None)
        if told is not None:
            return bool(told)
        by_model = self.model_accepts_loss_kwargs and num_items_in_batch is not None
        return bool(by_model or self.compute_loss_func is not None)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """Log both parts of the loss, as means since the last time."""
        if "loss" in logs:
            means = {name: sum(p) / len(p) for name, p in self._parts.items() if p}
            # Every process has items of its own; what is logged is about all.
            shared = torch.tensor(list(means.values()), device=self.accelerator.device)
            over_all = self.accelerator.reduce(shared.float(), reduction="mean").tolist()
            logs = {**logs, **dict(zip(means, over_all, strict=True))}
            self._parts = {TASK: [], TERM: []}
        super().log(logs, *args, **kwargs)
