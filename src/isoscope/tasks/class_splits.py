"""Which items a classifier learns from, and on which it is scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import UsageError, unknown_name
from isoscope.tasks.class_problem import CHOSEN_ON, TEST, TRAIN
from isoscope.tasks.classification import text_problem
from isoscope.tasks.folds import FOLDS
from isoscope.tasks.preparing import Prepared, cross_fitted, prepare
from isoscope.tasks.text_tasks import TextClassification, TokenClassification
from isoscope.tasks.token_classification import word_problem

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.tasks.class_problem import ClassProblem
    from isoscope.tasks.sentence_protocol import SentenceProtocol

SCORED = (TEST, "dev", "val", "trial")
"""Parts of releases that are scored; the first that is there."""


def with_splits(
    problem: ClassProblem, *, seed: int = 0, folds: int = FOLDS, scored: str | None = None
) -> Prepared:
    """Split a problem's items as its release does, or into folds where it does not.

    With a part ``train`` there is one split: it is learned from, and ``test`` is scored, or ``dev``
    where the labels of test are not public. Where test is scored, settings are chosen on ``dev``
    (SICK calls it ``trial``). Without ``train`` every item is scored once, by what was learned
    without its fold; items with a text in common are in one fold where that is possible.

    Parameters
    ----------
    problem : ClassProblem
        What is split.
    seed : int
        Of the folds.
    folds : int
        How many folds there are where the release has no train part.
    scored : str, optional
        The part that is scored, where it is not the one above.

    Returns
    -------
    Prepared
        The problem with its splits, and what a protocol says of them.
    """
    parts = tuple(dict.fromkeys(problem.parts))
    if scored is not None and scored not in parts:
        raise unknown_name(f"part of {problem.task}", scored, parts)
    if scored is not None and (scored == TRAIN or TRAIN not in parts):
        raise UsageError(
            f"{problem.task}: there is nothing to learn from where {scored} is scored alone; "
            "leave the part open to cross-validate"
        )
    held = scored or next((part for part in SCORED if part in parts), None)
    if TRAIN in parts and held is not None:
        return released(problem, held)
    folded = cross_fitted(problem, seed, folds)
    how = f"cross-validated on {' and '.join(parts)} in {folds} folds"
    return Prepared(problem, folded.splits, how=f"{problem}; {how}")


def released(problem: ClassProblem, held: str) -> Prepared:
    """Learn from train, score another part."""
    chosen_on = [part for part in CHOSEN_ON if held == TEST and part in problem.parts]
    learn = np.flatnonzero(np.isin(problem.parts, [TRAIN, *chosen_on]))
    words = f"learned from {TRAIN}"
    if chosen_on:
        words += f", settings chosen on {' and '.join(chosen_on)}"
    scored = np.flatnonzero(problem.parts == held)
    return Prepared(problem, ((learn, scored),), how=f"{problem}; {words}, scored on {held}")


@prepare.register(TextClassification)
def prepare_texts(
    task: TextClassification, folder: Path | None, protocol: SentenceProtocol, fits: bool
) -> Prepared:
    """Classify the texts of all parts that are there."""
    del fits
    problem = text_problem(task, task.load(folder), protocol.classifier)
    return with_splits(problem, seed=protocol.seed)


@prepare.register(TokenClassification)
def prepare_words(
    task: TokenClassification, folder: Path | None, protocol: SentenceProtocol, fits: bool
) -> Prepared:
    """Classify the words of some sentences."""
    del fits
    problem = word_problem(task, task.load(folder), protocol.classifier, seed=protocol.seed)
    return with_splits(problem, seed=protocol.seed)
