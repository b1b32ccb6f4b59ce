"""transformers' Trainer with a calibration: one more term of the loss, a log, and safe checkpoints.

``Trainer`` tells a model how many items all batches of a step have, in all processes, and then sums
what the batches give. It concludes from the model's signature that it listens. Classifiers take the
number, do not use it, and return the mean of a batch: their sum over batches and processes is too
large by as many times. So a model is asked (``uses_item_count``).

After every epoch the log gets its seconds, and I1, I2 and lengths of the trained matrices, or of
the hidden states where these are calibrated. A head may have a single row, whose I1 and I2 are
defined, but which no cloud is: the directions across it are all alike, with ln Z = ln n. So the
definition is computed here, in double precision; what is made of ln Z is the same as in
``isoscope.measure``: with Z(a) = Σ_i exp(a · x_i) for every eigenvector a of XᵀX, turned so that
Z(a) ≥ Z(−a),

    I1 = min_a Z(a) / max_a Z(a),   I2 = standard deviation of Z(a) / mean of Z(a).

References
----------
Mu & Viswanath (2018), All-but-the-top: simple and effective postprocessing for word
representations, ICLR. Wang et al. (2020), Improving neural language generation with spectrum
control, ICLR, for I2.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from torch import Tensor
from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils import logging as reporting

from isoscope.errors import DataError, UsageError
from isoscope.measures.families.partition import log_i1, oriented
from isoscope.measures.space import Partition
from isoscope.verbs.train.regularizers.base import (
    Attachable,
    Calibration,
    Target,
    check_target,
    head_weight,
    output_weight,
    target_matrix,
    token_mask,
)
from isoscope.verbs.train.save_errors import is_save_error, save_reason

# What is said of every matrix; i1_scaled does not move where only lengths do.
MEASURES = ("i1", "i2", "mean_norm", "i1_scaled")

# Exponents up to which sums neither overflow nor vanish.
SAFE = 80.0

OWN_AXES = "its own axes"


def evenness(matrix: ArrayLike) -> dict[str, float | None]:
    """Return I1, I2, the mean norm, and I1 at a root mean square norm of one.

    Parameters
    ----------
    matrix : array-like
        Rows × d; from one row on. What is not finite is undefined in every measure.
    """
    rows = np.asarray(matrix, np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    if not np.isfinite(lengths).all():
        return dict.fromkeys(MEASURES)
    along = rows @ np.linalg.eigh(rows.T @ rows)[1]
    found = partition(along)
    logs = oriented(found)
    z = np.exp(logs - logs.max())  # I2 is a ratio: what all have in common may be taken out
    scale = float(np.sqrt(np.mean(lengths**2)))
    scaled = math.exp(log_i1(partition(along / scale))) if scale > 0 else None
    return {
        "i1": math.exp(log_i1(found)),
        "i2": float(z.std() / z.mean()),
        "mean_norm": float(lengths.mean()),
        "i1_scaled": scaled,
    }


def partition(along: np.ndarray) -> Partition:
    """Return ln Z of both signs of every axis, from what rows have along it."""
    if np.abs(along).max() < SAFE:
        # Both signs of one exponential: a vocabulary's matrix takes a second less.
        powers = np.exp(along)
        return Partition(np.log(powers.sum(axis=0)), np.log((1 / powers).sum(axis=0)), OWN_AXES)
    return Partition(logsumexp(along, axis=0), logsumexp(-along, axis=0), OWN_AXES)


WEIGHTS: dict[str, Callable[[Any], Tensor]] = {"head": head_weight, "vocabulary": output_weight}


def matrix_evenness(model: Any) -> dict[str, dict[str, float | None]]:
    """Return I1, I2 and lengths of the head and of the vocabulary's matrix.

    A model that has no output matrix of its vocabulary, such as a classifier, is represented by
    its input embeddings. What it has not at all is left out.
    """
    found = {}
    for name, weight_of in WEIGHTS.items():
        try:
            weight = weight_of(model)
        except UsageError:
            embeddings = model.get_input_embeddings() if name == "vocabulary" else None
            if embeddings is None:
                continue
            weight = embeddings.weight
        found[name] = evenness(weight.detach().float().cpu().numpy())
    return found


# Hidden states that are measured at the end of an epoch.
MOST_STATES = 4_096


class LatestStates:
    """The hidden states of the last batches: as many as are measured, and no more."""

    def __init__(self) -> None:
        self._batches: list[Tensor] = []

    def add(self, states: Tensor) -> None:
        """Keep the states of a batch (tokens × d), and let go of older ones."""
        self._batches.append(states.detach()[:MOST_STATES])
        while sum(map(len, self._batches[1:])) >= MOST_STATES:
            del self._batches[0]

    def take(self) -> np.ndarray | None:
        """Return the latest states and forget them; None where no batch was seen."""
        if not self._batches:
            return None
        states = torch.cat(self._batches)[-MOST_STATES:]
        self._batches.clear()
        return np.asarray(states.float().cpu().numpy())


class EpochLog(TrainerCallback):
    """Times every epoch without its evaluation, and measures what is trained at its end.

    Parameters
    ----------
    log : callable
        Takes an entry of the log.
    states : LatestStates, optional
        Hidden states that are measured in place of the vocabulary's matrix, where these are what
        is calibrated.

    Attributes
    ----------
    epochs : list of dict
        One entry an epoch: ``seconds``, and measures such as ``head_i1``.
    """

    def __init__(
        self, log: Callable[[dict[str, float]], None], states: LatestStates | None = None
    ) -> None:
        self.epochs: list[dict[str, float]] = []
        self._log, self._states = log, states
        self._began = 0.0

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        """Start the clock."""
        self._began = time.perf_counter()

    def on_epoch_end(
        self,
        args: Any,  # noqa: ARG002
        state: Any,  # noqa: ARG002
        control: Any,
        model: Any = None,
        **_: Any,
    ) -> None:
        """Stop it, and measure.

        Whatever is logged calls off the log that is due: here it is asked for again, or a log of
        every epoch would never have a loss.
        """
        entry = {"seconds": time.perf_counter() - self._began}
        for part, measures in self._measured(model).items():
            for name, value in measures.items():
                if value is not None:
                    entry[f"{part}_{name}"] = value
        self.epochs.append(entry)
        due = control.should_log
        self._log({f"epoch_{name}" if name == "seconds" else name: v for name, v in entry.items()})
        control.should_log = due

    def _measured(self, model: Any) -> dict[str, dict[str, float | None]]:
        """Measure the matrices, or the head and the hidden states."""
        found = matrix_evenness(model)
        if self._states is not None:
            found.pop("vocabulary", None)
            states = self._states.take()
            if states is not None and len(states):
                found["hidden"] = evenness(states)
        return found


def uses_item_count(model: Any, inputs: dict[str, Any]) -> bool:
    """Tell whether twice the number of items gives half the loss.

    Parameters
    ----------
    model : Module
        As it is called in training; its mode is left as it was, and no random number is drawn.
    inputs : dict
        A batch with labels.
    """
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            one, two = (
                loss_of(model(**inputs, num_items_in_batch=torch.tensor(count))) for count in (1, 2)
            )
    finally:
        model.train(training)
    # Half precision keeps three digits; a mean would be twice as much.
    return bool(one > 0 and abs(two / one - 0.5) < 0.1)


def loss_of(outputs: Any) -> float:
    """Return the loss among the outputs of a model, which has labels."""
    return float(outputs["loss"] if isinstance(outputs, dict) else outputs[0])


# The file that a checkpoint ends with.
WRITTEN_LAST = "trainer_state.json"


def last_kept(folder: str | Path) -> str | None:
    """Return the newest checkpoint in a folder."""
    newest: Any = get_last_checkpoint
    found: str | None = newest(str(folder)) if Path(folder).is_dir() else None
    return found


def kept_words(checkpoint: str | None) -> str:
    """Say what there is to go on from."""
    return f"the last good checkpoint is {checkpoint}" if checkpoint else "none was kept before"


@contextmanager
def whole_or_none(folder: Path) -> Iterator[None]:
    """Remove a checkpoint that could not be written to its end, and say so in one line."""
    try:
        yield
    except Exception as error:
        if not is_save_error(error):
            raise
        if not is_whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise DataError(
            f"{folder} could not be written: {save_reason(error)}; training stopped; "
            f"{kept_words(last_kept(folder.parent))}; free some space, or choose another output "
            "folder"
        ) from error


def is_whole(folder: Path) -> bool:
    """Tell whether the last file of a checkpoint is there, to its end."""
    try:
        json.loads((folder / WRITTEN_LAST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


# What the two parts of the loss are called in the log.
TASK, TERM = "task_loss", "calibration"


def calibration_term(
    calibration: Calibration, model: Any, target: Target, outputs: Any, mask: Tensor | None
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
    return calibration(target_matrix(model, target, outputs, mask))


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
        super().__init__(
            f"{what} at step {step}: training stopped; {kept_words(checkpoint)}; a smaller weight "
            "of the calibration, or a smaller learning rate, may help"
        )


class CalibratedTrainer(Trainer):
    """A ``transformers.Trainer`` that adds a calibration while it trains.

    A loss that is not finite stops the training, and no checkpoint is written whose weights are
    not. The log has the parts of the loss and, after every epoch, its seconds and I1, I2 and
    lengths of the head and of the vocabulary's matrix; where hidden states are the target, of the
    states of the last batches (up to 4,096) in place of that matrix. Losses of an evaluation are
    those of the task alone. However a step is cut into batches, in one process or several, the loss
    is the same: the term counts once, and the task's own loss is its mean over all items as
    ``Trainer`` counts them. A term on hidden states is the mean over batches, each with the states
    it has.

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
        self._states = LatestStates() if target == "hidden" else None
        self.epoch_log = EpochLog(self.log, self._states)
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
        if self._states is not None:
            inputs = {**inputs, "output_hidden_states": True}
        plain = self.accelerator.unwrap_model(model)
        mask = token_mask(plain, inputs)
        self._ask(model, inputs)
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        # A loss that is divided by all items of a step is summed over its batches.
        shares = self.current_gradient_accumulation_steps
        summed = self._is_summed(num_items_in_batch)
        self._note(TASK, loss * shares if summed else loss)
        if self._states is not None:
            self._states.add(target_matrix(plain, "hidden", outputs, mask))
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


@contextmanager
def silently() -> Iterator[None]:
    """Switch off what transformers writes while it trains, saves and generates.

    Standard error stays open, unlike in ``models.quiet``: a command shows its own progress there.
    """
    logger = logging.getLogger("transformers")
    level, bars = logger.level, reporting.is_progress_bar_enabled()
    logger.setLevel(logging.CRITICAL)
    reporting.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logger.setLevel(level)
        if bars:
            reporting.enable_progress_bar()  # type: ignore[no-untyped-call]
