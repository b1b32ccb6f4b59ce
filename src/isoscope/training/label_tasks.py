"""Tasks of GLUE as something to be fine-tuned on: examples with labels, and the scores that count.

The smaller sets are read as for ``isoscope evaluate``. MNLI and QQP are read in GLUE's own layout
where the folder has it, else a sample of them that the folder may have; then the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from isoscope.errors import UsageError, unknown_name
from isoscope.tasks import find_task
from isoscope.tasks.examples import LabelledText, TextPair
from isoscope.tasks.text_tasks import SentenceSimilarity, TextClassification
from isoscope.training.glue_large_sets import LARGE_SETS

if TYPE_CHECKING:
    from pathlib import Path

Example: TypeAlias = LabelledText | TextPair

TRAIN = "train"


@dataclass(frozen=True)
class LabelTask:
    """How a set is scored.

    Attributes
    ----------
    name : str
        As the command line calls it.
    metrics : tuple of str
        Scores; the first decides.
    scored : mapping of str to str
        What is appended to the metric's name for every part that is scored.
    """

    name: str
    metrics: tuple[str, ...]
    scored: tuple[tuple[str, str], ...] = (("dev", ""),)


LABEL_TASKS = {
    task.name: task
    for task in (
        LabelTask("sst-2", ("accuracy",)),
        LabelTask("mrpc", ("f1", "accuracy")),
        LabelTask("cola", ("matthews", "accuracy")),
        LabelTask("rte", ("accuracy",)),
        LabelTask("wnli", ("accuracy",)),
        LabelTask("sts-b", ("pearson", "spearman")),
        LabelTask("qnli", ("accuracy",)),
        LabelTask(
            "mnli",
            ("accuracy",),
            (("dev_matched", "-matched"), ("dev_mismatched", "-mismatched")),
        ),
        LabelTask("qqp", ("accuracy", "f1")),
    )
}
"""GLUE's nine tasks, in the order of the paper's table."""


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
    if name not in LABEL_TASKS:
        raise unknown_name("task of fine-tuning", name, LABEL_TASKS)
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
    task = find_label_task(name)
    source, parts, note = release_of(task, folder)
    train = examples_of(source, folder, TRAIN)
    scored = {suffix: examples_of(source, folder, part) for part, suffix in parts}
    labels = source.labels if isinstance(source, TextClassification) else ()
    return LabelData(train, scored, labels, note)


def examples_of(
    source: TextClassification | SentenceSimilarity, folder: Path | None, part: str
) -> tuple[Example, ...]:
    """Read one part of a set."""
    found: list[Example] = [*source.load(folder, [part])]
    return tuple(found)


def release_of(
    task: LabelTask, folder: Path | None
) -> tuple[TextClassification | SentenceSimilarity, tuple[tuple[str, str], ...], str]:
    """Return the set that a folder has: the whole one, or a sample, with a note."""
    whole = LARGE_SETS.get(task.name) or find_task(task.name)
    if not isinstance(whole, TextClassification | SentenceSimilarity):
        raise UsageError(f"{task.name} is no task to be fine-tuned on")
    sample_name = f"{task.name}-sample"
    lacks_train = TRAIN in {file.part for file in whole.files if file.optional} and not any(
        file.part == TRAIN for file in whole.paths(folder)
    )
    if sample_name in ("mnli-sample", "qqp-sample", "qnli-sample") and (
        lacks_train or whole.absent(folder)
    ):
        sample = find_task(sample_name)
        if isinstance(sample, TextClassification) and not sample.absent(folder):
            return sample, (("dev", ""),), f"a sample of {task.name}, not the whole set"
    return whole, task.scored, ""
