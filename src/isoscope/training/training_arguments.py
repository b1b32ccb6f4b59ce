"""transformers' own arguments for a run: what its settings mean, and no noise besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback, TrainingArguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.training.run import Run


def training_arguments(run: Run) -> TrainingArguments:
    """Return the arguments of a ``Trainer`` for a run.

    Batches have texts of like lengths, which halves the padding. A checkpoint is written after
    every epoch, the last one stays.
    """
    settings = run.settings
    return TrainingArguments(
        output_dir=str(run.folder),
        learning_rate=settings.learning_rate,
        lr_scheduler_type=settings.schedule,
        warmup_steps=settings.warm_up,  # below 1: a share of all steps
        per_device_train_batch_size=settings.batch_size,
        num_train_epochs=settings.epochs,
        weight_decay=0.0,
        train_sampling_strategy="group_by_length",
        seed=run.seed,
        data_seed=run.seed,
        save_strategy="epoch",
        save_only_model=True,
        save_total_limit=1,
        logging_strategy="epoch",
        report_to=[],
        disable_tqdm=True,
        use_cpu=run.model.device == "cpu",
        dataloader_pin_memory=False,
    )


class StepReport(TrainerCallback):
    """Tells a progress bar how many steps are done."""

    def __init__(self, report: Callable[[int, int], None] | None) -> None:
        self._report = report

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Report one more step."""
        if self._report is not None:
            self._report(state.global_step, state.max_steps)
