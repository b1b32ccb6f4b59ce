"""Examples with labels as tokens: what a model of classes or scores learns from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.tasks.examples import TextPair
from isoscope.training.label_tasks import find_label_task, load_label_data

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoscope.models.model import Model
    from isoscope.training.label_tasks import Example, LabelData
    from isoscope.training.run import Run


ORDER_SEED = 0
"""Of the order in which ``limit`` takes examples: the same for every run."""


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
    train = list(found.train)
    if limit is not None and limit < len(train):
        order = np.random.default_rng(ORDER_SEED).permutation(len(train))[:limit]
        train = [train[k] for k in order]
    return EncodedLabels(
        tokens_of(model, train, found, longest),
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


def as_regression(data: LabelData) -> bool:
    """Whether scores are predicted instead of classes."""
    return not data.labels and isinstance(data.train[0], TextPair)
