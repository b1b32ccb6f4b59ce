"""Tasks in which a model writes: which there are, their data, and how they are scored."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from isoscope.errors import unknown_name
from isoscope.training import summary_data, translation_data
from isoscope.training.written_scores import (
    ROUGE,
    ROUGE_SCORER,
    SACREBLEU,
    WrittenScore,
    bleu,
    rouge,
    scoring_library,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoscope.training.pair_data import PairData


FAMILIES = (translation_data.FAMILY, summary_data.FAMILY)


def family_of(task: str) -> str:
    """Return ``translate`` or ``summarize``, or say that there is no such task."""
    family = task.partition(":")[0]
    if family not in FAMILIES or (family == summary_data.FAMILY and task != family):
        raise unknown_name("task in which a model writes", task, FAMILIES)
    return family


def is_pair_task(task: str) -> bool:
    """Whether a model writes in a task; where languages are missing, its data will say so."""
    return task.partition(":")[0] in FAMILIES


@lru_cache(maxsize=2)
def pair_data(task: str, data: str | Path | None = None) -> PairData:
    """Return the pairs of a task; runs of one task share them."""
    if family_of(task) == summary_data.FAMILY:
        return summary_data.summary_data(data)
    return translation_data.translation_data(task, data)


def metrics_of(task: str) -> tuple[str, ...]:
    """Return the names of a task's scores; the first decides."""
    return ROUGE if family_of(task) == summary_data.FAMILY else ("bleu",)


def check_scorer(task: str) -> None:
    """Say that a package is missing before a model is trained, not after."""
    scoring_library(ROUGE_SCORER if family_of(task) == summary_data.FAMILY else SACREBLEU)


def score_written(task: str, written: Sequence[str], references: Sequence[str]) -> WrittenScore:
    """Score texts as a task does."""
    score = rouge if family_of(task) == summary_data.FAMILY else bleu
    return score(written, references)
