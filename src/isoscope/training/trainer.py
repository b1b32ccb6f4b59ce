"""transformers' Trainer with a calibration: one more term of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import Trainer

from isoscope.training.targets import Target, check_target, target_matrix

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.training.contract import Calibration

TASK, TERM = "task_loss", "calibration"
"""What the two parts of the loss are called in the log."""


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
    return loss + calibration(target_matrix(model, target, outputs, attention_mask))


class CalibratedTrainer(Trainer):
    """A ``transformers.Trainer`` that adds a calibration while it trains.

    Losses of an evaluation are those of the task alone. The log has both parts of the loss. However
    a step is cut into batches, the term counts once; the task's own loss is scaled as ``Trainer``
    scales it, which for models with labels is a sum over the batches of a step, not their mean.

    Parameters
    ----------
    calibration : Calibration
        The term.
    target : {"head", "vocabulary", "hidden"}
        Which matrix is calibrated.
    *args, **kwargs
        As ``Trainer`` takes them.

    Examples
    --------
    >>> CalibratedTrainer(model, args, calibration=CosReg(0.1)).train()  # doctest: +SKIP
    """

    def __init__(
        self, *args: Any, calibration: Calibration, target: Target = "head", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        check_target(self.model, target)
        self.calibration, self.target = calibration, target
        self._parts: dict[str, list[float]] = {TASK: [], TERM: []}

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
        mask = inputs.get("attention_mask")
        if self.target == "hidden":
            inputs = {**inputs, "output_hidden_states": True}
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        matrix = target_matrix(self.accelerator.unwrap_model(model), self.target, outputs, mask)
        term = self.calibration(matrix)
        self._parts[TASK].append(float(loss.detach()))
        self._parts[TERM].append(float(term.detach()))
        # A loss that is divided by all items of a step is summed over its batches, and so is this.
        if self._is_summed(num_items_in_batch):
            term = term / self.current_gradient_accumulation_steps
        total = loss + term
        return (total, outputs) if return_outputs else total

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
            logs = {**logs, **means}
            self._parts = {TASK: [], TERM: []}
        super().log(logs, *args, **kwargs)
