"""One run of fine-tuning: its settings, its training, and what it came to.

The usual settings are those of Ding et al. (2022), by kind of model and task. Their table of
hyper-parameters gives rate, batch and epochs; what it leaves open is as in the scripts that they
name: texts of at most 128 tokens for encoders, AdamW without weight decay, gradients cut to
length 1. The weights of calibrations are not printed (see ``regularizers/registry``); nor is it
said how texts are searched for when they are written: here, the likeliest token is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from transformers import TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from isoscope.errors import UsageError, at_least
from isoscope.models.model import Model
from isoscope.verbs.train.regularizers.base import Target
from isoscope.verbs.train.regularizers.registry import make_calibration, used_options
from isoscope.verbs.train.trainer import TASK, TERM, CalibratedTrainer, NotFiniteError, silently


@dataclass(frozen=True)
class Run:
    """A task, a calibration and a seed, with all that they need.

    Attributes
    ----------
    model : Model
        What is fine-tuned, as ``open_model`` gives it; its weights are loaded anew in every run.
    task : str
        Such as ``rte``, ``translate:de-en``, ``summarize``.
    calibration : str
        As ``make_calibration`` takes it.
    seed : int
        Of the head, the order of examples, and dropout.
    settings : Settings
        How long and how fast.
    data : Path or None
        The user's data folder.
    folder : Path
        Where checkpoints are written while it trains; whoever runs it empties it afterwards.
    target : {"head", "vocabulary", "hidden"}
        Which matrix is calibrated.
    progress : callable, optional
        Called with steps done and steps in all.
    """

    model: Model
    task: str
    calibration: str
    seed: int
    settings: Settings
    data: Path | None
    folder: Path
    target: Target = "head"
    progress: Callable[[int, int], None] | None = None

    @property
    def name(self) -> str:
        """What the journal calls it."""
        return f"{self.task}, {self.calibration}, seed {self.seed}"


class Lengths(NamedTuple):
    """Tokens of every example to learn from, and of all that is read or written once."""

    learned: list[int]
    read: int


Item = TypeVar("Item")
Schedule = Literal["constant", "polynomial"]

# Small sets, which get five epochs.
LONGER_TASKS = ("mrpc", "wnli")

# A model that starts from scratch; see ``made_model``.
MADE = "made:bart"

# Tokens of an article, as many as BART has positions.
MOST_SUMMARIZED = 1_024

ENCODER_DECODERS = ("bart", "mbart", "t5", "mt5", "marian", "pegasus", "m2m_100")


@dataclass(frozen=True)
class Settings:
    """What decides a run of fine-tuning besides task, calibration and seed.

    Attributes
    ----------
    learning_rate : float
        The highest rate.
    schedule : {"constant", "polynomial"}
        What becomes of it: it stays, or falls to 0 in a line.
    batch_size : int
        Examples per step.
    epochs : int
        Passes over the training examples.
    longest : int
        Tokens of a text, or of a pair of texts; the rest is cut.
    limit : int, optional
        The first so many examples to learn from, after they are shuffled once with seed 0.
    longest_target : int
        Tokens of a text that is written.
    warm_up : float
        Share of all steps in which the rate rises from 0.
    beams : int
        Of the search when texts are written; 1 takes the likeliest token every time.
    """

    learning_rate: float = 2e-5
    schedule: Schedule = "constant"
    batch_size: int = 32
    epochs: int = 3
    longest: int = 128
    limit: int | None = None
    longest_target: int = 128
    warm_up: float = 0.0
    beams: int = 1

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise UsageError(f"a learning rate must be above 0, got {self.learning_rate}")
        for name in ("batch_size", "epochs", "longest", "longest_target", "beams"):
            at_least(name, getattr(self, name), 1)
        if not 0 <= self.warm_up < 1:
            raise UsageError(f"warm_up must be a share of all steps below 1, got {self.warm_up}")
        if self.limit is not None:
            at_least("limit", self.limit, 1)


# Of ``made:bart``, this project's own: chosen on Multi30k for minutes on one core.
MADE_TRANSLATIONS = Settings(2e-3, "polynomial", 48, 2, 64, longest_target=64, warm_up=0.1)

# The same for long texts, of which there are few.
MADE_SUMMARIES = Settings(2e-3, "polynomial", 8, 5, 512, warm_up=0.1)


def usual_settings(model_type: str, task: str) -> Settings:
    """Return the settings of Ding et al. (2022), appendix B.

    Parameters
    ----------
    model_type : str
        As a configuration calls it: ``bert``, ``roberta``, ``distilbert``, ``bart``, …; or
        ``made:bart``, which is not fine-tuned but learns everything, and needs a larger rate.
    task : str
        Such as ``mrpc``.
    """
    longest = MOST_SUMMARIZED if task == "summarize" else 128
    if model_type == MADE:
        return MADE_SUMMARIES if task == "summarize" else MADE_TRANSLATIONS
    if model_type in ENCODER_DECODERS:
        return Settings(3e-5, "polynomial", 48, 5, longest)
    rate = 1e-5 if "roberta" in model_type else 2e-5
    return Settings(rate, "constant", 32, 5 if task in LONGER_TASKS else 3)


# I1, I2 and lengths of a matrix; see ``evenness``.
Evenness = Mapping[str, float | None]


@dataclass(frozen=True)
class Outcome:
    """One run, as the journal keeps it.

    Attributes
    ----------
    task, calibration : str
        Names; the calibration as ``make_calibration`` takes it.
    seed : int
        Of the head, the order of examples, and dropout.
    scores : mapping
        By metric; the first decides. None where one is undefined.
    evenness : mapping
        Of ``head``, ``vocabulary`` and ``hidden``, those that the model has, after training.
    seconds : tuple of float
        Of every epoch of training, without evaluations.
    settings : mapping
        All that decides the run besides: learning rate, epochs, batch, examples, weights.
    notes : tuple of str
        What a reader must know, such as that one class only is predicted.
    constant : bool
        Whether every prediction is the same.
    history : tuple of mapping
        One entry an epoch: losses, and evenness of the calibrated matrix.
    stopped_at : int, optional
        The step whose loss was not finite, where there was one.
    """

    task: str
    calibration: str
    seed: int
    scores: Mapping[str, float | None]
    evenness: Mapping[str, Evenness] = field(default_factory=dict)
    seconds: tuple[float, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    constant: bool = False
    history: tuple[Mapping[str, Any], ...] = ()
    stopped_at: int | None = None

    def to_facts(self) -> dict[str, Any]:
        """Return everything as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Outcome:
        """Rebuild what ``to_facts`` gave."""
        listed = {name: tuple(facts[name]) for name in ("seconds", "notes", "history")}
        return cls(**{**facts, **listed})


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


# Tokens of what is scored whose last hidden states are measured.
HIDDEN_ROWS = 5_000

# Examples that are scored together.
AT_ONCE = 64

# Of the order in which ``limit`` takes examples: the same for every run.
ORDER_SEED = 0


def first_shuffled(examples: Sequence[Item], limit: int | None) -> Sequence[Item]:
    """Return so many examples after shuffling them once, or all in their order."""
    if limit is None or limit >= len(examples):
        return examples
    # Of a set that is sorted, by label say, the first examples would be of one kind.
    order = np.random.default_rng(ORDER_SEED).permutation(len(examples))[:limit]
    return [examples[k] for k in order]


def batches_by_length(examples: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Return the places of the examples of each batch: those of like lengths together."""
    order = sorted(range(len(examples)), key=lambda k: len(examples[k]["input_ids"]))
    return [order[k : k + AT_ONCE] for k in range(0, len(order), AT_ONCE)]


def teach(
    run: Run, network: Any, examples: list[dict[str, Any]], collator: Any, **settings: Any
) -> Outcome:
    """Train a network on examples, with the run's calibration; the outcome has no scores yet.

    Where something that is not finite ended the training early, the outcome says at which step,
    and its note says why.

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
    stopped_at: int | None = None
    notes: tuple[str, ...] = ()
    try:
        with silently():
            trainer.train()
    except NotFiniteError as error:
        stopped_at, notes = error.step, (str(error),)
    return Outcome(
        run.task,
        run.calibration,
        run.seed,
        scores={},
        seconds=tuple(epoch["seconds"] for epoch in trainer.epoch_log.epochs),
        settings={
            **asdict(run.settings),
            "train": len(examples),
            **settings,
            "target": run.target,
            "options": used_options(calibration),
        },
        notes=notes,
        history=epoch_history(trainer),
        stopped_at=stopped_at,
    )


def epoch_history(trainer: CalibratedTrainer) -> tuple[dict[str, float], ...]:
    """Return losses, seconds and evenness of every epoch that was finished."""
    losses = [entry for entry in trainer.state.log_history if TASK in entry]
    return tuple(
        {**{name: loss[name] for name in (TASK, TERM) if name in loss}, **epoch}
        for loss, epoch in zip(losses, trainer.epoch_log.epochs, strict=False)
    )
