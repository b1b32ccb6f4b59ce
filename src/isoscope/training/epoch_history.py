"""Losses, seconds and evenness of every epoch of a training, in one entry each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.training.trainer import TASK, TERM

if TYPE_CHECKING:
    from isoscope.training.trainer import CalibratedTrainer


def epoch_history(trainer: CalibratedTrainer) -> tuple[dict[str, float], ...]:
    """Return one entry for every epoch that was finished."""
    losses = [entry for entry in trainer.state.log_history if TASK in entry]
    return tuple(
        {**{name: loss[name] for name in (TASK, TERM) if name in loss}, **epoch}
        for loss, epoch in zip(losses, trainer.epoch_log.epochs, strict=False)
    )
