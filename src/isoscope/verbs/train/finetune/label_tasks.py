"""Fine-tuning on the tasks of GLUE: examples with labels, one run, and the scores that count.

The smaller sets are read as for ``isoscope evaluate``. MNLI and QQP are read in GLUE's own layout
where the folder has it, else a sample of them that the folder may have; then the result says so.

Scores are those of GLUE's own evaluation: accuracy, F1 of the class 1, Matthews' correlation (0
where one class only is predicted, as scikit-learn and GLUE have it), Pearson's and Spearman's
correlations (undefined where every prediction is the same).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
import transformers
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import f1_score, matthews_corrcoef
from transformers import DataCollatorWithPadding

from isoscope.errors import UsageError, check_name
from isoscope.models.model import Model
from isoscope.tasks.datasets.glue import LARGE_SETS
from isoscope.tasks.problems.classification import TextClassification
from isoscope.tasks.problems.pairs import SentenceSimilarity
from isoscope.tasks.registry import LabelledText, TextPair, find_task
from isoscope.typing import Doubles
from isoscope.verbs.train.finetune.run import (
    HIDDEN_ROWS,
    Lengths,
    Outcome,
    Run,
    batches_by_length,
    first_shuffled,
    teach,
)
from isoscope.verbs.train.trainer import evenness, matrix_evenness

Example: TypeAlias = LabelledText | TextPair

TRAIN = "train"


@dataclass(frozen=True)
class LabelTask:
    """How a set is scored: by some metrics, of which the first decides, on some parts.

    ``scored`` has what is appended to the name of a metric for every part that is scored.
    """

    metrics: tuple[str, ...]
    scored: tuple[tuple[str, str], ...] = (("dev", ""),)


# GLUE's nine tasks, in the order of the paper's table.
LABEL_TASKS = {
    "sst-2": LabelTask(("accuracy",)),
    "mrpc": LabelTask(("f1", "accuracy")),
    "cola": LabelTask(("matthews", "accuracy")),
    "rte": LabelTask(("accuracy",)),
    "wnli": LabelTask(("accuracy",)),
    "sts-b": LabelTask(("pearson", "spearman")),
    "qnli": LabelTask(("accuracy",)),
    "mnli": LabelTask(
        ("accuracy",), (("dev_matched", "-matched"), ("dev_mismatched", "-mismatched"))
    ),
    "qqp": LabelTask(("accuracy", "f1")),
}

# Large sets of which a folder may have a sample instead.
SAMPLED = ("mnli", "qqp", "qnli")


@dataclass(frozen=True)
class LabelData:
    """The examples of a task.

    Attributes
    ----------
    train : tuple of example
        What is learned from.
    scored : mapping of str to tuple of example
        What is scored, by what is appended to the metric's name.
    labels : tuple of str
        The classes; empty for a regression.
    note : str
        What a reader must know of the data.
    """

    train: tuple[Example, ...]
    scored: dict[str, tuple[Example, ...]]
    labels: tuple[str, ...]
    note: str = ""

    def target(self, example: Example) -> float | int:
        """Return what a model should give for an example."""
        if isinstance(example, TextPair):
            return example.score
        return self.labels.index(example.label)


def find_label_task(name: str) -> LabelTask:
    """Return a task by its name."""
    check_name("task of fine-tuning", name, LABEL_TASKS)
    return LABEL_TASKS[name]


def load_label_data(name: str, folder: Path | None) -> LabelData:
    """Read what is learned from and what is scored.

    Parameters
    ----------
    name : str
        One of ``LABEL_TASKS``.
    folder : Path or None
        The user's data folder.
    """
    source, parts, note = release_of(name, folder)
    load: Callable[..., Iterable[Example]] = source.load
    train = tuple(load(folder, [TRAIN]))
    scored = {suffix: tuple(load(folder, [part])) for part, suffix in parts}
    labels = source.labels if isinstance(source, TextClassification) else ()
    return LabelData(train, scored, labels, note)


def release_of(
    name: str, folder: Path | None
) -> tuple[TextClassification | SentenceSimilarity, tuple[tuple[str, str], ...], str]:
    """Return the set that a folder has: the whole one, or a sample, with a note."""
    task = find_label_task(name)
    whole = LARGE_SETS.get(name) or find_task(name)
    if not isinstance(whole, TextClassification | SentenceSimilarity):
        raise UsageError(f"{name} is no task to be fine-tuned on")
    if name in SAMPLED:
        # A set whose training part is optional may be there without it.
        optional = any(file.optional and file.part == TRAIN for file in whole.files)
        lacks_train = optional and all(file.part != TRAIN for file in whole.paths(folder))
        sample = find_task(f"{name}-sample")
        if (lacks_train or whole.absent(folder)) and not sample.absent(folder):
            assert isinstance(sample, TextClassification)
            return sample, (("dev", ""),), f"a sample of {name}, not the whole set"
    return whole, task.scored, ""


@dataclass(frozen=True)
class EncodedLabels:
    """Examples of a task as lists of tokens with labels, ready for a collator."""

    train: list[dict[str, Any]]
    scored: dict[str, list[dict[str, Any]]]
    data: LabelData
    metrics: tuple[str, ...]


def encoded_labels(run: Run) -> EncodedLabels:
    """Return the examples of a run; runs of one task share them."""
    settings = run.settings
    return _encoded(run.model, run.task, run.data, settings.longest, settings.limit)


@lru_cache(maxsize=2)
def _encoded(
    model: Model, task: str, data: Path | None, longest: int, limit: int | None
) -> EncodedLabels:
    found = load_label_data(task, data)
    return EncodedLabels(
        tokens_of(model, first_shuffled(found.train, limit), found, longest),
        {suffix: tokens_of(model, part, found, longest) for suffix, part in found.scored.items()},
        found,
        find_label_task(task).metrics,
    )


def tokens_of(
    model: Model, examples: Sequence[Example], data: LabelData, longest: int
) -> list[dict[str, Any]]:
    """Cut texts into tokens; pairs as the tokenizer joins them."""
    firsts = [example.first for example in examples]
    seconds = [example.second for example in examples]
    joined = None if any(second is None for second in seconds) else seconds
    encoded = model.tokenizer(firsts, joined, truncation=True, max_length=longest)
    names = list(encoded)
    return [
        {name: encoded[name][k] for name in names} | {"labels": data.target(example)}
        for k, example in enumerate(examples)
    ]


# Predictions that differ by less than this share of the largest are the same number.
ROUNDING = 1e-6

# Predictions of a score that span less than this share of the true ones' span hardly vary.
NARROW = 0.01


@dataclass(frozen=True)
class LabelScores:
    """Scores of a set of predictions, whether these are all the same, and what to note."""

    scores: dict[str, float | None]
    constant: bool
    notes: tuple[str, ...] = ()


def judge_labels(
    truth: Sequence[int] | Doubles,
    predicted: Sequence[int] | Doubles,
    metrics: Sequence[str],
    labels: Sequence[str] = (),
) -> LabelScores:
    """Score predicted classes.

    Parameters
    ----------
    truth, predicted : sequence of int
        Classes by number.
    metrics : sequence of str
        Which scores.
    labels : sequence of str
        Names of the classes, for the note about constant predictions.
    """
    true, said = np.asarray(truth), np.asarray(predicted)
    scores = scores_of(true, said, metrics)
    if len(np.unique(said)) > 1:
        return LabelScores(scores, False)
    name = labels[int(said[0])] if labels else str(said[0])
    return LabelScores(scores, True, (f"every prediction is {name}",))


def judge_numbers(
    truth: Sequence[float] | Doubles, predicted: Sequence[float] | Doubles, metrics: Sequence[str]
) -> LabelScores:
    """Score predicted numbers by their correlation with the true ones."""
    true, said = np.asarray(truth, np.float64), np.asarray(predicted, np.float64)
    span = float(np.ptp(said))
    if span <= ROUNDING * max(1.0, float(np.abs(said).max())):
        return LabelScores(
            dict.fromkeys(metrics), True, ("undefined: every prediction is the same",)
        )
    narrow = span < NARROW * float(np.ptp(true))
    notes = (f"predictions span {span:.2g} only",) if narrow else ()
    return LabelScores(scores_of(true, said, metrics), False, notes)


def scores_of(true: Doubles, said: Doubles, metrics: Sequence[str]) -> dict[str, float | None]:
    """Return scores by the names of their metrics."""
    return {name: float(SCORES[name](true, said)) for name in metrics}


def matthews(true: Doubles, said: Doubles) -> float:
    """Matthews' correlation; 0 where one class only is predicted."""
    if np.ptp(true) == 0 or np.ptp(said) == 0:
        return 0.0
    return float(matthews_corrcoef(true, said))


# Of true and predicted classes, or of true and predicted numbers.
SCORES: dict[str, Callable[[Doubles, Doubles], Any]] = {
    "accuracy": lambda true, said: np.mean(true == said),
    "f1": partial(f1_score, zero_division=0),
    "matthews": matthews,
    "pearson": lambda true, said: pearsonr(true, said).statistic,
    "spearman": lambda true, said: spearmanr(true, said).statistic,
}


def finetune_labels(run: Run) -> Outcome:
    """Train a model with a head for the labels of a task, and score it.

    Head, order of examples and dropout come from the run's seed: the same run gives the same
    numbers again, on the same machine with the same number of threads.
    """
    encoded = encoded_labels(run)
    transformers.set_seed(run.seed)
    network = with_head(run.model, encoded)
    collator = DataCollatorWithPadding(run.model.tokenizer)
    count = sum(map(len, encoded.scored.values()))
    outcome = teach(run, network, encoded.train, collator, scored=count)
    notes = (encoded.data.note,) if encoded.data.note else ()
    if outcome.stopped_at is not None:
        names = [f"{name}{suffix}" for suffix in encoded.scored for name in encoded.metrics]
        return replace(outcome, scores=dict.fromkeys(names), notes=(*notes, *outcome.notes))
    judged, states = scored(network, run, encoded)
    scores = {
        f"{name}{suffix}": value
        for suffix, one in judged.items()
        for name, value in one.scores.items()
    }
    said = dict.fromkeys(note for one in judged.values() for note in one.notes)
    return replace(
        outcome,
        scores=scores,
        evenness={**matrix_evenness(network), "hidden": evenness(states)},
        notes=(*notes, *said),
        constant=all(one.constant for one in judged.values()),
    )


def untrained(run: Run) -> Any:
    """Return the network of a run as it is before training; its data are read."""
    return with_head(run.model, encoded_labels(run))


def lengths_of(run: Run) -> Lengths:
    """Return how many tokens a run learns from, and how many it reads once."""
    encoded = encoded_labels(run)
    read = sum(len(one["input_ids"]) for part in encoded.scored.values() for one in part)
    return Lengths([len(one["input_ids"]) for one in encoded.train], read)


def with_head(model: Model, encoded: EncodedLabels) -> Any:
    """Load a network with a new head: one number for a score, or one for each class."""
    labels, first = encoded.data.labels, encoded.data.train[0]
    regression = not labels and isinstance(first, TextPair)
    network = model.load(
        transformers.AutoModelForSequenceClassification,
        " with a head for classes",
        complete=False,
        trained=True,
        num_labels=len(labels) or 1,
        problem_type="regression" if regression else "single_label_classification",
        dtype=torch.float32,
    )
    if network.config.pad_token_id is None:  # decoders find a text's last token by it
        network.config.pad_token_id = model.tokenizer.pad_token_id
    return network


def scored(
    network: Any, run: Run, encoded: EncodedLabels
) -> tuple[dict[str, LabelScores], np.ndarray]:
    """Predict every example that is scored; return scores, and hidden states of some tokens."""
    judged, states = {}, []
    for suffix, examples in encoded.scored.items():
        logits, some = predicted(network, run, examples)
        truth = [example["labels"] for example in examples]
        states.append(some)
        if encoded.data.labels:
            judged[suffix] = judge_labels(
                truth, logits.argmax(axis=1), encoded.metrics, encoded.data.labels
            )
        else:
            judged[suffix] = judge_numbers(truth, logits[:, 0], encoded.metrics)
    rows = np.concatenate(states)
    if len(rows) > HIDDEN_ROWS:
        rows = rows[np.random.default_rng(0).choice(len(rows), HIDDEN_ROWS, replace=False)]
    return judged, rows


def predicted(
    network: Any, run: Run, examples: Sequence[dict[str, Any]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the outputs for every example, and last hidden states of about as many as asked."""
    network.eval()
    collate: Any = DataCollatorWithPadding(run.model.tokenizer)
    outputs: dict[int, np.ndarray] = {}
    states, held = [], 0
    batches = batches_by_length(examples)
    # In random order, so that the states that are kept are those of texts of all lengths.
    for number in np.random.default_rng(0).permutation(len(batches)):
        places = batches[number]
        batch = collate([examples[k] for k in places]).to(network.device)
        batch.pop("labels")
        wanted = held < HIDDEN_ROWS
        with torch.inference_mode():
            found = network(**batch, output_hidden_states=wanted)
        outputs.update(zip(places, found.logits.float().cpu().numpy(), strict=True))
        if wanted:
            kept = found.hidden_states[-1][batch["attention_mask"].bool()].float().cpu().numpy()
            states.append(kept)
            held += len(kept)
    return np.stack([outputs[k] for k in range(len(examples))]), np.concatenate(states)
