"""What every run has in common: a Trainer that prints nothing, and what is left of a training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from transformers.trainer_callback import PrinterCallback

from isoscope.training.naming import make_calibration, used_options
from isoscope.training.outcomes import Outcome
from isoscope.training.silence import silently
from isoscope.training.trainer import TASK, TERM, CalibratedTrainer, NotFiniteError
from isoscope.training.training_arguments import StepReport, training_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.training.run import Run


@dataclass(frozen=True)
class Taught:
    """A training that is over.

    Attributes
    ----------
    known : dict
        Fields of its outcome that do not depend on scores.
    stopped : NotFiniteError or None
        What ended it early, where something that is not finite did.
    """

    known: dict[str, Any]
    stopped: NotFiniteError | None

    def saying(self, **settings: Any) -> dict[str, Any]:
        """Return the known fields, with more among the settings."""
        return {**self.known, "settings": {**self.known["settings"], **settings}}

    def failed(self, metrics: Iterable[str], notes: tuple[str, ...]) -> Outcome:
        """Return the outcome of a training that ended early: no scores, and the reason."""
        if self.stopped is None:
            raise ValueError("this training did not stop")
        return Outcome(
            **self.known,
            scores=dict.fromkeys(metrics),
            notes=(*notes, str(self.stopped)),
            stopped_at=self.stopped.step,
        )


def teach(
    run: Run, network: Any, examples: list[dict[str, Any]], collator: Any, **settings: Any
) -> Taught:
    """Train a network on examples, with the run's calibration.

    Parameters
    ----------
    run : Run
        What is trained, and how.
    network : PreTrainedModel
        Trained in place.
    examples : list of dict
        Tokens and labels.
    collator : callable
        Makes a batch of some of them.
    **settings
        What a result says of the run besides its settings.
    """
    calibration = make_calibration(run.calibration)
    trainer = CalibratedTrainer(
        model=network,
        args=training_arguments(run),
        calibration=calibration,
        target=run.target,
        train_dataset=examples,
        data_collator=collator,
        callbacks=[StepReport(run.progress)],
    )
    trainer.remove_callback(PrinterCallback)  # the log is in the outcome
    stopped: NotFiniteError | None = None
    try:
        with silently():
            trainer.train()
    except NotFiniteError as error:
        stopped = error
    known = {
        "task": run.task,
        "calibration": run.calibration,
        "seed": run.seed,
        "seconds": tuple(epoch["seconds"] for epoch in trainer.epoch_log.epochs),
        "history": epoch_history(trainer),
        "settings": {
            **asdict(run.settings),
            "train": len(examples),
            **settings,
            "target": run.target,
            "options": used_options(calibration),
        },
    }
    return Taught(known, stopped)


def epoch_history(trainer: CalibratedTrainer) -> tuple[dict[str, float], ...]:
    """Return losses, seconds and evenness of every epoch that was finished."""
    losses = [entry for entry in trainer.state.log_history if TASK in entry]
    return tuple(
        {**{name: loss[name] for name in (TASK, TERM) if name in loss}, **epoch}
        for loss, epoch in zip(losses, trainer.epoch_log.epochs, strict=False)
    )
